"""Options that some random cases of compare_lastz.py have besides (lastz_cases.py), from a generator of their own: cases without them stay as they were."""

import random
from dataclasses import replace

from lastz_cases import Case

SHARE = 0.5
"""Of cases that are given one of these options or some."""


def more(case: Case, seed: int) -> Case:
    """The case, perhaps with more options."""
    rng = random.Random(f"more {seed}")
    for way in (_masking,):
        if rng.random() < SHARE:
            case = way(rng, case)
    return case


def _has(case: Case, *names: str) -> bool:
    return any(option.startswith(names) for option in case.options)


def _with(case: Case, *options: str) -> Case:
    return replace(case, options=[*case.options, *options])


def _masking(rng: random.Random, case: Case) -> Case:
    """What an alignment covers is masked for the next query; the targets of these cases have few of them."""
    one_strand = _has(case, "--strand=plus", "--strand=minus")
    if case.mode != "exact" or (_has(case, "--queryhsp") and not one_strand) or (case.format == "lav" and _has(case, "--nogapped", "--ungapped")):
        return case
    return _with(case, f"--masking={rng.choice([1, 1, 2, 3, 50])}")
