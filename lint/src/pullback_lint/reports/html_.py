"""One HTML page without scripts or links to elsewhere."""

from __future__ import annotations

from html import escape

from pullback_lint.catalogue import fault
from pullback_lint.finding import Finding
from pullback_lint.report import Report

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; color: #222; }
pre { background: #f6f6f6; padding: .6em 1em; overflow-x: auto; }
article { border-left: 4px solid #999; padding-left: 1em; margin: 1.5em 0; }
article.error { border-color: #c22; } article.warning { border-color: #d90; }
mark { background: #fd8; } small { color: #666; }
"""


def render(report: Report) -> str:
    """The report as an HTML page."""
    counts = ", ".join(f"{report.counts[item]} {item}s" for item in ("error", "warning", "note"))
    body = [f"<h1>pullback-lint</h1><p>{counts}</p>", *map(_article, report.findings)]
    body += [f"<p><b>{escape(error)}</b></p>" for error in report.errors]
    head = f'<meta charset="utf-8"><title>pullback-lint</title><style>{_STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n' + "\n".join(body) + "\n</body></html>\n"


def _article(finding: Finding) -> str:
    start, end = finding.column - 1, finding.end_column - 1 if finding.end_line == finding.line else None
    line = finding.source
    stop = len(line) if end is None else end
    code = f"{escape(line[:start])}<mark>{escape(line[start:stop])}</mark>{escape(line[stop:])}"
    cell = f", cell {finding.cell}" if finding.cell else ""
    return (
        f'<article class="{finding.severity}"><h2>{finding.code} {escape(finding.name)}</h2>'
        f"<p>{escape(finding.message)}</p><small>{escape(finding.path)}{cell}, line {finding.line}</small>"
        f"<pre>{code}</pre><p>{escape(finding.fix)}</p>"
        f"<details><summary>{escape(fault(finding.code).summary)}</summary><pre>{escape(fault(finding.code).page)}</pre>"
        "</details></article>"
    )
