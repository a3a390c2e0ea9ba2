"""A picture of what each thread of a run did when, from a record of `file_to_file.py`, and of how far each stage is from what the machine allows.

python stage_timeline.py PICTURE.png RECORD.json [RECORD.json]
"""

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt

COLOURS = {
    "count records": "#8c9bab",
    "read and pack": "#4c78a8",
    "write chunk": "#b8d8d8",
    "read chunk": "#9d755d",
    "copy in, align, copy out": "#e45756",
    "CIGAR text": "#f2cf5b",
    "write part": "#54a24b",
    "export": "#b279a2",
}


def lanes(spans: list[list[Any]]) -> list[tuple[str, int, float, float]]:
    """Lay out (stage, row, begin, end): threads take rows over from those that have ended, so that there are as many rows as were ever busy at once."""
    ends: dict[int, float] = {}
    for _, thread, _, end in spans:
        ends[thread] = max(end, ends.get(thread, 0.0))
    rows: dict[int, int] = {}
    free: list[float] = []  # when each row is free
    placed = []
    for stage, thread, begin, end in sorted(spans, key=lambda span: span[2]):
        if thread not in rows:
            row = next((row for row, at in enumerate(free) if at <= begin), len(free))
            if row == len(free):
                free.append(0.0)
            rows[thread], free[row] = row, ends[thread]
        placed.append((stage, rows[thread], begin, end))
    return placed


def draw(axes: Any, record: dict[str, Any]) -> None:
    placed = lanes(record["spans (stage, thread, begin, end)"])
    for stage, row, begin, end in placed:
        axes.broken_barh([(begin, end - begin)], (row - 0.42, 0.84), color=COLOURS.get(stage, "#cccccc"), linewidth=0.2, edgecolor="white")
    pairs_seconds, export_seconds = record["seconds of the runs (pairs, export)"][-1]
    axes.axvline(pairs_seconds, color="black", linewidth=0.8, linestyle=":")
    axes.set_title(
        f"{record['pairs']:,} pairs of {record['length']:,} letters, {record['error']:.0%} errors, {' '.join(record['options'])}: "
        f"{pairs_seconds:.2f} s to the run directory ({record['pairs/s']:,} pairs/s), {export_seconds:.2f} s to PAF",
        fontsize=9,
        loc="left",
    )
    axes.set_xlim(0, pairs_seconds + export_seconds)
    axes.set_yticks([])
    axes.set_ylabel("threads")
    axes.set_xlabel("seconds")
    least = record["least seconds"]
    handles, labels = [], []
    for stage, times in record["stages"].items():
        bound = max((seconds for name, seconds in least.items() if name.startswith(stage)), default=None)
        handles.append(plt.Rectangle((0, 0), 1, 1, color=COLOURS.get(stage, "#cccccc")))
        labels.append(f"{stage}: {times['seconds']:.2f} s" + (f" (at least {bound:.2f})" if bound is not None else ""))
    axes.legend(handles, labels, loc="upper left", bbox_to_anchor=(1.005, 1.02), fontsize=8, frameon=False)


def main() -> None:
    picture, *files = sys.argv[1:]
    figure, all_axes = plt.subplots(len(files), 1, figsize=(15, 4.2 * len(files)), squeeze=False)
    for axes, file in zip(all_axes[:, 0], files, strict=True):
        draw(axes, json.loads(Path(file).read_text()))
    figure.tight_layout()
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main()
