"""Reports for people and for machines: text, JSON, SARIF, JUnit, HTML, GitHub annotations."""

from __future__ import annotations

import html as escape
import json
import textwrap
from collections.abc import Callable
from typing import Any
from xml.sax.saxutils import escape as xml
from xml.sax.saxutils import quoteattr

from pullback.check import faults
from pullback.check.report import Finding, Report, TargetReport
from pullback_lint.catalogue import SEVERITIES


def text(report: Report) -> str:
    """What a person reads in a terminal."""
    parts = [_target(target) for target in report.targets]
    return "\n".join([*parts, summary(report)])


def summary(report: Report) -> str:
    """The last line: how many targets came out how."""
    counts = report.to_dict()["summary"]
    words = [f"{counts[key]} {key}" for key in ("ok", "fault", "unchecked") if counts[key]]
    noun = "target" if counts["targets"] == 1 else "targets"
    return f"{counts['targets']} {noun}: {', '.join(words) or 'nothing checked'}"


def _target(target: TargetReport) -> str:
    place = f"{target.file}:{target.line}: " if target.file else ""
    against = f", {target.verdict} against {target.reference}" if target.reference and target.verdict else ""
    head = f"{place}{target.name}: {target.status} (inputs {target.inputs}{against})"
    lines = [head, *[f"  {note}" for note in target.notes], *_partly(target), *_stacks(target)]
    if target.unchecked:
        lines.append(f"  unchecked: {target.unchecked}")
    lines += [_finding(finding) for finding in sorted(target.findings, key=lambda f: SEVERITIES.index(f.severity))]
    return "\n".join(lines)


def _partly(target: TargetReport) -> list[str]:
    """What was compared less than entry by entry."""
    return [f"  {name}: compared by {how}" for name, how in target.coverage.items() if not how.startswith("every")]


def _stacks(target: TargetReport) -> list[str]:
    """What the ways of running do with the rule: those that do the same together."""
    groups: dict[str, list[str]] = {}
    for name, verdict in target.stacks.items():
        groups.setdefault(verdict, []).append(name)
    right = groups.pop("right", [])
    fine = all(verdict.startswith(("not run", "nobody can")) for verdict in groups)
    head = [f"  stacks: {'all right' if fine else 'right'} ({len(right)})"] if target.stacks else []
    lines = [f"  stacks: {verdict}: {'; '.join(names)}" for verdict, names in groups.items()]
    return [textwrap.fill(line, 118, subsequent_indent="    ") for line in head + lines]


def _finding(finding: Finding) -> str:
    line = f" (line {finding.line})" if finding.line else ""
    parts = [f"  {finding.severity} {finding.code} {finding.name}: {finding.message}{line}"]
    labelled = (("why", finding.cause), ("fix", finding.fix), ("right", finding.formula))
    parts += [f"    {label}: {value}" for label, value in labelled if value]
    filled = [textwrap.fill(part, 118, subsequent_indent="         ") for part in parts]
    return "\n".join([*filled, *_verbatim(finding)])


def _verbatim(finding: Finding) -> list[str]:
    """A patch and a script, as they are to be pasted."""
    named = [("patch", finding.evidence.get("patch")), ("to reproduce", finding.evidence.get("script"))]
    return [f"    {label}:\n{textwrap.indent(text, '      ')}" for label, text in named if text]


def as_json(report: Report) -> str:
    """The stable JSON form."""
    return json.dumps(report.to_dict(), indent=1, default=str)


LEVELS = {"error": "error", "warning": "warning", "note": "note"}


def sarif(report: Report) -> str:
    """SARIF 2.1.0, for code scanning."""
    used = sorted({finding.name for finding in report.findings}, key=faults.code)
    tool = report.to_dict()["tool"]
    run = {
        "tool": {"driver": {"name": "pullback", "version": tool["version"], "rules": [_rule(name) for name in used]}},
        "results": [_result(target, finding) for target in report.targets for finding in target.findings],
    }
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}, indent=1)


def _rule(name: str) -> dict[str, Any]:
    return {
        "id": faults.code(name),
        "name": name,
        "shortDescription": {"text": faults.summary(name)},
        "defaultConfiguration": {"level": LEVELS[faults.severity(name)]},
    }


def _result(target: TargetReport, finding: Finding) -> dict[str, Any]:
    words = [f"{target.name}: {finding.message}", finding.cause, finding.fix and f"Fix: {finding.fix}"]
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": LEVELS[finding.severity],
        "message": {"text": ". ".join(word for word in words if word)},
    }
    if target.file:
        region = {"startLine": finding.line or target.line or 1}
        result["locations"] = [{"physicalLocation": {"artifactLocation": {"uri": target.file}, "region": region}}]
    return result


def junit(report: Report) -> str:
    """JUnit XML: one test case per target."""
    counts = report.to_dict()["summary"]
    head = f'tests="{counts["targets"]}" failures="{counts["fault"]}" skipped="{counts["unchecked"]}"'
    cases = "".join(_case(target) for target in report.targets)
    return f'<?xml version="1.0" encoding="utf-8"?>\n<testsuite name="pullback" {head}>\n{cases}</testsuite>'


def _case(target: TargetReport) -> str:
    head = f'classname={quoteattr(target.file or "")} name={quoteattr(target.name)} time="{target.seconds:.3f}"'
    body = "".join(f"{f.code} {f.name}: {f.message}\n" for f in target.findings if f.severity == "error")
    if target.status == "fault":
        return f'  <testcase {head}><failure message="fault">{xml(body)}</failure></testcase>\n'
    if target.status == "unchecked":
        return f"  <testcase {head}><skipped message={quoteattr(target.unchecked or '')}/></testcase>\n"
    return f"  <testcase {head}/>\n"


COLOURS = {"error": "#b00020", "warning": "#8a5a00", "note": "#555"}


def html_fragment(report: Report) -> str:
    """A table for notebooks and pages."""
    rows = "".join(_row(target, finding) for target in report.targets for finding in target.findings)
    heads = "".join(f"<li><b>{escape.escape(t.name)}</b>: {t.status}{_why(t)}</li>" for t in report.targets)
    table = f"<table><tr><th>fault</th><th>what</th><th>why</th><th>fix</th></tr>{rows}</table>" if rows else ""
    return f"<div><ul>{heads}</ul>{table}<p>{escape.escape(summary(report))}</p></div>"


def _why(target: TargetReport) -> str:
    return f" ({escape.escape(target.unchecked)})" if target.unchecked else ""


def _row(target: TargetReport, finding: Finding) -> str:
    colour = COLOURS[finding.severity]
    cells = [f"{finding.code} {finding.name}", f"{target.name}: {finding.message}", finding.cause, finding.fix]
    body = "".join(f"<td>{escape.escape(cell)}</td>" for cell in cells)
    return f'<tr style="color:{colour};text-align:left">{body}</tr>'


def html(report: Report) -> str:
    """A page."""
    return f"<!doctype html><meta charset='utf-8'><title>pullback check</title>{html_fragment(report)}"


COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def github(report: Report) -> str:
    """Annotations of GitHub Actions."""
    lines = []
    for target in report.targets:
        for finding in target.findings:
            place = f"file={target.file},line={finding.line or target.line or 1}," if target.file else ""
            message = f"{target.name}: {finding.message}".replace("%", "%25").replace("\n", "%0A")
            lines.append(f"::{COMMANDS[finding.severity]} {place}title={finding.code} {finding.name}::{message}")
    return "\n".join([*lines, summary(report)])


FORMATS: dict[str, Callable[[Report], str]] = {
    "text": text, "json": as_json, "sarif": sarif, "junit": junit, "html": html, "github": github,
}  # fmt: skip
