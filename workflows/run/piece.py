"""Say what a piece of a run is: work on a range, which may be cut, and is claimed by who does it."""

from typing import Protocol, Self


class Piece(Protocol):
    """Work on [start, stop) of a chunk. stage: what sort of work. claim: path of the claim that says how far it is, kept if the process dies at it; None where
    someone else watches."""

    @property
    def stage(self) -> str: ...
    @property
    def chunk(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def stop(self) -> int: ...
    @property
    def claim(self) -> str | None: ...

    def cut(self, start: int, stop: int, claim: str | None) -> Self:
        """Give the same work on [start, stop) alone."""
