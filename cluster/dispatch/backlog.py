"""Show a scheduler of somebody else's how much waits here, so that an adaptive cluster starts workers for it.

A scheduler is given no more tasks than its workers have threads (EXECUTION.md 7), and takes the few that it sees for all there are. So tasks that no worker can
do, for want of a resource that none has, stand for those that wait. They are withdrawn as what waits gets less, and go with the client.
"""

import secrets
from typing import Any

TASK_UNITS = 10
"""That stand for a task: Dask takes one whose time it does not know for half a second, and wants a worker for five seconds (`adaptive.target-duration`)."""

MAX_UNITS = 200
"""In all: workers for twenty tasks are asked for at a time, then for as many more."""

RESOURCE = "tidalign-waiting"


class Backlog:
    """Stands for the tasks that wait for a worker of a client's scheduler."""

    def __init__(self, client: Any) -> None:
        self._client, self._token = client, secrets.token_hex(4)
        self._futures: list[Any] = []
        self._made = 0

    def show(self, waiting: int) -> None:
        """Tell the scheduler how many tasks wait, unless it has gone: whoever looks at workers tells that."""
        try:
            self._show(min(MAX_UNITS, TASK_UNITS * waiting))
        except Exception:
            if self._client.status == "running":
                raise

    def _show(self, wanted: int) -> None:
        self._futures = [future for future in self._futures if future.status == "pending"]  # a scheduler that went away has forgotten them
        while len(self._futures) < wanted:
            self._made += 1
            key = f"{RESOURCE}-{self._token}-{self._made}"
            self._futures.append(self._client.submit(_nothing, key=key, pure=False, retries=0, resources={RESOURCE: 1}))
        if gone := self._futures[wanted:]:
            del self._futures[wanted:]
            self._client.cancel(gone, force=True)


def _nothing() -> None:
    pass
