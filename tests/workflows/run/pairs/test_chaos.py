"""SIGKILL at random times: a few here, twenty and more with chaos.py by hand."""

from pathlib import Path

import pytest
from chaos import chaos


@pytest.mark.slow
def test_killed_workers_and_clients_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    result = chaos(tmp_path, kills=6, chunks=60, slow=0.4, seed=3)
    assert result["kills"] == 6
    assert result["resumes"] == 3
    assert (result["status"], result["chunks"], result["same rows"], result["all exact"]) == (0, 60, True, True)
