"""Draw what more GPUs of one host are worth, from records of `genome_gpus.py`, `search_gpus.py` and `whole_run_gpus.py`.

python gpus_picture.py PICTURE.svg RECORD.json [RECORD.json]
"""

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt


def series(record: dict[str, Any]) -> list[tuple[str, list[dict[str, Any]]]]:
    """List what was measured: its name, and a run for each number of GPUs."""
    kinds = {"": record} if "runs" in record else {name: part for name, part in record.items() if isinstance(part, dict) and "runs" in part}
    card = (record.get("cards") or record["card"])[0].removeprefix("NVIDIA ")
    return [(f"{record['what'].split(' on some')[0]}{': ' * bool(name)}{name}, {card}", part["runs"]) for name, part in kinds.items()]


def main() -> None:
    """Draw times as fast as on one GPU, whole commands, and beside each how busy the GPUs were."""
    picture, *records = sys.argv[1:]
    mpl.rcParams |= {"svg.hashsalt": "gpus", "svg.fonttype": "none"}  # the same picture for the same records; its words as words
    _, axes = plt.subplots(figsize=(8, 6))
    axes.plot([1, 4], [1, 4], color="#cccccc", linestyle=":", label="as many times as GPUs")
    for path in records:
        for name, runs in series(json.loads(Path(path).read_text())):
            places = [(run.get("cards", run.get("gpus")), runs[0]["seconds"] / run["seconds"]) for run in runs]
            axes.plot(*zip(*places, strict=True), marker="o", label=f"{name}: {', '.join(format(run['seconds'], '.1f') for run in runs)} s")
            for (gpus, times), run in zip(places, runs, strict=True):
                if gpus > 1 and (busy := run.get("busy share of each GPU")):
                    axes.annotate(f"{sum(busy) / len(busy):.0%} busy", (gpus, times), textcoords="offset points", xytext=(-6, -4), ha="right", fontsize=7)
    axes.set_xticks([1, 2, 4])
    axes.set_xlabel("GPUs of one host")
    axes.set_ylabel("times as fast as one, whole command")
    axes.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.12), frameon=False)
    plt.tight_layout()
    plt.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    main()
