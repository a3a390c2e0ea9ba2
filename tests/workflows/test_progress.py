"""Progress speaks when it should, and says what the clock says."""

import fcntl
import io
import os
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from tidalign.kernels.runtime.numba_cache import Compiling
from tidalign.workflows import progress as module
from tidalign.workflows.progress import Progress, by_status, duration


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()], ids=["plain", "terminal"])
def test_nothing_for_a_short_run(stream: io.StringIO) -> None:
    clock = Clock()
    progress = Progress(stream, clock)
    for clock.now in (0.1, 1.0, 1.9):
        progress("align", 10, 100)
    progress.close()
    assert stream.getvalue() == ""


def test_a_terminal_has_one_line() -> None:
    stream, clock = Terminal(), Clock()
    progress = Progress(stream, clock)
    progress("work", 0, 40_000)
    progress("align", 1000, 5000)
    clock.now = 10.0
    progress("work", 10_000, 40_000)
    progress("align", 2000, 5000)
    # 1,000 pairs in 10 s; those done before are no measure of speed.
    assert stream.getvalue() == "\raligning: 2,000 of 5,000 pairs (40%), 100 pairs/s, 30 s left\033[K"
    clock.now = 10.1
    progress("align", 2010, 5000)
    assert stream.getvalue().count("\r") == 1
    progress.close()
    assert stream.getvalue().endswith("\r\033[K")


def test_a_terminal_that_is_gone_does_no_harm() -> None:
    class Gone(Terminal):
        def write(self, text: str) -> int:
            raise OSError(5, "Input/output error")

    clock = Clock()
    progress = Progress(Gone(), clock)
    clock.now = 10.0
    progress("align", 2000, 5000)
    progress.close()


def test_what_is_aligned_is_shown_once_it_is_while_more_is_read() -> None:
    stream, clock = Terminal(), Clock()
    progress = Progress(stream, clock)
    for clock.now, stage, done in ((3.0, "partition", 100), (4.0, "align", 0), (5.0, "partition", 200), (6.0, "align", 50), (7.0, "partition", 300)):
        progress(stage, done, 1000)
    lines = stream.getvalue().replace("\033[K", "").split("\r")[1:]
    assert [line.split(" pairs")[0] for line in lines] == ["reading: 100 of 1,000", "aligning: 0 of 1,000", "aligning: 50 of 1,000"]
    assert "25 pairs/s" in lines[-1]


def test_elsewhere_a_line_every_half_minute() -> None:
    stream, clock = io.StringIO(), Clock()
    progress = Progress(stream, clock)
    progress("partition", 0, None)
    for clock.now in range(1, 101):
        progress("partition", clock.now * 7, None)
    progress.close()
    assert [line.split(" pairs,")[0] for line in stream.getvalue().splitlines()] == [f"tidalign: reading: {7 * second}" for second in (2, 32, 62, 92)]


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], Clock]:
    """Lets seconds pass on a clock, which is given back, and what is due by then be done."""
    clock, due = Clock(), list[tuple[float, Callable[[], None]]]()

    class Timer:
        def __init__(self, seconds: float, then: Callable[[], None]) -> None:
            self.entry = clock.now + seconds, then

        def start(self) -> None:
            due.append(self.entry)

        def cancel(self) -> None:
            if self.entry in due:
                due.remove(self.entry)

    def passes(seconds: float) -> Clock:
        end = clock.now + seconds
        while now := [each for each in due if each[0] <= end]:
            first = min(now, key=lambda each: each[0])
            due.remove(first)
            clock.now = max(clock.now, first[0])
            first[1]()
        clock.now = end
        return clock

    monkeypatch.setattr(module, "Timer", Timer)
    return passes


def test_compiling_is_said_where_it_takes_long(passes: Callable[[float], Clock]) -> None:
    """In all: kernels are many, and none of them takes long."""
    stream = io.StringIO()
    progress = Progress(stream, passes(0.0), lambda: None)
    progress.compiling(True)
    progress.compiling(True)
    progress.compiling(False)
    progress.compiling(False)  # it took no time
    passes(10 * module.SILENT_SECONDS)
    for _ in range(6):
        progress.compiling(True)
        passes(0.4 * module.SILENT_SECONDS)
        progress.compiling(False)
    progress.close()
    assert stream.getvalue() == "tidalign: compiling for this machine; the next run finds it done\n", "once"


class Known:
    """Stands for the kernels of a run, of which one more is kept each time it is asked."""

    kept = 0

    def state(self, others: int) -> str:
        self.kept += 1
        return f"{self.kept} of 9 kernels, {others} others"


def test_a_terminal_is_told_how_far_compiling_is(passes: Callable[[float], Clock]) -> None:
    """Each second in which nothing else is told, also where no kernel takes as long; and no more once it is closed."""
    stream, known = Terminal(), Known()
    progress = Progress(stream, passes(0.0), lambda: known)  # type: ignore[arg-type,return-value]
    for _ in range(8):
        progress.compiling(True)
        passes(0.5)
        progress.compiling(False)
    lines = [line.replace("\033[K", "") for line in stream.getvalue().split("\r")[1:]]
    assert lines == [f"compiling for this machine: {kept} of 9 kernels, {done} others; the next run finds it done" for kept, done in ((1, 3), (2, 5), (3, 7))]
    progress("work", 0, 60_000)
    progress("align", 0, 5000)
    progress.compiling(True)
    passes(0.9)
    progress("align", 0, 5000)
    assert stream.getvalue().endswith("\raligning: 0 of 5,000 pairs (0%), compiling: 4 of 9 kernels, 8 others\033[K")
    progress("align", 50, 5000)
    assert "0 of 5,000" in stream.getvalue().split("\r")[-1], "not drawn again so soon"
    passes(0.9)
    assert "compiling: 4" in stream.getvalue().split("\r")[-1], "for a second something else is shown"
    passes(0.2)
    assert "compiling for this machine: 5 of 9" in stream.getvalue().split("\r")[-1]
    progress.close()
    passes(60.0)
    assert stream.getvalue().endswith("\r\033[K") and known.kept == 5


def test_elsewhere_compiling_is_told_once(passes: Callable[[float], Clock]) -> None:
    stream, known = io.StringIO(), Known()
    progress = Progress(stream, passes(0.0), lambda: known)  # type: ignore[arg-type,return-value]
    for _ in range(20):
        progress.compiling(True)
        passes(0.5)
        progress.compiling(False)
    progress.close()
    assert stream.getvalue() == "tidalign: compiling for this machine: 1 of 9 kernels, 3 others; the next run finds it done\n"


def test_kernels_are_counted_while_nothing_is_done_but_compiling() -> None:
    """What is left of the work says nothing then of the time it takes."""
    stream, clock = io.StringIO(), Clock()
    progress = Progress(stream, clock, lambda: None)
    progress("work", 0, 60_000)
    for _ in range(3):
        progress.compiling(True)
        progress.compiling(False)
    progress.compiling(True)
    clock.now = 3.0
    progress("align", 0, 5000)
    progress.compiling(False)
    clock.now = 33.0
    progress("align", 0, 5000)
    progress.close()
    assert stream.getvalue().splitlines() == [
        "tidalign: aligning: 0 of 5,000 pairs (0%), kernels compiled: 3",
        "tidalign: aligning: 0 of 5,000 pairs (0%), 33 s left",
    ]


def test_seconds_of_compiling_are_those_in_which_any_kernel_was() -> None:
    clock = Clock()
    compiling = Compiling(clock)
    for clock.now, begins in ((1.0, True), (2.0, True), (3.0, False), (5.0, False), (10.0, True), (11.5, False)):
        compiling(begins)
    assert compiling.seconds == 5.5


def test_the_time_left_follows_from_work() -> None:
    """From that of the last half of the time, not from what is counted, and on while a task says nothing."""
    left = module._Left()
    assert left.seconds(0.0) is None
    left.hear(0.0, 0, 60_000)
    assert left.seconds(0.0) == 60 and left.seconds(20.0) == 40 and left.seconds(50.0) == 50  # a second of work is taken for one
    for second in range(1, 11):
        left.hear(float(second), 2000 * second, 60_000)
    assert left.seconds(10.0) == 20
    for second in range(11, 41):
        left.hear(float(second), 20_000 + 500 * (second - 10), 60_000)
    assert left.seconds(40.0) == pytest.approx(25_000 / 500)
    assert left.seconds(45.0) == pytest.approx(25_000 / 500 - 5)
    left.hear(46.0, 0, 10_000)  # the same process goes on with what was damaged
    assert left.seconds(46.0) == 10


def test_stages_that_are_counted_have_a_time_left_too() -> None:
    stream, clock = Terminal(), Clock()
    progress = Progress(stream, clock)
    progress("partition", 0, 5000)
    clock.now = 10.0
    progress("partition", 1000, 5000)
    assert stream.getvalue() == "\rreading: 1,000 of 5,000 pairs (20%), 100 pairs/s, 40 s left\033[K"


def test_words() -> None:
    assert [duration(seconds) for seconds in (0.4, 59, 187, 7387)] == ["0 s", "59 s", "3:07", "2:03:07"]
    assert by_status({"exact": 9999, "heuristic": 0, "rejected": 1}) == "9,999 exact, 1 rejected"


def test_each_gpus_busy_share() -> None:
    stream, clock = Terminal(), Clock()
    progress = Progress(stream, clock)
    progress("busy 0", 993, 1000)
    progress("busy 1", 500, 1000)
    clock.now = 5.0
    progress("genomes", 10, 100)
    assert "aligning: 10%" in stream.getvalue() and stream.getvalue().endswith(", GPUs 99% 50% busy\033[K")
    for number in range(2, 16):
        progress(f"busy {number}", 1000, 1000)
    clock.now = 6.0
    progress("genomes", 20, 100)
    assert stream.getvalue().endswith(", 16 GPUs 50 to 100%, 96% busy\033[K")


@pytest.mark.skipif(sys.platform != "linux", reason="pipes of packets")
def test_a_line_is_written_at_once() -> None:
    """Or what others write to the same file stands inside it."""
    reading, writing = os.pipe2(os.O_DIRECT)
    code = "from tidalign.workflows.progress import say; say('a line')"
    subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONUNBUFFERED": "1"}, stderr=writing, check=True)
    assert os.read(reading, 1000) == b"tidalign: a line\n"
    os.close(reading)
    os.close(writing)


def test_a_line_has_room_on_its_terminal() -> None:
    """Cut what the terminal would break into two lines, of which only the second is drawn again."""
    main, other = os.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("4H", 24, 40, 0, 0))
    with os.fdopen(other, "w") as stream, os.fdopen(main, "rb", buffering=0) as seen:
        clock = Clock()
        progress = Progress(stream, clock)
        progress("work", 0, 40_000)
        progress("align", 1000, 5_000_000)
        clock.now = 10.0
        progress("align", 2000, 5_000_000)
        drawn = seen.read(1000).decode()
    assert drawn == "\raligning: 2,000 of 5,000,000 pairs (0%)\033[K"  # and how many a second, and what time is left


def test_compiling_for_nobody_else_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(module, "bases", lambda: SimpleNamespace(lasting=False))
    monkeypatch.setattr(module, "SILENT_SECONDS", 0.01)
    progress = Progress(stream, known=lambda: None)
    progress.compiling(True)
    for _ in range(100):
        if stream.getvalue():
            break
        time.sleep(0.05)
    progress.compiling(False)
    assert stream.getvalue() == "tidalign: compiling for this machine; no folder can be written to that keeps it: NUMBA_CACHE_DIR can name one\n"
