"""Make the table that MultiQC takes as custom content: a line for each run (https://docs.seqera.io/multiqc/custom_content)."""

import json
from pathlib import Path
from typing import Any

from tidalign.workflows.report.charts import median_of
from tidalign.workflows.report.rows import RowSample

_PERCENT = {"suffix": "%", "min": 0, "max": 100, "format": "{:,.2f}"}
_COUNT = {"format": "{:,.0f}", "min": 0}

HEADERS: dict[str, dict[str, Any]] = {
    "input": {"title": "Input", "description": "Pairs, pairs of genomes, or queries", "scale": "Blues"} | _COUNT,
    "alignments": {"title": "Alignments", "description": "Rows with an alignment", "scale": "Greens"} | _COUNT,
    "capped": {"title": "Capped", "description": "Rows that a guard cut", "scale": "OrRd"} | _COUNT,
    "rejected": {"title": "Rejected", "description": "What could not be aligned", "scale": "OrRd"} | _COUNT,
    "identity": {"title": "Identity", "description": "Median identity of the alignments", "scale": "RdYlGn"} | _PERCENT,
    "seconds": {"title": "Seconds", "description": "Time of all calls of the command", "scale": "Purples", "format": "{:,.1f}", "min": 0},
    "retries": {"title": "Retries", "description": "Tasks that were started again", "scale": "OrRd", "hidden": True} | _COUNT,
}


def sample(run: str) -> str:
    """Name a run's line: its folder; of OUT.run OUT, and of DIR/run DIR."""
    path = Path(run).absolute()
    return path.parent.name if path.name == "run" and path.parent.name else path.name.removesuffix(".run")


def content(run: str, kind: str, report: dict[str, Any], rows: RowSample) -> str:
    """Write the JSON that MultiQC reads. Runs of one kind are a table of their own."""
    statuses = report["statuses"]
    line = {
        "input": report.get("queries") if kind == "search" else report.get("pairs"),
        "alignments": sum(count for status, count in statuses.items() if status != "rejected"),
        "capped": statuses.get("capped", 0),
        "rejected": statuses.get("rejected", 0) + sum(each.get("status") == "rejected" for each in report.get("shortfalls") or ()),
        "identity": round(median_of(rows.identity), 3) if len(rows.identity) else None,
        "seconds": report.get("total_seconds"),
        "retries": report.get("retries"),
    }
    known = {name: value for name, value in line.items() if value is not None}
    said = {
        "id": f"tidalign_{kind}",
        "section_name": f"tidalign {kind}",
        "description": f"Runs of <code>tidalign {kind}</code>: what went in, what came out, and in what time.",
        "plot_type": "table",
        "pconfig": {"id": f"tidalign_{kind}_table", "title": f"tidalign {kind}", "namespace": "tidalign"},
        "headers": {name: HEADERS[name] for name in HEADERS if name in known},
        "data": {sample(run): known},
    }
    return json.dumps(said, indent=1) + "\n"
