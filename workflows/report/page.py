"""Write report.html of a finished run: one file that needs no network and has no script."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from tidalign.workflows.report import charts
from tidalign.workflows.report.history import History
from tidalign.workflows.report.rows import MEASURES, RowSample

FAULTS = 50
"""Most faults, and most things given up, that are listed."""

REASONS = 12
"""Most reasons that are listed."""

MEANINGS = {
    "exact": "the best alignment there is",
    "heuristic": "found by a heuristic: a better one may exist",
    "capped": "cut short by a limit; the reason says which",
    "rejected": "could not be aligned; the reason says why",
}

_STYLE = """
body{font:15px/1.5 Helvetica,Arial,sans-serif;color:#1b1f24;background:#f4f5f7;margin:0}
main{max-width:980px;margin:0 auto;padding:24px 20px 60px}
h1{font-size:24px;margin:0 0 2px;overflow-wrap:anywhere}h2{font-size:18px;margin:0 0 10px}h3{font-size:14px;margin:10px 0 2px}
section{background:#fff;border:1px solid #dfe3e8;border-radius:8px;padding:18px 20px;margin:16px 0}
.badge{font-size:13px;border-radius:10px;padding:2px 10px;vertical-align:3px;color:#fff;background:#00795a}.badge.partial{background:#b35000}
.quiet{color:#5b6673;font-size:13px;margin:4px 0}
.figures{display:flex;flex-wrap:wrap;gap:10px;margin:14px 0 0;padding:0}
.figures div{flex:1 1 130px;background:#fff;border:1px solid #dfe3e8;border-radius:8px;padding:10px 14px}
.figures b{display:block;font-size:21px;font-weight:600;white-space:nowrap}.figures div>span{font-size:13px;color:#5b6673}
table{border-collapse:collapse;width:100%;font-size:14px}th,td{text-align:left;padding:5px 10px 5px 0;border-bottom:1px solid #eceff2;vertical-align:top}
th{color:#5b6673;font-weight:500}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}td{overflow-wrap:anywhere}
.facts td:first-child{white-space:nowrap;color:#5b6673;padding-right:18px}.facts td:last-child{width:100%}
.bar{background:#eceff2;border-radius:3px;min-width:90px}.bar i{display:block;height:10px;border-radius:3px;background:#0072b2}
.two{display:grid;grid-template-columns:repeat(auto-fit,minmax(400px,1fr));gap:6px 24px}figure{margin:0}figcaption{font-size:14px;font-weight:600}
svg{max-width:100%;height:auto;display:block}svg text{font:11px Helvetica,Arial,sans-serif;fill:#333}svg.dots{width:760px;margin:0 auto}
.grid{stroke:#e6e9ed}.axis{stroke:#555}.call{stroke:#888;stroke-dasharray:3 3}.fault{stroke:#b00020;stroke-width:1.5}
.legend span{display:inline-block;font-size:13px;margin-right:16px}.legend i{display:inline-block;width:12px;height:12px;margin-right:5px;vertical-align:-1px}
code{font:13px Menlo,Consolas,monospace;overflow-wrap:anywhere}pre{white-space:pre-wrap;margin:0}details summary{cursor:pointer;color:#0b5cad}
@media print{body{background:#fff}section{break-inside:avoid}}
"""


@dataclass(frozen=True)
class PageContent:
    """Holds what a page is made of. marker: SUCCESS or PARTIAL. dots: (name of a pair of genomes, its dot plot as SVG). left_out: pairs without one."""

    name: str
    kind: str
    marker: str
    plan: Mapping[str, Any]
    report: Mapping[str, Any]
    history: History
    rows: RowSample
    ended: float
    dots: list[tuple[str, str]]
    left_out: int = 0


def page(shown: PageContent) -> str:
    """Write the whole page."""
    sections = [_statuses(shown), _alignments(shown), _dots(shown), _times(shown), _workers(shown), _faults(shown), _run(shown)]
    partial = ' class="badge partial"' if shown.marker == "PARTIAL" else ' class="badge"'
    words = "finished in part" if shown.marker == "PARTIAL" else "finished"
    when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(shown.ended))
    kind = f"tidalign {escape(shown.kind)}"
    head = f'<header><h1>{escape(shown.name)} <span{partial}>{words}</span></h1><p class="quiet">{kind}, {when}</p>{_figures(shown)}</header>'
    title = f"<title>{escape(shown.name)}: {kind}</title>"
    start = (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">{title}<style>{_STYLE}</style></head>'
    )
    return f"{start}\n<body><main>\n{head}\n" + "\n".join(filter(None, sections)) + "\n</main></body></html>\n"


def _section(title: str, *inside: str) -> str:
    return f"<section><h2>{title}</h2>{''.join(inside)}</section>" if any(inside) else ""


def _facts(rows: Iterable[tuple[str, str]]) -> str:
    """Write a table of names and what they stand for."""
    body = "".join(f"<tr><td>{name}</td><td>{value}</td></tr>" for name, value in rows)
    return f'<table class="facts">{body}</table>' if body else ""


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Write a table; cells are HTML, and those that begin with `#` numbers."""

    def cell(text: str, tag: str) -> str:
        return f'<{tag} class="n">{text[1:]}</{tag}>' if text.startswith("#") else f"<{tag}>{text}</{tag}>"

    body = "".join(f"<tr>{''.join(cell(text, 'td') for text in row)}</tr>" for row in rows)
    return f"<table><tr>{''.join(cell(text, 'th') for text in head)}</tr>{body}</table>" if body else ""


def _value(key: str, value: Any, *, short: bool = False) -> str:
    """Write a value of report.json, under its name there. short: a large number in a few digits, all of them when it is pointed at."""
    text = f"{value:,}" if isinstance(value, int | float) else str(value)
    whole = ""
    if short and len(text) > 13:
        whole, text = f' title="{text}"', charts.number(value)
    return f'<span data-key="{escape(key)}"{whole}>{escape(text)}</span>'


def _figures(shown: PageContent) -> str:
    report = shown.report
    seconds = report.get("seconds") or 0.0
    known = {
        "pairs": [("pairs", "pairs"), ("bases", "letters, both sides"), ("pairs_per_second", "pairs/s in the last call")],
        "genome": [("rows", "alignments"), ("pairs", "pairs of genomes"), ("target_bases", "letters of targets"), ("query_bases", "letters of queries")],
        "search": [("queries", "queries"), ("without_hits", "of them without a hit"), ("sequences", "sequences in the database"), ("cells", "cells")],
    }[shown.kind]
    figures = [f"<div><b>{_value(key, report[key], short=True)}</b><span>{words}</span></div>" for key, words in known if key in report]
    total = report.get("total_seconds", seconds)
    calls = f" in {report['calls']:,} calls" if report.get("calls", 1) > 1 else ""
    figures.append(f"<div><b>{_value('total_seconds', total)}</b><span>seconds{calls}</span></div>")
    return f'<div class="figures">{"".join(figures)}</div>'


def _statuses(shown: PageContent) -> str:
    statuses = shown.report["statuses"]
    total = sum(statuses.values())
    rows = []
    for status, count in statuses.items():
        share = count / total if total else 0.0
        bar = f'<div class="bar"><i style="width:{100 * share:.2f}%"></i></div>'
        rows.append((escape(status), f"#{_value(f'statuses.{status}', count)}", f"#{_share(share)}", bar, MEANINGS.get(status, "")))
    table = _table(("status", "#rows", "#share", "", ""), rows) or '<p class="quiet">no rows</p>'
    found = [(escape(status), f"#{count:,}", escape(str(reason))) for (status, reason), count in shown.rows.reasons.most_common(REASONS)]
    reasons = _table(("status", "#rows", "reason"), found)
    more = len(shown.rows.reasons) - REASONS
    note = f'<p class="quiet">{more:,} other reasons</p>' if more > 0 else ""
    return _section("Statuses", table, f"<h3>Reasons</h3>{reasons}{note}" if reasons else "")


def _share(share: float) -> str:
    """Write a share of a whole, never as none or all of it where it is not."""
    text = f"{share:.2%}"
    return "&lt;0.01%" if text == "0.00%" and share else "&gt;99.99%" if text == "100.00%" and share < 1 else text


def _alignments(shown: PageContent) -> str:
    rows = shown.rows
    drawn = [("identity", charts.histogram(rows.identity, "identity", "% identity"))]
    for name, values in rows.measures.items():
        title, unit = MEASURES[shown.kind][name]
        drawn.append((title, charts.histogram(values, title, unit or title, charts.COLORS[2])))
    figures = "".join(f"<figure><figcaption>{escape(title)}</figcaption>{chart}</figure>" for title, chart in drawn if chart)
    if not figures:
        return ""
    of = f"all {rows.all:,} rows" if rows.seen >= rows.all else f"{rows.seen:,} of {rows.all:,} rows, from parts that lie evenly among all"
    words = "identity: matches by columns of the alignment, gaps too"
    return _section("Alignments", f'<div class="two">{figures}</div><p class="quiet">Of {of}; {words}.</p>')


def _dots(shown: PageContent) -> str:
    drawn = [(f"<h3>{escape(name)}</h3>" if len(shown.dots) + shown.left_out > 1 else "") + svg for name, svg in shown.dots]
    left = f'<p class="quiet">{shown.left_out:,} other pairs of genomes: <code>tidalign plot RUN --pair NAME</code></p>' if shown.left_out else ""
    return _section("Dot plot", *drawn, left)


def _times(shown: PageContent) -> str:
    report, history = shown.report, shown.history
    stages, predicted = report.get("stages") or {}, report.get("predicted") or {}
    drawn = charts.bars([(name, seconds, predicted.get(name)) for name, seconds in stages.items()], "s")
    said = ""
    if predicted:
        taken = sum(stages.get(name, 0.0) for name in predicted)
        said = f"Predicted {sum(predicted.values()):.1f} s, taken {taken:.1f} s: {_value('predicted_to_taken', report.get('predicted_to_taken'))} times."
    else:
        said = "Nothing was predicted: the work was too little, or its input could not be sampled."
    if shown.kind == "pairs" and stages:
        said += " Pairs are aligned while others are read: <code>read</code> is both."
    parts = ["<h3>Stages of the last call</h3>" if stages else "", drawn if stages else "", f'<p class="quiet">{said}</p>']
    marks = [*((when, "call") for when in history.calls[1:]), *history.marks]
    words = {"pairs": "pairs/s", "search": "cells/s" if history.exact else "queries/s, against a slice each"}
    for title, unit, name in (("Throughput", words.get(shown.kind, ""), "amounts"), ("Tasks at a time", "tasks", "seconds")):
        values = {kind: [value / history.step for value in getattr(one, name)[: history.steps]] for kind, one in history.series.items()}
        if unit and any(map(any, values.values())):
            parts.append(f"<h3>{title} ({unit})</h3>{charts.areas(values, history.step, title, 'seconds of running', marks)}")
    if any(word != "call" for _, word in marks):
        parts.append('<p class="quiet">Red lines: a worker died, or a task was lost or failed. Dashed: another call of the command.</p>')
    return _section("Time", *parts)


def _workers(shown: PageContent) -> str:
    report = shown.report
    rows = [("device", _value("device", report["device"]) + (f" ({escape(report['device_why'])})" if report.get("device_why") else ""))]
    rows.append(("workers", _value("workers", report["workers"]) + ("" if report["workers"] else ": this process did the work")))
    rows += [(f"on {escape(host)}", f"{count:,}") for host, count in (report.get("hosts") or {}).items()]
    rows += [(escape(gpu), f"busy {each['busy']:,.1f} s, {each['share']:.0%} of the time") for gpu, each in (report.get("gpus") or {}).items()]
    work = [(escape(name), f"{value:,.6g}" if isinstance(value, float) else f"{value:,}") for name, value in (report.get("work") or {}).items()]
    return _section("Devices and workers", _facts(rows), f"<h3>Work of the last call</h3>{_facts(work)}" if work else "")


def _faults(shown: PageContent) -> str:
    report = shown.report
    counts = _facts([("workers that died", _value("deaths", report["deaths"])), ("tasks started again", _value("retries", report["retries"]))])
    faults = [
        (escape(str(fault.get("task", ""))), escape(str(fault.get("host", ""))), escape(str(fault.get("gpu", ""))), escape(str(fault.get("why", ""))))
        for fault in (report.get("faults") or ())[:FAULTS]
    ]
    cut = [
        (escape(str(each.get("query_name", ""))), escape(str(each.get("status", ""))), escape(str(each.get("reason", ""))))
        for each in (report.get("shortfalls") or ())
    ]
    lists = f"<h3>Tasks lost or failed</h3>{_table(('task', 'host', 'GPU', 'why'), faults)}" if faults else ""
    if (more := len(report.get("faults") or ()) - FAULTS) > 0:
        lists += f'<p class="quiet">{more:,} more in report.json</p>'
    lists += f"<h3>Given up or cut short</h3>{_table(('query', 'status', 'reason'), cut[:FAULTS])}" if cut else ""
    if len(cut) > FAULTS:
        lists += f'<p class="quiet">{len(cut) - FAULTS:,} more in report.json</p>'
    return _section("Retries and faults", counts, lists)


def _run(shown: PageContent) -> str:
    report, plan = shown.report, shown.plan
    rows = [("command", f"<code>{escape(' '.join(map(str, report.get('command') or ())))}</code>")]
    rows += [("run", f"<code>{_value('run', report['run'])}</code>")]
    rows += [(escape(name), escape(version)) for name, version in (report.get("versions") or {}).items()]
    told = [(escape(str(name)), f"<code>{escape(_brief(value))}</code>") for name, value in plan["parameters"].items()]
    source = [(escape(str(name)), f"<code>{escape(_brief(value))}</code>") for name, value in plan["source"].items()]
    details = f"<details><summary>Parameters</summary>{_facts(told)}</details><details><summary>Input</summary>{_facts(source)}</details>"
    return _section("What was run", _facts(rows), details)


def _brief(value: Any, most: int = 600) -> str:
    text = str(value)
    return text if len(text) <= most else f"{text[:most]} ... ({len(text):,} letters in all)"
