"""The words of targets among threads of a process."""

import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from tidalign.pipeline.genome.stages import host


def test_threads_share_the_words_of_a_target_and_index_others_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Index each of two targets once, both at the same time, and keep the last when nobody uses them any more."""
    both, made = threading.Barrier(2, timeout=600), []

    def index(*target: Any) -> Any:
        made.append(target[2])
        both.wait()
        return host.HostWords(SimpleNamespace(target=target[2], pattern=None))  # type: ignore[arg-type]

    monkeypatch.setattr(host, "_words", index)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda side: host.words("run", "of test", side, None), (0, 1, 0, 1)))
    assert sorted(made) == [0, 1] and found[0] is found[2] and found[1] is found[3] and found[0] is not found[1]
    last = host._last[0].target
    del found
    gc.collect()
    assert [key[2] for key in host._used if key[:2] == ("run", "of test")] == [last]
    assert host.words("run", "of test", last, None) is host._last[0]
    host.forget()
    gc.collect()
    assert not [key for key in host._used if key[:2] == ("run", "of test")]
