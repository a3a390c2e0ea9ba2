"""What can go wrong with workers."""

import signal


class NoWorkers(Exception):
    """No usable GPU or no workers (69)."""


class NoGuard(NoWorkers):
    """A script that starts workers lacks `if __name__ == "__main__":` (69)."""


class ClusterLost(Exception):
    """The scheduler or all workers went away (75): run the same command again to resume."""


class Hangs(ClusterLost):
    """Says that what runs in threads of this process does not come back, and cannot be ended but with it (75)."""


SAID = {
    signal.SIGALRM: "stopped by --stop-after",
    signal.SIGUSR1: "stopped by SIGUSR1, by which Slurm says that the time of a job is almost over",
    signal.SIGUSR2: "stopped by SIGUSR2, by which LSF says that the time of a job is over",
}
"""Says what signals mean that people do not send."""


class Stopped(Exception):
    """The user or the system asked the run to stop (130 for SIGINT, else 143): run the same command again to resume."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.why = SAID.get(signal.Signals(number), f"stopped by {signal.Signals(number).name}")
        super().__init__(f"{self.why}; run the same command again")

    def __reduce__(self) -> tuple[object, ...]:
        return (Stopped, (self.number,))

    @property
    def status(self) -> int:
        """Give the exit status of the command."""
        return 128 + (signal.SIGINT if self.number == signal.SIGINT else signal.SIGTERM)
