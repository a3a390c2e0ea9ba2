"""Write sequences that are in memory where a run over genomes reads its sides."""

from collections.abc import Mapping
from pathlib import Path

from tidalign.pipeline.errors import InputError, shown
from tidalign.pipeline.genome.input.actions import shorten

Letters = str | bytes
InMemory = Mapping[str, Letters]
"""Sequences by name, in order."""


def as_file(side: str | Path | InMemory, role: str, folder: Path | None) -> str:
    """Name a side as a run reads it: a file as it is given, sequences in memory as a FASTA file that is written into the folder.

    Raises InputError for a name that output would not have whole, TypeError for what are no letters, ValueError for sequences where there is no folder.
    """
    if not isinstance(side, str | Path | Mapping):
        raise TypeError(f"{role}: expected the path of a file, or a dict of names and letters, found {type(side).__name__}")
    if not isinstance(side, Mapping):
        return str(side)
    if folder is None:
        raise ValueError(f"{role}: sequences in memory give a table: leave out= away, or name a file of sequences")
    if not side:
        raise InputError(role, "sequences by name", "none", "give one")
    path = folder / f"{role}.fa"
    with path.open("wb") as file:
        for record, (name, letters) in enumerate(side.items(), 1):
            if not isinstance(name, str) or not name or shorten(f">{name}", "darkspace") != name or not name.isprintable():
                raise InputError(role, "a name without blanks that does not end as a file does", shown(name), "give another", record=record)
            if not isinstance(letters, str | bytes):
                raise TypeError(f"{role}: expected letters of {shown(name)} as str or bytes, found {type(letters).__name__}")
            file.write(b">%b\n%b\n" % (name.encode(), letters.encode() if isinstance(letters, str) else letters))
    return f"{path}[nameparse=darkspace]"
