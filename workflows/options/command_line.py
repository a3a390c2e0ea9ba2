"""The table of options as arguments of a parser, which collects what is given in `options` of its namespace."""

import argparse
from collections.abc import Sequence
from typing import Any

from tidalign.workflows.options.common import typed
from tidalign.workflows.options.lastz import OPTIONS, REFUSED, refusal
from tidalign.workflows.options.option import Option


class _Put(argparse.Action):
    """Puts the value of an option to those given before it."""

    def __init__(self, option_strings: Sequence[str], dest: str, option: Option, **others: Any) -> None:
        super().__init__(option_strings, dest, **others)
        self.option = option

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, value: Any, *_: Any) -> None:
        namespace.options = self.option.after(namespace.options, self.option.on if self.option.flag else value)


class _Refuse(argparse.Action):
    """An option that LASTZ has and this program has not."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        parser.error(refusal(self.option_strings[0]))


def add_options(parser: argparse.ArgumentParser, table: Sequence[Option] = OPTIONS) -> dict[str, Any]:
    """Add LASTZ's options to a command's parser; gives the groups of --help by their titles."""
    parser.set_defaults(options={})
    groups: dict[str, Any] = {}
    for option in table:
        if option.group not in groups:
            groups[option.group] = parser.add_argument_group(option.group)
        names = [f"--{name}" for name in (option.name, *option.also)]
        groups[option.group].add_argument(*names, dest="options", action=_Put, option=option, **_takes(option))
    for name in REFUSED:
        parser.add_argument(name, action=_Refuse, nargs="?", help=argparse.SUPPRESS)
    return groups


def _takes(option: Option) -> dict[str, Any]:
    shown = {"help": argparse.SUPPRESS if option.help is None else option.help}
    if option.flag:
        return {**shown, "nargs": 0}
    return {**shown, "metavar": option.metavar, "type": typed(option.read) if option.read else None, "choices": option.choices or None}
