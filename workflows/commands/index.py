"""`tidalign index`: pack a database once, for many searches; `tidalign genome-index`: read a target and index its words once, for many queries."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from tidalign.cluster.task import cores
from tidalign.pipeline.errors import CannotWrite, Damaged, InputError
from tidalign.pipeline.genome.input import index as targets
from tidalign.pipeline.search import database as databases
from tidalign.pipeline.search.records import READERS, empty_database, inspect, is_index, records
from tidalign.pipeline.store.outputs import refuse_input
from tidalign.workflows import running
from tidalign.workflows.options.common import STANDARD_OUTPUT
from tidalign.workflows.options.given import parameters
from tidalign.workflows.progress import say
from tidalign.workflows.status import Exit


def command(args: argparse.Namespace) -> Exit:
    """Write DATABASE to OUT, packed; or TARGET, indexed."""
    if "target" in args:
        side = targets.make(args.target, args.output, parameters(args.options))
        if not args.quiet:
            say(f"{running.counted(side['sequences'], 'sequences')}, {running.counted(side['bases'], 'letters')}; {args.output}")
        return Exit.COMPLETE
    found = index(args.database, args.output, alphabet=args.alphabet)
    if not args.quiet:
        say(f"{running.counted(found.sequences, 'sequences')}, {running.counted(found.letters, 'letters')} of {found.alphabet}; {args.output}")
    return Exit.COMPLETE


def index(database: str | Path, out: str | Path, *, alphabet: str = "dna") -> Any:
    """Pack a database into the file `out`, whole or not at all; returns what it holds. Raises what reading it raises, and CannotWrite or DiskFull."""
    source, path = inspect(str(database), "database"), str(Path(out).resolve())  # a symbolic link stays one
    if str(out) == STANDARD_OUTPUT or (Path(out).exists() and not Path(out).is_file()):
        found = "standard output" if str(out) == STANDARD_OUTPUT else "a directory" if Path(out).is_dir() else "a device or a pipe"
        raise CannotWrite(f"{out}: expected a file to write, found {found}; name one with -o")
    refuse_input(path, {"path": source.path})
    if Path(out).is_file() and not is_index(replace(source, path=path, format="parquet")):
        raise CannotWrite(f"{out}: expected a new name, or an index to replace, found a file; choose another with -o")
    if is_index(source):
        raise InputError(str(database), "sequences", "an index", "give those that it was made of, or search it as it is")
    databases.pack(path, _counted(records(source, alphabet, min(READERS, cores())), source.path), alphabet)
    try:
        return databases.open_database(path)
    except Damaged as damaged:
        raise CannotWrite(f"{out}: was written and reads back {damaged.found}; look at the disk") from damaged


def _counted(tables: Any, path: str) -> Any:
    """Pass tables on, and count their letters. InputError at the end where they have no letter, so that no index is left of them."""
    letters = 0
    for table in tables:
        letters += databases.letters_of(table)
        yield table
    if not letters:
        raise empty_database(path)
