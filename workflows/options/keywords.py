"""LASTZ's options as keywords of Python: align_genomes(..., step=20, notransition=True, gap=(400, 30))."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tidalign.workflows.options.lastz import OPTIONS, REFUSED, UNHEEDED, refusal
from tidalign.workflows.options.option import Given, Option
from tidalign.workflows.options.spelling import WHOLE
from tidalign.workflows.options.values import wrong

_ELSEWHERE = {
    **{f"action_{side}": f"write the action after the file's name: {side}='file[action]'" for side in ("target", "query")},
    "rdotplot": "it is a format of the results: results.export(path, format='rdotplot')",
    "include": "give the options as keywords",
    "format": "give it to the results: results.export(path, format=...)",
    "markend": "give it to the results: results.export(path, markend=True)",
    "output": "the run directory is out=, and results.export(path) writes a file",
}


def read(keywords: Mapping[str, Any], table: Sequence[Option] = OPTIONS, others: Iterable[str] = ()) -> Given:
    """Read the options given as keywords.

    keywords: LASTZ's names, its other long spellings too, with `_` for a hyphen or colon, and their values: Python's (20, (400, 30), a path; True for what
    needs no value) or the text of LASTZ's command line ("2k", "400,30"). None is as if it were not given; of several for one thing the last counts.
    others: keywords of the function that takes these, to suggest for a misspelt one.

    Raises ValueError for a name that is no option's and for a value that is none of it; `given.check` says what does not go together.
    """
    spelled: dict[str, tuple[Option, str | None]] = {_keyword(name): (option, None) for option in table for name in (option.name, *option.also, *option.older)}
    spelled |= {_keyword(word): (option, value) for option in table for word, value in option.words.items()}
    unheeded = {_keyword(name.removeprefix("--")) for name in UNHEEDED}
    given: Given = {}
    for name, value in keywords.items():
        if value is None or _keyword(name) in unheeded:
            continue
        whole = WHOLE.get(f"--{name}" if value is True else f"--{name}={value}")
        if whole is not None:
            given = {**given, **read(whole, table)}
        elif _keyword(name) not in spelled:
            raise ValueError(_unknown(name, [*spelled, *others]))
        else:
            option, text = spelled[_keyword(name)]
            try:
                for one in _values(option, text, value):
                    given = option.after(given, one)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
    return given


def _keyword(name: str) -> str:
    return name.replace("-", "_").replace(":", "_")


def _values(option: Option, text: str | None, value: Any) -> list[Any]:
    """List the values that a keyword puts to what is given, one after the other. text: of the value that its name stands for, which makes it a flag."""
    if option.flag:
        chosen = option.on if _yes(value) else option.off
        return [chosen] if value or chosen is not None else []
    if text is not None or (option.alone is not None and isinstance(value, bool)):
        return [_value(option, option.alone if text is None else text)] if _yes(value) else []
    return [_value(option, one) for one in (value if option.many and isinstance(value, list | tuple) else [value])]


def _yes(value: Any) -> bool:
    if not isinstance(value, bool):
        raise wrong("True or False", value)
    return value


def _value(option: Option, value: Any) -> Any:
    if option.read:
        return option.read(value)
    if value not in option.choices:
        raise wrong(" or ".join(option.choices), value)
    return value


def _unknown(name: str, known: Iterable[str]) -> str:
    """Write the message for a keyword that is no option."""
    spelled = name.replace("_", "-")
    if name in _ELSEWHERE:
        return f"{name}: {_ELSEWHERE[name]}"
    if f"--{spelled}" in REFUSED:
        return refusal(spelled)
    from difflib import get_close_matches

    close = get_close_matches(_keyword(name), known, 1, cutoff=0.7)
    meant = f"did you mean {close[0]}? " if close else ""
    return f"{name}: expected one of LASTZ's options, found a name that is none; {meant}`tidalign genome --help` lists them"
