"""JSON: stable and versioned; fields may be added."""

from __future__ import annotations

import json

from pullback_lint import __version__
from pullback_lint.finding import Finding
from pullback_lint.report import FileResult, Report

VERSION = 1


def render(report: Report) -> str:
    """The report as JSON text."""
    return json.dumps(to_dict(report), indent=1, ensure_ascii=False) + "\n"


def to_dict(report: Report) -> dict[str, object]:
    """The report as plain data."""
    targets = [target for file in report.files for target in _targets(file)]
    states = [target["status"] for target in targets]
    return {
        "version": VERSION,
        "tool": {"name": "pullback-lint", "version": __version__, "torch": None},
        "targets": targets,
        "summary": {"targets": len(targets), **{state: states.count(state) for state in ("ok", "fault", "unchecked")}},
    }


def _targets(file: FileResult) -> list[dict[str, object]]:
    found = {
        (target.name, target.line): _target(file, target.name, target.line, target.kind) for target in file.targets
    }
    for finding in file.findings:
        key = (finding.target, finding.target_line)
        if key not in found:
            found[key] = _target(file, finding.target, finding.target_line, finding.kind)
        _add(found[key], finding)
    if file.error:
        broken = _target(file, "", 1, "module")
        found["", 0] = {**broken, "status": "unchecked", "skipped": [{"probe": "lint", "reason": file.error}]}
    return list(found.values())


def _target(file: FileResult, name: str, line: int, kind: str) -> dict[str, object]:
    return {
        "name": name,
        "file": file.path,
        "line": line,
        "kind": kind,
        "status": "ok",
        "inputs": "none",
        "inputs_repr": "",
        "reference": None,
        "verdict": None,
        "findings": [],
        "skipped": [],
        "seconds": 0.0,
    }


def _add(target: dict[str, object], finding: Finding) -> None:
    findings = target["findings"]
    assert isinstance(findings, list)
    findings.append(_finding(finding))
    if finding.severity == "error":
        target["status"] = "fault"


def _finding(finding: Finding) -> dict[str, object]:
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity,
        "probe": "lint",
        "stack": None,
        "argument": finding.argument,
        "line": finding.line,
        "column": finding.column,
        "end_line": finding.end_line,
        "end_column": finding.end_column,
        "cell": finding.cell or None,
        "message": finding.message,
        "cause": None,
        "fix": finding.fix or None,
        "formula": None,
        "evidence": {},
        "fixable": bool(finding.edits),
    }
