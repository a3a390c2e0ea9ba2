"""Tell a process that hangs from one that a busy machine keeps waiting: by its CPU time, which does not depend on who else runs."""

from collections.abc import Callable

POLL_SECONDS = 0.5
"""Seconds between two looks at a process."""

STILL_SECONDS = 300.0
"""Seconds without CPU time after which a process hangs. The busiest machine gives it some within these, and the slowest file system an answer."""

STIR_SECONDS = 0.1
"""Seconds of CPU time within `STILL_SECONDS` that show a process at work; one that only wakes now and then to look at something uses less."""


class Watch:
    """Says whether a process hangs: since `pulse`, called here, last changed, it has used `patience` seconds of CPU time (user and system, all threads), or it
    has stood still for `STILL_SECONDS` seconds.

    `hangs` is called every `POLL_SECONDS` seconds, and these are counted, not the clock: who was stopped or starved along with the process did not look.
    """

    def __init__(self, pid: int, patience: float, pulse: Callable[[], object] = lambda: None) -> None:
        import psutil  # as every run loads this module, and few need it

        self._process, self._patience, self._pulse, self._gone = psutil.Process(pid), patience, pulse, psutil.Error
        self._used = self._still = 0.0
        self._began = self._stirred = self._cpu_seconds()
        self._seen = pulse()

    def hangs(self) -> str | None:
        """Tell whether the process hangs: in what it gave no result (`20 s of CPU time`), or None: it may go on."""
        used, pulse = self._cpu_seconds(), self._pulse()
        if pulse != self._seen:
            self._began = self._stirred = used
            self._seen, self._still = pulse, 0.0
        elif used - self._stirred > STIR_SECONDS:
            self._stirred, self._still = used, 0.0
        else:
            self._still += POLL_SECONDS
        if used - self._began > self._patience:
            return f"{self._patience:.0f} s of CPU time"
        if self._still > STILL_SECONDS:
            return f"{STILL_SECONDS:.0f} s without CPU time"
        return None

    def _cpu_seconds(self) -> float:
        try:
            times = self._process.cpu_times()
        except self._gone:  # it has just ended
            return self._used
        self._used = float(times.user + times.system)
        return self._used
