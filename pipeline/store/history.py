"""Read what happened to a run of its journal."""

import json
import time
from pathlib import Path
from typing import Any


def history(directory: str, most: int = 1000) -> tuple[int, float, list[dict[str, Any]]]:
    """Read of a run's journal how many calls it took, this one too, the seconds of all (of one that was killed, those to its last line), and tasks that were
    lost or failed, the first `most`, with how often each had been before."""
    count, seconds, began, last = 0, 0.0, 0.0, 0.0
    faults: list[dict[str, Any]] = []
    for line in Path(directory, "journal.jsonl").read_text(errors="replace").splitlines():
        try:
            said = json.loads(line)
            when, name = float(said.pop("time")), said.pop("event")
        except (ValueError, KeyError, TypeError, AttributeError):
            continue  # cut short by a kill
        if name == "start":
            count, seconds, began = count + 1, seconds + max(0.0, last - began), when
        elif name in ("lost", "failed") and len(faults) < most:
            before = sum(each["task"] == said.get("task") for each in faults)
            faults.append({"why": said.pop("error", ""), "task": "", **said, "retries": before})
        last = when
    return count, round(seconds + max(0.0, time.time() - began), 3), faults
