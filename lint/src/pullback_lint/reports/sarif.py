"""SARIF 2.1.0, for code scanning services."""

from __future__ import annotations

import json

from pullback_lint import __version__
from pullback_lint.catalogue import Fault, fault
from pullback_lint.finding import Finding
from pullback_lint.report import Report

_LEVELS = {"error": "error", "warning": "warning", "note": "note"}
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render(report: Report) -> str:
    """The report as SARIF text."""
    codes = sorted({finding.code for finding in report.findings})
    driver = {
        "name": "pullback-lint",
        "version": __version__,
        "rules": [_rule(fault(code)) for code in codes],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": not report.errors,
                "toolExecutionNotifications": [{"level": "error", "message": {"text": item}} for item in report.errors],
            }
        ],
        "results": [_result(finding, codes.index(finding.code)) for finding in report.findings],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1, ensure_ascii=False) + "\n"


def _rule(record: Fault) -> dict[str, object]:
    return {
        "id": record.code,
        "name": record.name,
        "shortDescription": {"text": record.summary},
        "help": {"text": record.page, "markdown": record.page},
        "defaultConfiguration": {"level": _LEVELS[record.severity]},
    }


def _result(finding: Finding, index: int) -> dict[str, object]:
    region = {
        "startLine": finding.line,
        "startColumn": finding.column,
        "endLine": finding.end_line,
        "endColumn": finding.end_column,
    }
    text = f"{finding.message}. {finding.fix}" if finding.fix else finding.message
    return {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": text},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": finding.path}, "region": region}}],
        "partialFingerprints": {"pullback/v1": finding.key},
    }
