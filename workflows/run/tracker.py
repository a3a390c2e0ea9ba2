"""Track what is left of a run: pieces of its chunks as tasks, what workers claim, who is to blame for a death, and what is given up."""

import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from threading import RLock
from typing import Any, Generic, TypeVar

from tidalign.cluster.errors import ClusterLost, NoWorkers, Stopped
from tidalign.cluster.stop import Stop
from tidalign.cluster.task import Task
from tidalign.pipeline.device import CPU, Device
from tidalign.pipeline.store import claims, parts, rundir
from tidalign.pipeline.store.parts import Range, gaps, suspects, touches
from tidalign.workflows.run.isolate import TooManyRejected
from tidalign.workflows.run.piece import Piece

UNBEGUN_ALLOWED = 20
"""How often in a row a worker may die before it has begun anything."""

OnProgress = Callable[[str, int, int | None], None]
"""Called with (stage, done, in all or None where nobody knows yet). Besides the stages of a kind of run: `work`, what this call has done of the estimated work
and does in all, in thousandths of a second, from which the time left follows."""

P = TypeVar("P", bound=Piece)


class Tracker(ABC, Generic[P]):
    """Makes the tasks that do what a run's parts do not hold yet, and hears what becomes of them (`cluster.task.Outcomes`).

    A kind of run says which pieces are missing, what a piece weighs, and which functions do and isolate pieces; blame, retries and progress are the same for
    all kinds. A death is blamed on what the dead worker's claims name: the pieces go on apart, and what two deaths have in common is isolated.
    """

    stage: str
    """What progress is told of, `scale` times what is finished."""
    scale = 1
    rejectable: int
    """Items that may be given up in one run; more mean that the fault is not in them."""

    def __init__(self, directory: str, run: str, stop: Stop, told: OnProgress, device: Device = CPU, gpus: int = 1, beside: int = 0) -> None:
        """Begin to track a run. beside: workers on cores beside them."""
        self.directory, self.run, self.device, self.gpus, self.beside = directory, run, device, gpus, beside
        self._stop, self._told, self._lock = stop, told, RLock()  # pulses are looked at in threads of their own
        self._running: dict[Task, list[P]] = {}
        self._amounts: dict[Task, float] = {}  # of all of a task's pieces, which may be read of files, and each pulse asks; they weigh its `seconds`
        self._at: dict[Task, float] = {}
        self._known, self._written = dict[str, parts.PartFile](), set[str]()
        self._finished, self._worked, self._work, self._unbegun = 0.0, 0.0, 0.0, 0
        self.parts: dict[str, list[parts.PartFile]] = {}
        self.claims = False
        """Whether some unfinished pieces were left behind by a process that died at them."""
        self.workers, self.threads = 0, 1
        """Count those hired to do the tasks, 0 where this process does them, or processes with a GPU do; and the threads by which it does."""
        self.made = 0.0
        """What this call has finished."""
        self.deaths = self.retries = self.rejected = 0

    @abstractmethod
    def missing(self) -> Iterable[P]:
        """List the pieces that `self.parts` and other files do not hold yet, without claims."""

    @abstractmethod
    def amount(self, piece: P) -> float:
        """Count what a piece adds to what is finished."""

    @abstractmethod
    def total(self) -> float:
        """Count what is finished at the end."""

    @abstractmethod
    def weight(self, piece: P) -> float:
        """Estimate the seconds that a piece takes one core."""

    @abstractmethod
    def patience(self, pieces: Sequence[P], device: Device) -> float:
        """Tell the seconds of CPU time without progress after which a task of these pieces hangs on a device."""

    @abstractmethod
    def call(self, pieces: Sequence[P], device: Device) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Give the function that does pieces on a device, and its arguments."""

    @abstractmethod
    def isolation(self, piece: P, most: int) -> tuple[Callable[..., int], tuple[Any, ...]]:
        """Give the function that does a piece in child processes and returns how many items it gave up, at most `most`; and its arguments."""

    @abstractmethod
    def counted(self, pieces: Sequence[P], result: Any) -> dict[str, Any]:
        """Count what a task of these pieces returned; what the journal is to say of it."""

    def grouped(self, pieces: list[P]) -> Iterable[list[P]]:
        """Put pieces together that go into one task: each alone."""
        return ([piece] for piece in pieces)

    def for_gpus(self, pieces: list[P]) -> tuple[list[P], list[P]]:
        """Divide pieces into those that GPUs are to do, and the last ones, as many as cores beside them do meanwhile, which go alone."""
        left = sum(map(self.weight, pieces)) * self.beside / (self.beside + self.gpus * self.device.speed)
        count = len(pieces)
        while count and (left := left - self.weight(pieces[count - 1])) >= 0:
            count -= 1
        return pieces[:count], pieces[count:]

    def rows(self, piece: P) -> tuple[str, int, int]:
        """Name the chunk and the range whose part holds the rows of a piece."""
        return piece.chunk, piece.start, piece.stop

    def order(self, pieces: Sequence[P]) -> float:
        """Tell which task of such pieces goes first, the one with the most: the longest."""
        return sum(map(self.weight, pieces))

    def ordered(self, tasks: list[Task], workers: int) -> list[Task]:
        """Give the tasks that were made once more, now that it is known how many workers there are for them."""
        return tasks

    def pending(self, piece: P) -> float:
        """Tell what a missing piece, and all that follows it, will add to what is finished."""
        return self.amount(piece)

    def divisible(self, piece: P) -> bool:
        """Tell whether parts of a piece can be done without the rest."""
        return True

    def written(self, piece: P) -> bool:
        """Tell whether a piece whose worker died is on disk all the same."""
        return parts.read_part(parts.part_path(f"{self.directory}/parts", *self.rows(piece)), self.run) is not None

    def following(self, piece: P, given_up: int) -> Iterable[P]:
        """List the pieces that can begin once this one is done; given_up: items of it."""
        return ()

    def tasks(self) -> list[Task]:
        """Make the tasks for what is left to do, from what is on disk; none: the run is complete. The caller holds the directory's lock, and no task runs."""
        self.look()
        self._running, self._amounts, self._at = {}, {}, {}
        self._stop.go_on()
        self.rejected = max(self.rejected, parts.counts(self.parts)["rejected"])
        pieces = list(self.missing())
        self._finished = self.total() - sum(map(self.pending, pieces))
        self._work = self._worked + sum(self.weight(piece) * self.pending(piece) / (self.amount(piece) or 1.0) for piece in pieces)
        tasks = self._made(pieces)
        if not tasks:
            for path in (path for found in claims.leftover(self.directory).values() for _, path in found):
                claims.remove(path)
        self.tell()
        return tasks

    def look(self) -> None:
        """List the parts there are, those that tasks of this call have written included, and remove broken ones."""
        self.parts, broken = parts.scan_written(f"{self.directory}/parts", self.run, self._known, self._written)
        for path in broken:
            self.note("removed", part=Path(path).name, why="damaged, cut short, or of another run")
            Path(path).unlink()

    def work(self) -> float:
        """Estimate the seconds of one core for all tasks that are left."""
        return sum(task.seconds for task in self._running)

    def gpu_seconds(self) -> float:
        """Estimate the seconds of one GPU for all that is left."""
        return self.work() / self.device.speed

    def left(self) -> float:
        """Compute the share of all that is still to be done."""
        return 1.0 - self._finished / (self.total() or 1.0)

    def withdraw_claims(self) -> None:
        """Forget who was at what: their processes were stopped by us. None may run any more."""
        for piece in (piece for pieces in self._running.values() for piece in pieces):
            if piece.claim:
                claims.remove(piece.claim)

    def _made(self, pieces: Sequence[P]) -> list[Task]:
        """Make tasks of pieces: what two dead workers were at is isolated, what one was at goes alone, so that the next death tells more, the rest together.

        The claims of the dead stay on disk until all is done: they are the blame.
        """
        left_behind = claims.leftover(self.directory) if pieces else {}
        isolated, alone, left = list[P](), list[P](), list[P]()
        for piece in pieces:
            blamed = [rows for rows, _ in left_behind.get(piece.chunk, [])]
            self.claims |= touches(piece.start, piece.stop, blamed)
            apart, rest = self._divided(piece, blamed)
            isolated += apart
            for each in rest:
                (alone if touches(each.start, each.stop, blamed) else left).append(each)
        return [*map(self._isolated, isolated), *(self._task([piece]) for piece in alone), *map(self._task, self.grouped(left))]

    def _divided(self, piece: P, blamed: list[Range]) -> tuple[list[P], list[P]]:
        """Divide a piece into what is to be isolated, and the rest, with claims of their own."""
        suspected = suspects(piece.start, piece.stop, blamed)
        if suspected and not self.divisible(piece):
            suspected = [(piece.start, piece.stop)]
        ranges = gaps(piece.start, piece.stop, suspected)
        rest = [piece.cut(a, b, claims.claim_path(self.directory, piece.chunk, a, b, secrets.token_hex(4))) for a, b in ranges]
        return [piece.cut(a, b, None) for a, b in suspected], rest

    def _task(self, pieces: list[P]) -> Task:
        amounts = list(map(self.amount, pieces))

        def pulse() -> object:
            done = 0.0
            for piece, amount in zip(pieces, amounts, strict=True):
                if at := claims.read(piece.claim or ""):
                    with self._lock:
                        self._at |= {task: done + amount * (at[0] - piece.start) / (piece.stop - piece.start)} if task in self._running else {}
                        self.tell()
                    return piece, at, claims.changed(piece.claim or "")
                done += amount
            return None

        seconds, patience = sum(map(self.weight, pieces)), self.patience(pieces, self.device)
        function, arguments = self.call(pieces, self.device)
        on_core = (self.call(pieces, CPU)[1], self.patience(pieces, CPU)) if self.beside else None
        task = Task(_key(pieces), function, arguments, self.order(pieces), pulse, patience, seconds=seconds, on_core=on_core, sort=pieces[0].stage)
        self._running[task], self._amounts[task] = pieces, sum(amounts)
        return task

    def _isolated(self, piece: P) -> Task:
        function, arguments = self.isolation(piece, self.rejectable - self.rejected)
        task = Task(f"isolate-{_key([piece])}", function, arguments, float("inf"), seconds=self.weight(piece))  # slow, and not by what it weighs
        self._running[task], self._amounts[task] = [piece], self.amount(piece)
        return task

    def done(self, task: Task, result: Any) -> Iterable[Task]:
        with self._lock:
            pieces, amount, _ = self._running.pop(task), self._amounts.pop(task), self._at.pop(task, None)
            self._finish(pieces, amount, task.seconds)
        self._unbegun = 0
        given_up = result if (isolated := pieces[0].claim is None) else 0
        if isolated:
            self.rejected += result
            self.note("isolated", task=task.key, rejected=result)
        else:
            self.note("done", task=task.key, amount=round(amount, 3), **self.counted(pieces, result))
        return self._made([new for piece in pieces for new in self.following(piece, given_up)])

    def _finish(self, pieces: Sequence[P], amount: float, seconds: float) -> None:
        self._written |= {parts.part_path(f"{self.directory}/parts", *self.rows(piece)) for piece in pieces}
        self._finished += amount
        self._worked += seconds
        self.made += amount
        self.tell()

    def died(self, task: Task, killed: bool) -> Iterable[Task]:
        with self._lock:
            pieces, _, _ = self._running.pop(task), self._amounts.pop(task), self._at.pop(task, None)
        written = [piece for piece in pieces if self.written(piece)]
        left = [piece for piece in pieces if piece not in written]
        for piece in pieces if self._stop.number is not None else written:
            if piece.claim:
                claims.remove(piece.claim)  # the signal may have gone to workers too
        self._finish(written, sum(map(self.amount, written)), sum(map(self.weight, written)))
        following = [new for piece in written for new in self.following(piece, 0)]
        if not left:
            return self._made(following)
        self.retries += 1
        begun = {piece: at for piece in left if piece.claim and (at := claims.read(piece.claim))}
        self.note("died", task=task.key, killed=killed, at=[(piece.chunk, *at) for piece, at in begun.items()])
        begun = begun if killed else {}
        self.deaths += bool(begun)
        if killed or written:
            self._unbegun = 0 if begun or written else self._unbegun + 1
        if self._unbegun > UNBEGUN_ALLOWED:
            raise ClusterLost(f"{task.key}: workers died {self._unbegun} times before they could begin anything; look at their logs, then run again")
        if pieces[0].claim is None:
            return [*map(self._isolated, left), *self._made(following)]
        return self._made([*left, *following])

    def failed(self, task: Task, error: BaseException) -> Iterable[Task]:
        if isinstance(error, MemoryError):
            return self.died(task, True)
        if not isinstance(error, Stopped):
            self.note("failed", task=task.key, error=repr(error))
            self._stop.abandon()
        if isinstance(error, TooManyRejected):
            raise NoWorkers(str(error)) from error
        raise error

    def note(self, event: str, **details: Any) -> None:
        rundir.journal(self.directory, event, **details)

    def tell(self) -> None:
        with self._lock:
            begun = sum(task.seconds * at / (self._amounts[task] or 1.0) for task, at in self._at.items())
            done, total = (int(1000 * seconds / (self.workers or self.threads)) for seconds in (self._worked + begun, self._work))
            if self._at or self._worked:  # while workers are hired and kernels compiled, nothing is worked on
                self._told("work", done, total)
            self._told(self.stage, max(0, int(self.scale * (self._finished + sum(self._at.values())))), int(self.scale * self.total()))


def _key(pieces: Sequence[Piece]) -> str:
    """Name a task in messages."""
    first, last = pieces[0], pieces[-1]
    key = f"{first.chunk}.{first.start}-{first.stop}"
    return key if first is last else f"{key}..{last.chunk}.{last.start}-{last.stop}"
