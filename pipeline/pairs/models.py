"""Name gap models in Python: `tidalign.Affine(4, 6, 2)` in place of the text `affine:4,6,2`."""

from dataclasses import dataclass
from typing import Any

from tidalign.kernels.scoring.penalties import Penalties
from tidalign.pipeline.whole import is_whole


@dataclass(frozen=True)
class _Model:
    """Says itself as `--penalties` does. Raises ValueError for numbers that are no penalties."""

    def __post_init__(self) -> None:
        Penalties.parse(str(self))

    def __str__(self) -> str:
        numbers = [getattr(self, name) for name in self.__dataclass_fields__]
        return text((_NAMES[type(self)], *numbers))


@dataclass(frozen=True)
class Edit(_Model):
    """Count edits: a mismatch, and each letter of a gap, costs 1.

    >>> str(Edit())
    'edit'
    """


@dataclass(frozen=True)
class Linear(_Model):
    """Price a mismatch, and each letter of a gap.

    >>> str(Linear(4, 2))
    'linear:4,2'
    """

    mismatch: int
    gap: int


@dataclass(frozen=True)
class Affine(_Model):
    """Price a mismatch, a gap's opening and each of its letters: n letters cost opening + n * extension.

    >>> str(Affine(mismatch=4, opening=6, extension=2))
    'affine:4,6,2'
    """

    mismatch: int
    opening: int
    extension: int


@dataclass(frozen=True)
class TwoPiece(_Model):
    """Price gaps by the cheaper of two pieces, of which the second is for long ones.

    >>> str(TwoPiece(4, 6, 2, 24, 1))
    'affine2p:4,6,2,24,1'
    """

    mismatch: int
    opening: int
    extension: int
    opening2: int
    extension2: int


_NAMES: dict[type[_Model], str] = {Edit: "edit", Linear: "linear", Affine: "affine", TwoPiece: "affine2p"}

PenaltiesLike = str | tuple[Any, ...] | Edit | Linear | Affine | TwoPiece
"""What `penalties=` takes: text as of `--penalties`, ("affine", 4, 6, 2), or one of the models."""


def text(penalties: Any) -> str:
    """Give penalties in any of their forms as text. ValueError for what is none."""
    if isinstance(penalties, str):
        return penalties
    if isinstance(penalties, _Model | Penalties):
        return str(penalties)
    if isinstance(penalties, tuple | list) and penalties and isinstance(penalties[0], str) and all(map(is_whole, penalties[1:])):
        return f"{penalties[0]}:{','.join(str(int(number)) for number in penalties[1:])}".removesuffix(":")
    raise ValueError(f"penalties {penalties!r}: expected a text, as 'affine:4,6,2', a tuple, as ('affine', 4, 6, 2), or tidalign.Affine(4, 6, 2)")


def ends(ends_free: Any) -> tuple[Any, ...]:
    """Give the letters that are free at the four ends; one number is for all of them."""
    given = (ends_free,) * 4 if is_whole(ends_free) else tuple(ends_free) if hasattr(ends_free, "__iter__") else (ends_free,)
    return tuple(int(end) if is_whole(end) else end for end in given)
