"""Make the pages of a finished run: report.html, and the table for MultiQC."""

import logging
from functools import partial
from pathlib import Path
from typing import Any

from tidalign.pipeline.formats.export import destination
from tidalign.pipeline.store import rundir
from tidalign.pipeline.store.files import durably
from tidalign.workflows.report import history
from tidalign.workflows.report.multiqc import content, sample
from tidalign.workflows.report.page import PageContent, page
from tidalign.workflows.report.rows import RowSample, gather

PAGE, TABLE = "report.html", "tidalign_mqc.json"
"""Names in a run directory, of which whatever else is there is the run's."""


def refresh(results: Any) -> None:
    """Make the pages of a finished run that has none, or has gone on since. What goes wrong is a line for the log: the run is not worse for it."""
    try:
        report, made = (Path(results.path, name) for name in ("report.json", PAGE))
        if not made.exists() or made.stat().st_mtime_ns < report.stat().st_mtime_ns:
            make(results)
    except Exception as error:
        logging.getLogger("tidalign").warning("%s: no %s was made (%s: %s); `tidalign report` tries again", results.path, PAGE, type(error).__name__, error)


def make(results: Any, output: str | None = None, table: str | None = None) -> list[str]:
    """Write the page and the table of a finished run, in its directory or in other files; their names.

    output: of the page, which is then alone without `table`.
    """
    run = str(results.path)
    plan, report, marker = rundir.read_plan(run), rundir.read_report(run), rundir.finished(run) or ""
    rows = gather(results)
    dots, left_out = _dots(results, rows) if results.kind == "genome" else ([], 0)
    ended = Path(run, "report.json").stat().st_mtime
    shown = PageContent(sample(run), results.kind, marker, plan, report, history.read(run), rows, ended, dots, left_out)
    texts = {output or f"{run}/{PAGE}": page(shown)}
    if table or not output:
        texts[table or f"{run}/{TABLE}"] = content(run, results.kind, report, rows)
    for path, text in texts.items():
        data = text.encode(errors="backslashreplace")  # names of files need not be UTF-8
        if path in (output, table):
            with destination(path) as sink:
                sink.write(data)
        else:
            durably(path, partial(_write, data), forced=False)
    return list(texts)


def _write(data: bytes, path: str) -> None:
    Path(path).write_bytes(data)


def _dots(results: Any, rows: RowSample) -> tuple[list[tuple[str, str]], int]:
    from tidalign.workflows.report.dots import drawn

    return drawn(results, rows)
