"""Write what has a shell complete `tidalign`: commands, their options, and values where an option has few. It is made of the parser."""

import argparse
from collections.abc import Iterator, Mapping
from shlex import quote

from tidalign.pipeline.formats import table
from tidalign.workflows.answer import answer
from tidalign.workflows.options.arguments import commands
from tidalign.workflows.options.arguments import parser as whole
from tidalign.workflows.status import Exit

_BASH = """\
# Completion of tidalign for {shell}, made by `tidalign completion {shell}`.
_tidalign() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} command= words= i
    [[ $word == "=" ]] && word=
    [[ $before == "=" ]] && before=${{COMP_WORDS[COMP_CWORD - 2]}}
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${{COMP_WORDS[i]}} in
            estimate) ;; # the command behind it is completed
            {names}) command=${{COMP_WORDS[i]}}; break ;;
        esac
    done
    COMPREPLY=()
    case "$command $before" in
{values}
    esac
    case $command in
        "") COMPREPLY=($(compgen -W {first} -- "$word")) ;;
{options}
    esac
}}
complete -o default -F _tidalign tidalign
"""


def command(args: argparse.Namespace) -> Exit:
    """Run `tidalign completion SHELL`: print it."""
    answer(SHELLS[args.shell](), end="")
    return Exit.COMPLETE


def _bash(shell: str = "bash") -> str:
    made, top = commands(), whole()
    values, options = [], []
    for name, parser in {"": top, **made}.items():
        for action in _options(parser):
            if choices := _choices(name, action):
                words = quote(" ".join(choices))
                case = "|".join(quote(f"{name} {spelled}") for spelled in action.option_strings)
                values.append(f'        {case}) COMPREPLY=($(compgen -W {words} -- "$word")); return ;;')
        if not name:
            continue
        words = quote(" ".join(_long(parser)))
        plain = quote(" ".join(str(choice) for action in parser._actions if not action.option_strings for choice in action.choices or ()))
        options.append(f'        {name}) [[ $word == -* ]] && words={words} || words={plain}; COMPREPLY=($(compgen -W "$words" -- "$word")) ;;')
    first = quote(" ".join([*made, *_long(top)]))
    return _BASH.format(shell=shell, names="|".join(made), values="\n".join(values), options="\n".join(options), first=first)


def _zsh() -> str:
    return "#compdef tidalign\nautoload -U +X bashcompinit && bashcompinit\n" + _bash("zsh")


def _fish() -> str:
    made = commands()
    lines = [
        "# Completion of tidalign for fish, made by `tidalign completion fish`.",
        "complete -c tidalign -n __fish_use_subcommand -f -l help",
        *_words(made),
    ]
    for name, parser in made.items():
        for action in _options(parser):
            spelled = [f"-l {each[2:]}" if each.startswith("--") else f"-s {each[1:]}" for each in action.option_strings]
            choices = _choices(name, action)
            takes = f" -x -a {quote(' '.join(choices))}" if choices else " -r" if action.nargs != 0 else ""
            lines.append(f"complete -c tidalign -n {quote(f'__fish_seen_subcommand_from {name}')} {' '.join(spelled)}{takes}{_said(action.help)}")
    return "\n".join(lines) + "\n"


def _words(made: Mapping[str, argparse.ArgumentParser]) -> Iterator[str]:
    for name, parser in made.items():
        yield f"complete -c tidalign -n __fish_use_subcommand -f -a {name}{_said(parser.description)}"


def _said(text: str | None) -> str:
    return f" -d {quote(text)}" if text and text != argparse.SUPPRESS else ""


_KINDS = {"pairs": table.PAIRS, "genome": table.GENOME, "genomes": table.GENOME, "search": table.SEARCH}


def _choices(command: str, action: argparse.Action) -> list[str]:
    """List the values of an option, where they are few words: those that it names, or the formats of what the command makes."""
    if "--format" in action.option_strings and command in _KINDS:
        return table.names(_KINDS[command])
    return [*map(str, action.choices or ())]


def _options(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [action for action in parser._actions if action.option_strings and action.help != argparse.SUPPRESS]


def _long(parser: argparse.ArgumentParser) -> list[str]:
    return [spelled for action in _options(parser) for spelled in action.option_strings if spelled.startswith("--")]


SHELLS = {"bash": _bash, "fish": _fish, "zsh": _zsh}
