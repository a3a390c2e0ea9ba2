"""Write the manual page, tidalign(1), made of the parser: `tidalign man | man -l -`."""

import argparse
from collections.abc import Iterator
from importlib.metadata import version

from tidalign.workflows.answer import answer
from tidalign.workflows.options import texts
from tidalign.workflows.options.arguments import commands, parser
from tidalign.workflows.status import Exit


def command(args: argparse.Namespace) -> Exit:
    """Run `tidalign man`: print it."""
    answer(page(), end="")
    return Exit.COMPLETE


def page() -> str:
    """Make the page, in the macros of man(7)."""
    lines = [f'.TH TIDALIGN 1 "" "tidalign {version("tidalign")}"', ".SH NAME", "tidalign \\- align DNA by the batch, exactly, on cores, GPUs and clusters"]
    lines += [
        ".SH SYNOPSIS",
        ".B tidalign",
        "[options of place]",
        ".I COMMAND",
        "[arguments]",
        ".SH DESCRIPTION",
        ".nf",
        *map(_text, texts.SHORT.splitlines()),
        ".fi",
    ]
    lines += [".SH OPTIONS BEFORE THE COMMAND", *_options(parser())]
    lines.append(".SH COMMANDS")
    for name, each in commands().items():
        lines += [f".SS tidalign {name}", _text(each.description or ""), *_options(each)]
        if each.epilog:
            lines += [".PP", ".nf", *map(_text, each.epilog.strip("\n").splitlines()), ".fi"]
    lines += [".SH EXIT STATUS", *map(_text, texts.EXITS.removeprefix("exit status: ").splitlines())]
    return "\n".join(lines) + "\n"


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    formatter = parser._get_formatter()
    for action in parser._actions:
        if action.help == argparse.SUPPRESS or isinstance(action, argparse._SubParsersAction):
            continue
        value = formatter._format_args(action, formatter._get_default_metavar_for_optional(action)) if action.nargs != 0 else ""
        if action.option_strings:
            spelled = ", ".join(f"\\fB{_text(each)}\\fR" for each in action.option_strings) + (f" \\fI{_text(value)}\\fR" if value else "")
        else:
            spelled = f"\\fI{_text(formatter._format_args(action, formatter._get_default_metavar_for_positional(action)))}\\fR"
        yield from (".TP", spelled, _text(formatter._expand_help(action) if action.help else ""))


def _text(text: str) -> str:
    """Escape what roff would read as its own."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text.startswith((".", "'")) else text
