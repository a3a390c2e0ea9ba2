"""Spellings of LASTZ's options that argparse cannot read: BLASTZ's shortcuts, older names, and options whose value may be left out."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tidalign.pipeline.genome.input.scores import SEED_NUMBERS
from tidalign.workflows.options.lastz import OPTIONS, UNHEEDED
from tidalign.workflows.options.option import Option
from tidalign.workflows.options.presets import PRESETS, options

_FLAGS = (
    *("axt", "axt+", "axt:size2", "cigar", "gfa", "gfanoscore", "lav", "lav+", "lav+text", "lavscore", "maf", "maf+", "maf-"),
    *("mafsegments", "mafsegments+", "mafsegments-", "sam", "sam-", "softsam", "softsam-", "text+lav", "waxt"),
)
"""Formats that are options of their own."""

_VERBOSITY = "v"
"""BLASTZ's letter for an option that is not heeded."""

_VALUES = {
    "W": "--seed=match{}",
    "U": "--match={}",
    "c": "--census={}",
    "G": "--chain=G={}",
    "R": "--chain=R={}",
    "--queryhsplimit+": "--queryhsplimit=keep,{}",
}
"""Shortcuts whose value is part of another's; G and R are refused by --chain, which takes both."""

_YASRA = {
    "98": ("1,6", 8, 1, 20, 22, 30, True),
    "95": ("1,5", 8, 1, 20, 22, 30, True),
    "90": ("1,5", 6, 1, 20, 22, 30, True),
    "85": ("1,2", 4, 1, 20, 22, 30, False),
    "75": ("1,1", 3, 1, 20, 22, 30, False),
    "95short": ("1,7", 6, 1, 14, 10, 14, False),
    "85short": ("1,3", 4, 1, 14, 11, 14, False),
}
"""Scores of a match and a mismatch, gap open and extend, y-drop, HSP and gapped threshold, and whether every 20th position is indexed; the name says which
identity is asked for."""


def _yasra(name: str) -> dict[str, str | bool]:
    match, opening, extending, ydrop, hsps, gapped, step = _YASRA[name]
    seed, transitions = SEED_NUMBERS["2"]
    scores: dict[str, str | bool] = {
        "match": match,
        "gap-open": f"{opening}",
        "gap-extend": f"{extending}",
        "ydrop": f"{ydrop}",
        "hspthresh": f"{hsps}",
        "gappedthresh": f"{gapped}",
    }
    rest: dict[str, str | bool] = {"ambiguous": "n", "noytrim": True, "identity": f"{name.removesuffix('short')}..100"}
    return {"seed": seed, "transition": str(transitions), **({"step": "20"} if step else {}), **scores, **rest}


WHOLE: dict[str, dict[str, str | bool]] = {
    "B=0": {"strand": "plus"},
    "B=2": {"strand": "both"},
    "B=-1": {"strand": "minus"},
    "C=0": {"nochain": True, "gapped": True},
    "C=1": {"chain": "0,0", "nogapped": True},
    "C=2": {"chain": "0,0", "gapped": True},
    "C=3": {"nochain": True, "nogapped": True},
    "P=0": {"noentropy": True},
    "P=1": {"entropy": True},
    "P=2": {"entropy": True},
    "T=0": {"notransition": True},
    **{f"T={digit}": {"seed": seed, "transition": str(transitions)} for digit, (seed, transitions) in SEED_NUMBERS.items()},
    "--transitions=2": {"transition": "2"},
    "--entropy=report": {"entropy": True},
    **dict.fromkeys(("--justhits", "--hitsonly"), {"nogfextend": True, "nogapped": True}),
    **dict.fromkeys(("c=0", "--norecoverseeds", "--norecoverhits", "--notwins", "--nocensus"), {}),
    **{f"--yasra{name}": _yasra(name) for name in _YASRA},
    **{f"--preset={name}": options(name) for name in PRESETS},
    **dict.fromkeys(("--nolaj", "--noruntime", "--nostats"), {}),
}
"""Shortcuts with their values, and options that stand for others; none where they ask for what is done anyway."""


def spell_out(arguments: Sequence[str], table: Sequence[Option] = OPTIONS) -> list[str]:
    """Spell out BLASTZ's shortcuts (K=2400 T=2) and LASTZ's options whose value may be left out as options that the parser knows.

    To be called on what follows `genome` or `genomes`, before the parser. Shortcuts for what is not supported become the long option, which is refused.
    """
    arguments = _joined([word for argument in arguments for word in _included(argument)])
    older = {f"--{name}": f"--{option.name}" for option in table for name in option.older} | {"--out": "--output"}
    return [spelled for argument in arguments for spelled in _spelled(argument, older, _alone(table), _short(table))]


def _joined(arguments: Sequence[str]) -> list[str]:
    """Join a preset and its name into one argument: it stands for others before the parser sees it."""
    joined: list[str] = []
    for argument in arguments:
        if joined and joined[-1] == "--preset" and argument in PRESETS:
            joined[-1] = f"--preset={argument}"
        else:
            joined.append(argument)
    return joined


def _included(argument: str) -> list[str]:
    """Put the words of a file of options in place of the option that names it; that itself, which is refused, where there is no such file."""
    name, _, path = argument.partition("=")
    if name == "--include" and path:
        with suppress(OSError, UnicodeDecodeError):
            return Path(path).read_text().split()
    return [argument]


def _alone(table: Sequence[Option]) -> dict[str, str]:
    """List options without their value, which argparse would look for one after, and those that stand for one with a value."""
    words = {f"--{word}": f"--{option.name}={value}" for option in table for word, value in option.words.items()}
    return words | {f"--{option.name}": f"--{option.name}={option.alone}" for option in table if option.alone is not None}


def _short(table: Sequence[Option]) -> dict[str, str]:
    return {option.short: f"--{option.name}" for option in table if option.short is not None}


def _spelled(argument: str, older: Mapping[str, str], alone: Mapping[str, str], short: Mapping[str, str]) -> list[str]:
    key, equals, value = argument.partition("=")
    if key in older:
        key = older[key]
        argument = key + equals + value
    if argument in alone:
        return [alone[argument]]
    if key in UNHEEDED or (key == _VERBOSITY and equals):
        return []
    if argument in WHOLE:
        return [f"--{name}" if value is True else f"--{name}={value}" for name, value in WHOLE[argument].items()]
    if argument.startswith("--") and argument[2:].lower() in _FLAGS:
        return [f"--format={argument[2:].lower()}"]
    if not equals:
        return [argument]
    if mismatches := re.fullmatch(r"--([0-9]+)mismatch", key):
        return [f"--mismatch={mismatches[1]},{value}"]
    if key in short:
        return [f"{short[key]}={value}"]
    if key in _VALUES:
        return [_VALUES[key].format(value)]
    if key == "--output":
        return ["-o", value]
    if key == "--help":
        return [key]
    if key == "--format":
        return [f"--format={_lower_case(value)}"]
    return [argument]


def _lower_case(format: str) -> str:
    """Put a value of --format into small letters, as LASTZ takes it in large ones, too (MAF, PAF:WFMASH, GEN:score); names of fields are left as they are."""
    kind, colon, rest = format.partition(":")
    kind = kind.lower()
    return {"gen": "general", "gen-": "general-"}.get(kind, kind) + colon + (rest.lower() if kind == "paf" else rest)
