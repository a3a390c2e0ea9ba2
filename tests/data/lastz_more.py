"""Options that some random cases of compare_lastz.py have besides (lastz_cases.py), from a generator of their own: cases without them stay as they were.

ONLY=name[,name] in the environment gives these to every case that can have them, and no other to any.
"""

import os
import random
from dataclasses import replace
from pathlib import Path

from lastz_cases import Case, _mutated, _random, _reversed

SHARES = {"masking": 0.25, "self": 0.12, "matching": 0.1, "top": 0.15, "immediate": 0.1, "depth": 0.1, "bounds": 0.1, "people": 0.2, "fastq": 0.2}
SHARES |= {"penalties": 0.2, "rows": 0.2, "beside": 0.2}
"""Of cases that are given each of these."""


def more(case: Case, seed: int) -> Case:
    """Give a case perhaps more options."""
    rng = random.Random(f"more {seed}")
    only = os.environ.get("ONLY", "")
    for name, way in WAYS.items():
        if rng.random() < (float(name in only.split(",")) if only else SHARES[name]):
            case = way(rng, case)
    return case


def _has(case: Case, *names: str) -> bool:
    return any(option.startswith(names) for option in case.options)


def _with(case: Case, *options: str) -> Case:
    return replace(case, options=[*case.options, *options])


def _masking(rng: random.Random, case: Case) -> Case:
    """Mask for the next query what an alignment covers; the targets of these cases have few of them."""
    if _has(case, "--queryhsp", "--hspthresh=top") and not _has(case, "--strand=plus", "--strand=minus"):
        return case
    if case.mode != "exact" or (case.format == "lav" and _has(case, "--nogapped", "--ungapped")):
        return case
    return _with(case, f"--masking={rng.choice([1, 1, 2, 3, 50])}")


def _self(rng: random.Random, case: Case) -> Case:
    """Align the target with itself alone; mirror images of HSPs of several sequences LASTZ puts at wrong places."""
    if case.mode != "exact" or _has(case, "--segments") or "separator" in case.target:
        return case
    wrong = _has(case, "--nogapped", "--ungapped") and "[mul" in case.target and not _has(case, "--strand=plus")
    path = Path(case.target.partition("[")[0])
    text = path.read_text().rstrip("\n")
    if rng.random() < 0.6:  # an inverted repeat at the end of the last sequence, whose alignments cross the diagonal
        letters = text.rpartition(">")[2].partition("\n")[2].replace("\n", "")[-rng.choice([60, 150, 300]) :]
        path.write_text(f"{text}\n{_random(rng, rng.randrange(12))}{_mutated(rng, _reversed(letters), 0.05, 0.03)}\n")
    case = replace(case, query="", format="maf" if case.format == "softsam-" and ".." in case.target else case.format)
    return _with(case, "--self", *(["--nomirror"] if wrong or rng.random() < 0.2 else []))


def _matching(rng: random.Random, case: Case) -> Case:
    """Take stretches of few mismatches in place of HSPs, and so without what is said of these."""
    if _has(case, "--segments"):
        return case
    others = ("--hspthresh", "--xdrop", "--nogfextend", "--entropy", "--noentropy")
    scores = [option for option in case.options if not option.startswith(others)]
    length = rng.choice([8, 14, 19, 25, 40])
    return _with(replace(case, options=scores), rng.choice([f"--exact={length}", f"--mismatch={rng.choice([1, 2, 3, 5])},{length}"]))


def _top(rng: random.Random, case: Case) -> Case:
    """Take HSPs that cover a part of the target, in place of a threshold."""
    if case.mode != "exact" or _has(case, "--segments", "--nogfextend", "--exact", "--mismatch", "--queryhsp") or "--hspthresh" in str(case.options):
        return case
    if _has(case, "--masking") and not _has(case, "--strand=plus", "--strand=minus"):
        return case
    return _with(case, f"--hspthresh=top{rng.choice(['60', '300', '2k', '10%', '50%', '99.5%'])}")


def _immediate(rng: random.Random, case: Case) -> Case:
    """Take the first alignments that are found."""
    others = ("--segments", "--chain", "--inner", "--masking", "--queryhsp", "--hspthresh=top", "--self", "--filter=nmismatch")
    if case.mode != "exact" or _has(case, *others):
        return case
    return _with(case, rng.choice(["--anyornone", "--limitperquery=1", "--limitperquery=2", "--limitperquery=5", "--stopafter=40"]))


def _depth(rng: random.Random, case: Case) -> Case:
    """Limit the pairs of a strand."""
    if case.mode != "exact" or _has(case, "--limitperquery", "--anyornone", "--stopafter"):
        return case
    return _with(case, f"--querydepth={rng.choice(['', 'keep,nowarn:', 'nowarn:', 'keep:'])}{rng.choice(['0', '0.1', '0.5', '1', '2.5'])}")


def _bounds(rng: random.Random, case: Case) -> Case:
    """Let every extension fence those after it."""
    if case.mode != "exact" or _has(case, "--limitperquery", "--anyornone", "--stopafter", "--nogapped", "--ungapped"):
        return case
    return _with(case, "--allgappedbounds")


def _people(rng: random.Random, case: Case) -> Case:
    """A format to be read by people, or BLAST's. Of text LASTZ's places of a query of several sequences on the strand - pass 2^32."""
    if case.mode != "exact" or case.format == "segments":
        return case
    formats = ["blastn", "differences"]
    if "[mul" not in (case.query or case.target) or _has(case, "--strand=plus"):
        formats += ["text", "text", "zerotext"]
        if not any(action in case.target + case.query for action in ("[mul", "separator")):
            formats.append("lav+text")  # LAV is of one sequence
    return replace(case, format=rng.choice(formats), options=[option for option in case.options if option != "--runtime"])  # which is told there


def _fastq(rng: random.Random, case: Case) -> Case:
    """The query with qualities, and perhaps the target; in SAM and in fields of `general` they are shown, where LASTZ has none of --self on the strand -."""
    if case.mode != "exact" or (_has(case, "--self") and case.format.startswith(("general", "mapping", "sam", "softsam"))):
        return case
    sides = ["query"] * bool(case.query) + ["target"] * (rng.random() < 0.3 or not case.query)
    for side in sides:
        path = Path(getattr(case, side).partition("[")[0])
        made = []
        for record in path.read_text().split(">")[1:]:
            name, _, letters = record.partition("\n")
            letters = letters.replace("\n", "")
            qualities = "".join(chr(rng.randint(33, 126)) for _ in letters)
            again = name if rng.random() < 0.2 and "subset" not in case.query else ""
            made.append(f"@{name}\n{letters}\n+{again}\n{qualities}\n")
        path.write_text("".join(made))
    format = case.format
    if format.startswith(("general", "mapping")) and rng.random() < 0.7:
        numbers = [number for number, side in ((1, "target"), (2, "query")) if side in sides or not case.query]
        words = ("quals",) if {"--nogapped", "--ungapped"} & {*case.options} else ("qalign", "quals")  # of HSPs LASTZ gives those of other letters
        format = "general-:score,zstart1,zstart2,strand2," + ",".join(f"{word}{number}" for number in numbers for word in words)
    if "separator" in case.query and format.startswith(("softsam", "general")):
        format = "maf"
    return replace(case, format=format)


def _penalties(rng: random.Random, case: Case) -> Case:
    """Chain with penalties, of all sizes; most often of many HSPs or seeds, as of few one chain is plain; --inner has them, too."""
    if case.mode not in ("exact", "pieces") or _has(case, "--segments", "--limitperquery", "--anyornone", "--stopafter"):
        return case
    options = [option for option in case.options if not option.startswith("--chain")]
    if rng.random() < 0.5 and not _has(case, "--hspthresh", "--nogfextend", "--exact", "--mismatch"):
        options.append(f"--hspthresh={rng.choice([600, 800, 1200])}")
    penalties = (rng.choice([0, 1, 2, 5, 10, *(rng.randrange(10**power) for power in (2, 3, 4, 5, 6, 9))]) for _ in "DA")
    return _with(replace(case, options=options), f"--chain={','.join(map(str, penalties))}")


def _rows(rng: random.Random, case: Case) -> Case:
    """Put rows and columns of a score file in another order: the first of both is what a letter of overlap costs."""
    for option in case.options:
        if option.startswith("--scores="):
            path = Path(option.partition("=")[2])
            lines = path.read_text().splitlines()
            at = next(number for number, line in enumerate(lines) if line.startswith(" "))
            order = rng.sample(range(4), 4)
            rows = [[words[0], *(words[1 + column] for column in order), *words[5:]] for words in map(str.split, lines[at + 1 :])]
            columns = lines[at].split()
            turned = ["  ".join(rows[row]) for row in [*order, *range(4, len(rows))]]
            path.write_text("\n".join([*lines[:at], "   " + "  ".join([*(columns[column] for column in order), *columns[4:]]), *turned]) + "\n")
    return case


def _beside(rng: random.Random, case: Case) -> Case:
    """Write points for R beside another format; LASTZ does not take both."""
    return replace(case, beside=case.mode == "exact" and case.format != "rdotplot")


WAYS = {
    "top": _top,
    "self": _self,
    "masking": _masking,
    "matching": _matching,
    "immediate": _immediate,
    "depth": _depth,
    "bounds": _bounds,
    "people": _people,
    "fastq": _fastq,
    "penalties": _penalties,
    "rows": _rows,
    "beside": _beside,
}
