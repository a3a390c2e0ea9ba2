"""Compare tidalign with the LASTZ program (1.04.22, as `lastz` or in $LASTZ), output line by line. By hand:

python tests/data/compare_lastz.py random [--count 2000] [--first 0]   small pairs, random options and formats, both modes
python tests/data/compare_lastz.py genomes FOLDER                      pairs of real genomes, default options
python tests/data/compare_lastz.py windows FOLDER                      windows of 20 to 60 kb of them, --nogfextend
python tests/data/compare_lastz.py anchors FOLDER                      independent mode, each anchor by itself, by four ways to make LASTZ do it
python tests/data/compare_lastz.py options FOLDER                      every option once on half a megabase of two real pairs
python tests/data/compare_lastz.py haplotypes FOLDER                   HLA haplotypes, every one against every one

All take --jobs (processes), --seconds (start nothing more after them), --count and --result (a JSON file). FOLDER holds the genomes that
lastz_real.PAIRS names.
At the end: `n compared, n equal`.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lastz_cases import Case, random_case
from lastz_more import more
from lastz_real import anchors, genomes, haplotypes, options, windows

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import record

import tidalign
from tidalign.pipeline.errors import InputError, MissingInput

FAILURES = ("internal error", "partition separator", "not within partition")
"""Of LASTZ itself, by what it says: --inner of a target of several sequences, where a rectangle begins between two. --masking of --segments crashes it."""

LASTZ = os.environ.get("LASTZ", "lastz")


@dataclass(frozen=True)
class Outcome:
    """kind: `equal`, `different`, `refused by both`, or `failure of LASTZ` (an internal error of it); detail: the first line that differs, or what was said."""

    case: Case
    kind: str
    alignments: int = 0
    detail: str = ""


def lastz(case: Case, folder: Path) -> tuple[int, str]:
    """Run LASTZ: (exit status, output or the last line of complaint)."""
    alone = ["--limitperquery=1000000"] if case.mode == "independent" else []
    beside = [f"--rdotplot={folder / 'theirs'}"] if case.beside else []
    sides = [case.target, *filter(None, [case.query])]
    done = subprocess.run([LASTZ, *sides, *case.options, *alone, *beside, f"--format={case.format}"], capture_output=True, text=True)
    if done.returncode:
        return done.returncode, done.stderr.strip()
    return 0, done.stdout + ((folder / "theirs").read_text() if beside else "")


def ours(case: Case, folder: Path) -> tuple[int, str]:
    options: dict[str, Any] = {}
    for option in case.options:
        name, equals, value = option.removeprefix("--").partition("=")
        options[name] = [*options.get(name, ()), value] if name == "filter" else value if equals else True
    markend = bool(options.pop("markend", False))
    mode = "exact" if case.mode in ("exact", "pieces") else "independent"
    try:
        results = tidalign.align_genomes(case.target, case.query or None, out=folder / "run", new=True, mode=mode, **options)
        results.export(folder / "out", format=case.format, markend=markend)
    except (ValueError, InputError, MissingInput) as error:
        return 1, str(error)
    if not case.beside:
        return 0, (folder / "out").read_text()
    results.export(folder / "beside", format="rdotplot", beside=True)
    return 0, (folder / "out").read_text() + (folder / "beside").read_text()


def compare(make: Callable[[Path], Case]) -> Outcome:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        case = make(folder)
        (status, expected), (our_status, found) = lastz(case, folder), ours(case, folder)
    if status or our_status:
        failed = status < 0 or (status and any(sign in expected for sign in FAILURES))
        kind = "failure of LASTZ" if failed else "refused by both" if status and our_status else "different"
        return Outcome(case, kind, detail=f"LASTZ: {expected.splitlines()[-1:] if status else 'ran'}; tidalign: {found if our_status else 'ran'}")
    lines = [[line for line in text.splitlines() if not line.startswith("#") or line == "# lastz end-of-file"] for text in (expected, found)]
    if case.format.startswith("lav"):  # the stanza of settings, which names the program; what stands behind the name of a sequence
        lines = [[line.replace(" of a random case", "") for line in text[text.index("}") + 1 :]] for text in lines]
    if case.mode != "exact":
        lines = [sorted(one) for one in lines]
    if lines[0] == lines[1] or (case.mode == "independent" and _better(*lines)):
        return Outcome(case, "equal", len(lines[0]))
    at = next((i for i, (one, other) in enumerate(zip(*lines, strict=False)) if one != other), min(map(len, lines)))
    shown = " | ".join(f"{who}: {text[at][:150] if at < len(text) else '(end)'}" for who, text in zip(("LASTZ", "tidalign"), lines, strict=True))
    return Outcome(case, "different", len(lines[0]), f"lines {len(lines[0])}, {len(lines[1])}; line {at}: {shown}")


def _better(theirs: list[str], ours: list[str]) -> bool:
    """Tell whether lines of general-:FIELDS are the same but where, of anchors that end in the same places, LASTZ keeps the first and tidalign the best."""
    places = [{tuple(line.split("\t")[1:10]): line for line in lines} for lines in (theirs, ours)]
    return places[0].keys() == places[1].keys() and all(
        line == places[1][place] or int(line.split("\t")[0]) < int(places[1][place].split("\t")[0]) for place, line in places[0].items()
    )


def _random(seed: int, folder: Path) -> Case:
    return more(random_case(seed, folder), seed)


def run(makes: Iterator[Callable[[Path], Case]], jobs: int, seconds: float) -> dict[str, Any]:
    """Compare and print; how many of each kind."""
    began, counts, options = time.monotonic(), Counter[str](), Counter[str]()
    lines = 0
    with ProcessPoolExecutor(jobs) as pool:
        waiting = []
        for make in makes:
            if time.monotonic() - began > seconds:
                break
            waiting.append(pool.submit(compare, make))
            while len(waiting) >= 2 * jobs:
                lines += _told(waiting.pop(0).result(), counts, options)
        for future in waiting:
            lines += _told(future.result(), counts, options)
    print("options compared:", ", ".join(f"{name} {count}" for name, count in sorted(options.items())))
    compared = counts["equal"] + counts["different"]
    print(
        f"{compared} compared, {counts['equal']} equal ({lines} lines of output); {counts['refused by both']} refused by both, "
        f"{counts['failure of LASTZ']} failures of LASTZ; {time.monotonic() - began:.0f} s"
    )
    return {
        "compared": compared,
        "equal": counts["equal"],
        "refused by both": counts["refused by both"],
        "failures of LASTZ": counts["failure of LASTZ"],
        "lines of output": lines,
        "seconds": round(time.monotonic() - began),
        "options compared": dict(sorted(options.items())),
    }


def _told(outcome: Outcome, counts: Counter[str], options: Counter[str]) -> int:
    counts[outcome.kind] += 1
    if outcome.kind == "different":
        case = outcome.case
        words = [case.target, case.query, *case.options, *["--rdotplot"] * case.beside, f"--format={case.format}"]
        print(f"DIFFERENT {case.name} ({case.mode}): {' '.join(words)}\n  {outcome.detail}", flush=True)
    elif not outcome.case.name.startswith("random"):  # those that take their time
        print(f"{outcome.kind}: {outcome.case.name}", flush=True)
    if outcome.kind == "equal":
        options.update(option.partition("=")[0] for option in outcome.case.options)
        options["--rdotplot"] += outcome.case.beside
        options[f"--format={outcome.case.format.partition(':')[0]}"] += 1
    return outcome.alignments


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("random", "genomes", "windows", "anchors", "options", "haplotypes"))
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--result")
    args = parser.parse_args()
    if args.what == "random":
        makes: Iterator[Callable[[Path], Case]] = (partial(_random, seed) for seed in range(args.first, args.first + args.count))
    elif args.folder is None:
        parser.error(f"{args.what} needs the folder of the genomes")
    else:
        every = {"genomes": genomes, "windows": windows, "anchors": anchors, "options": options, "haplotypes": haplotypes}[args.what](args.folder)
        makes = iter(list(every)[args.first : args.first + args.count])
    found = run(makes, args.jobs, args.seconds)
    if args.result:
        version = subprocess.run([LASTZ, "--version"], capture_output=True, text=True).stdout.splitlines()[0]
        record.write(args.result, {"what": f"output of tidalign genome and of {version}, line by line: {args.what}", **found})
    return int(found["equal"] < found["compared"])


if __name__ == "__main__":
    sys.exit(main())
