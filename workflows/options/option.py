"""An option of a genome run, declared once: the command line's parser and the keywords of `align_genomes` are made from it."""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from tidalign.workflows.options.values import Reader

Given = Mapping[str, Any]
"""Options as they were given: keywords of `genome_parameters` and their values, `scores` and `segments` as paths, `filters` by their names."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option that may change alignments.

    name: as LASTZ spells it, without its hyphens. group: its title in --help; help: None leaves it out there. metavar: its value in --help.
    sets: the keyword of `genome_parameters` that it sets, if that is not its name.
    read: gives the value of a text or of what Python has; raises ValueError. choices: in place of it, the texts to choose from. With neither it is a flag.
    on: what a flag sets; off: what it sets where Python says False, None for nothing.
    alone: the text of its value where none is given. many: Python may give a list of values.
    also: other spellings that --help shows; older: those that it does not; short: BLASTZ's letter.
    words: options of their own that stand for it with a value, and that value's text.
    put: what is given with a value after what was given before, where it is more than setting a keyword.
    check: where it is given, raises ValueError if it excludes or needs others.
    """

    name: str
    group: str
    help: str | None = None
    _: KW_ONLY
    metavar: str | None = None
    sets: str | None = None
    read: Reader | None = None
    choices: tuple[str, ...] = ()
    on: Any = True
    off: bool | None = None
    alone: str | None = None
    many: bool = False
    also: tuple[str, ...] = ()
    older: tuple[str, ...] = ()
    short: str | None = None
    words: Mapping[str, str] = field(default_factory=dict)
    put: Callable[[Given, Any], Given] | None = None
    check: Callable[[Given], None] | None = None

    @property
    def keyword(self) -> str:
        return self.sets or self.name

    @property
    def flag(self) -> bool:
        return self.read is None and not self.choices

    def after(self, given: Given, value: Any) -> Given:
        """Put this option's value to what was given before."""
        return self.put(given, value) if self.put else {**given, self.keyword: value}
