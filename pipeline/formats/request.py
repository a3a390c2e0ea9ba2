"""Describe what the functions of a format are told: whose rows they write, and how."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from tidalign.pipeline.formats.table import Format
from tidalign.pipeline.in_turn import Call


class Batches(Protocol):
    """Give rows, or what is known of them before they are made."""

    def to_batches(self, columns: list[str] | None = None) -> Iterator[Any]:
        """Record batches in order, all columns or those named."""


class Pieces(Batches, Protocol):
    """Give them in pieces, too, which threads read at a time."""

    def pieces_of(self, columns: list[str] | None = None) -> Iterator[Call[Iterable[Any]]]:
        """Cut the same into pieces, in order: for each what a thread calls for its record batches."""


class Rows(Pieces, Protocol):
    """Give the rows of a run, as `export` takes them from results of any kind."""

    @property
    def kind(self) -> str: ...

    @property
    def schema(self) -> Any:
        """The Arrow schema of the rows."""

    @property
    def parameters(self) -> Any:
        """Of the run, in the type of its kind."""

    @property
    def source(self) -> dict[str, Any]:
        """What was read, as the run recorded it."""

    @property
    def cigars(self) -> bool:
        """Whether the rows have CIGARs."""

    @property
    def placed(self) -> bool:
        """Whether the rows say where alignments begin and end."""

    @property
    def threads(self) -> int:
        """How many pieces are turned into text at a time, at most."""

    def groups(self, most: int) -> Iterator[Call[Iterable[Any]]]:
        """Cut the rows into groups, in order: for each what makes its tables, of at most `most` bytes each, and is called by a thread. Where they are cut
        depends on the run alone."""

    def pieces(self, letters: bool = False) -> Iterator[Call[Iterable[Any]]]:
        """Cut the rows into the batches that the formats of this kind of run take, in order: for each what a thread calls. `batch[name]` is a
        column; with `letters` those of `schema.LETTERS` too."""


R = TypeVar("R", bound=Rows)


@dataclass(frozen=True, slots=True)
class Request(Generic[R]):
    """Hold what is to be written. rows: those of a run; format: a line of the table; notice: takes one line of advice for the user;
    cigar, markend, cs, rg, lift, sort: see `table.OPTIONS`. folder: where temporary files may be. found: what is found in the rows before they are written; and
    the index of what was."""

    rows: R
    format: Format
    notice: Callable[[str], None]
    cigar: str = "=X"
    markend: bool = False
    cs: bool = False
    rg: str | None = None
    lift: str | None = None
    sort: bool = False
    folder: str = ""
    found: dict[str, Any] = field(default_factory=dict)
