"""What can go wrong with workers."""


class NoWorkers(Exception):
    """No usable GPU or no workers (69)."""


class ClusterLost(Exception):
    """The scheduler or all workers went away (75): run the same command again to resume."""
