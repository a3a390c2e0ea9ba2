"""What can go wrong with workers."""

import signal


class NoWorkers(Exception):
    """No usable GPU or no workers (69)."""


class ClusterLost(Exception):
    """The scheduler or all workers went away (75): run the same command again to resume."""


class Stopped(Exception):
    """The user or the system asked the run to stop (130 for SIGINT, 143 for SIGTERM): run the same command again to resume."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(f"stopped by {signal.Signals(number).name}; run the same command again to go on from here")

    def __reduce__(self) -> tuple[object, ...]:
        return (Stopped, (self.number,))
