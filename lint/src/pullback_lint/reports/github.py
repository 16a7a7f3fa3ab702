"""Workflow commands that annotate a pull request."""

from __future__ import annotations

from pullback_lint.finding import Finding
from pullback_lint.report import Report

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def render(report: Report) -> str:
    """The report as one workflow command per line."""
    lines = [_command(finding) for finding in report.findings]
    lines += [f"::error::{_escape(error)}" for error in report.errors]
    return "".join(f"{line}\n" for line in lines)


def _command(finding: Finding) -> str:
    properties = {
        "file": finding.path,
        "line": finding.line,
        "endLine": finding.end_line,
        "col": finding.column,
        "title": f"{finding.code} {finding.name}",
    }
    joined = ",".join(f"{name}={_escape_property(str(value))}" for name, value in properties.items())
    text = f"{finding.message}; {finding.fix}" if finding.fix else finding.message
    return f"::{_COMMANDS[finding.severity]} {joined}::{_escape(text)}"


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
