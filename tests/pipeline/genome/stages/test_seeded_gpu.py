"""Seeding on a GPU is written down as on a core, and either goes on from what the other has; with the host's kernels in place of a GPU's, and on one."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gpu_stand_in
import pyarrow as pa
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from test_seeded import OPTIONS, begun

from tidalign.pipeline.device import CPU, GPU, Device
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.stages import anchoring, gpu, host, seeded
from tidalign.pipeline.genome.stages.unit import Unit


@pytest.fixture(params=["stand-in", pytest.param("GPU", marks=pytest.mark.gpu)])
def starts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, int]]]:
    """Let hits come a few at a time, and be written down at once; gives on which device from which query place on they were sought."""
    seen: list[tuple[str, int]] = []
    if request.param == "stand-in":
        stand_in = gpu_stand_in.installed(monkeypatch)
        monkeypatch.setattr(stand_in.hits, "__defaults__", (1, None, 300, 0))
    else:
        pytest.importorskip("cupy")
        from tidalign.kernels.ungapped import device

        monkeypatch.setattr(device, "TILE", 300)
        monkeypatch.setattr(device, "BARE_TILE", 300)
        every = gpu.GpuWords.hits
        monkeypatch.setattr(gpu.GpuWords, "hits", lambda self, query, parameters, start=0: every(self, query, parameters, start=start, tile=300))
    for name, words in (("cpu", host.HostWords), ("gpu", gpu.GpuWords)):
        real = words.segments

        def few(self: Any, query: Any, parameters: Any, start: int = 0, records: Any = None, *, name: str = name, real: Any = real) -> Any:
            seen.append((name, start))
            return real(self, query, parameters, start, records)

        monkeypatch.setattr(words, "segments", few)
    hits = host.HostWords.hits
    monkeypatch.setattr(host.HostWords, "hits", lambda self, query, parameters, start=0: hits(self, query, parameters, start, tile=300))
    gpu._words.cache_clear()
    yield seen
    gpu._words.cache_clear()


def anchors(run: str, device: Device, beat: Any = lambda _: None) -> Any:
    """Seed the strand +, and give its anchors as their file has them."""
    unit = next(unit for unit in (Unit(run, 0, 0, device), Unit(run, 0, 1, device)) if unit.strand == "+")
    anchoring.write_anchors(unit, beat)
    found = pa.Table.from_batches(anchoring.read_anchors(unit).to_batches())
    for path in Path(run, "stages").glob("*.anchors.*"):
        path.unlink()
    return found


class Enough(Exception):
    pass


def stopping(after: int) -> Any:
    """Make what ends a seeding at its so manieth sign of life."""
    left = after

    def stop(place: int) -> None:
        nonlocal left
        left -= 1
        if not left:
            raise Enough

    return stop


@pytest.mark.parametrize("devices", [(GPU,), (GPU, CPU), (CPU, GPU)], ids=lambda devices: " and ".join(each.name for each in devices))
@pytest.mark.parametrize("options", [each for each in OPTIONS if "xdrop" not in each], ids=str)
def test_a_stop_writes_down_what_was_found(tmp_path: Path, options: dict[str, Any], devices: tuple[Device, ...], starts: list[tuple[str, int]]) -> None:
    """However often it comes, after how few tiles, and whoever goes on."""
    run = begun(tmp_path / "pair", replace(GenomeParameters(), **options))
    expected = anchors(run, CPU)
    starts.clear()
    for call in range(200):
        try:
            found = anchors(run, devices[call % len(devices)], stopping(4))
        except Enough:
            continue
        break
    assert found == expected and call > 1
    if starts:  # else every hit counts, and nothing is known of diagonals
        assert {name for name, _ in starts} == {each.name for each in devices}
        assert max(start for _, start in starts) > 0
    assert list(Path(run, "stages").iterdir()) == []


@pytest.mark.parametrize("options", OPTIONS[1:5], ids=str)
def test_what_is_written_from_time_to_time_is_enough(
    tmp_path: Path, options: dict[str, Any], starts: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """For who goes on after a kill: no tile is ahead of it."""
    run = begun(tmp_path / "pair", replace(GenomeParameters(), **options))
    expected = anchors(run, CPU)
    monkeypatch.setattr(seeded, "SECONDS", 0.0)
    monkeypatch.setattr(seeded, "WRITING_SHARE", float("inf"))
    leave = seeded.Seeded._leave
    monkeypatch.setattr(seeded.Seeded, "_leave", lambda *_: None)  # as after a kill
    for device in (GPU, CPU, GPU):
        starts.clear()
        with pytest.raises(Enough):
            anchors(run, device, stopping(4))
    assert starts[0][0] == "gpu" and starts[0][1] > 0
    monkeypatch.setattr(seeded.Seeded, "_leave", leave)
    assert anchors(run, GPU) == expected


def test_what_comes_faster_than_it_is_written_is_not_held(tmp_path: Path, starts: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is found anew."""
    run = begun(tmp_path / "pair", replace(GenomeParameters(), **OPTIONS[3]))
    expected = anchors(run, CPU)
    monkeypatch.setattr(seeded, "MOST_UNWRITTEN", 100)
    with pytest.raises(Enough):
        anchors(run, GPU, stopping(6))
    assert list(Path(run, "stages").iterdir()) == []
    assert anchors(run, GPU) == expected
