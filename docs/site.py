"""Make pages of the site (mkdocs.yml) of the parser, of docstrings and of notebooks; links that leave docs/ become names of files."""

import argparse
import inspect
import json
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

DOCS = Path(__file__).parent
LINK = re.compile(r"\[([^\]]+)\]\(([^)#\s]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made."""
    made = {"reference/commands.md": commands(), "reference/python.md": python()}
    made |= {f"notebooks/{path.stem}.md": notebook(path) for path in sorted((DOCS / "notebooks").glob("*.ipynb"))}
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: MkDocsConfig, files: Files) -> str:
    """Write what a link leads to, where that is a file of the repository outside of docs/."""

    def within(found: re.Match[str]) -> str:
        text, target, _ = found.groups()
        if "://" in target or target.startswith("mailto:"):
            return found[0]
        place = (DOCS / page.file.src_uri).parent.joinpath(target).resolve()
        if place.is_relative_to(DOCS):
            return found[0]
        name = place.relative_to(DOCS.parent)
        return f"`{name}`" if text.strip("`").endswith(place.name) else f"{text} (`{name}`)"

    return LINK.sub(within, markdown)


def commands() -> str:
    """Make the reference of the command line of its parser."""
    from tidalign.workflows.options import texts
    from tidalign.workflows.options.arguments import commands as parsers
    from tidalign.workflows.options.arguments import parser

    lines = ["# Commands", "", "```text", texts.SHORT.rstrip(), "```", "", "## Before the command", "", *_table(parser())]
    for name, each in parsers().items():
        lines += ["", f"## tidalign {name}", "", each.description or "", "", *_table(each)]
        if each.epilog:
            lines += ["", "```text", each.epilog.strip("\n"), "```"]
    return "\n".join([*lines, "", "## Exit status", "", texts.EXITS.removeprefix("exit status: "), ""])


def _table(parser: argparse.ArgumentParser) -> list[str]:
    formatter = parser._get_formatter()
    lines = ["| | |", "| --- | --- |"]
    for action in parser._actions:
        if action.help == argparse.SUPPRESS or isinstance(action, argparse._SubParsersAction):
            continue
        metavar = formatter._get_default_metavar_for_optional if action.option_strings else formatter._get_default_metavar_for_positional
        value = formatter._format_args(action, metavar(action)) if action.nargs != 0 else ""
        said = " ".join([", ".join(action.option_strings), value]).strip()
        help = formatter._expand_help(action) if action.help else ""
        lines.append(f"| `{_cell(said)}` | {_cell(help).replace('<', '&lt;')} |")
    return lines


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def python() -> str:
    """Make the reference of Python of its docstrings."""
    import tidalign
    import tidalign.cigar
    import tidalign.genome

    lines = ["# Python", ""]
    for module in (tidalign, tidalign.cigar, tidalign.genome):
        for name in module.__all__:
            each = getattr(module, name)
            if inspect.isfunction(each) or inspect.isclass(each):
                lines += [f"## {module.__name__}.{name}", "", *_described(each, name)]
                for method, member in inspect.getmembers(each) if inspect.isclass(each) else ():
                    if not method.startswith("_") and inspect.isfunction(member) and member.__module__.startswith("tidalign") and member.__doc__:
                        lines += [f"### {name}.{method}", "", *_described(member, method)]
    return "\n".join(lines) + "\n"


def _described(each: Any, name: str) -> list[str]:
    function = inspect.unwrap(each)
    try:
        signature = re.sub(r"<[^>]*>", "...", str(inspect.signature(function)))
    except ValueError:  # an error's, which nobody makes but we
        signature = ""
    return ["```python", f"{name}{signature}", "```", "", "```text", inspect.getdoc(function) or "", "```", ""]


def notebook(path: Path) -> str:
    """Make a page of a notebook: its text, its code, and what that printed when it was last run."""
    parts = []
    for cell in json.loads(path.read_text())["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {})
            html, text = "".join(data.get("text/html", [])), "".join(output.get("text", data.get("text/plain", [])))
            parts.append(f"<div>{html}</div>" if html else f"```text\n{text.rstrip()}\n```" if text else "")
    return "\n\n".join(parts) + "\n"
