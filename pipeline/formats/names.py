"""Refuse names that a format cannot hold: when the sides are read, before anything is aligned, and again as rows are written."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidalign.pipeline.errors import InputError, shown
from tidalign.pipeline.formats.table import BLANKS, Format


def refuse_side(format: Format, role: str, file: str, side: Any) -> None:
    """Raise InputError for a side, read whole, that a format cannot hold. role: target or query; side: has `names`, and what the format looks at beside."""
    if format.banned:
        _refuse(pa.array(side.names, pa.large_string()), role, format, file)
    if format.side:
        format.load(format.side)(role, file, side)


def refuse_names(batch: Any, format: Format) -> None:
    """Raise InputError for a batch whose names a format cannot hold."""
    for role in ("target", "query") if format.banned else ():
        _refuse(batch[f"{role}_name"], role, format)


def _refuse(names: Any, role: str, format: Format, file: str | None = None) -> None:
    strange = pc.index(pc.match_substring_regex(names, f"[{format.banned}]"), True).as_py()
    if strange >= 0:
        kind = "blanks" if format.banned == BLANKS else "tabs"
        expected = f"{role} names without {kind}" + (f" for format {format.name}" if file else "")
        raise InputError(file or f"format {format.name}", expected, shown(names[strange].as_py()), f"read the {role} with [nameparse=darkspace]")
