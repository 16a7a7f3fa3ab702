"""JUnit XML: one test case per Function, failed by findings at error level."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from pullback_lint.finding import Finding
from pullback_lint.report import FileResult, Report


def render(report: Report) -> str:
    """The report as JUnit XML."""
    cases = [case for file in report.files for case in _cases(file)]
    failures = sum("<failure" in case for case in cases)
    errors = len(report.errors)
    head = f'<testsuite name="pullback-lint" tests="{len(cases)}" failures="{failures}" errors="{errors}">'
    return "\n".join(['<?xml version="1.0" encoding="utf-8"?>', head, *cases, "</testsuite>"]) + "\n"


def _cases(file: FileResult) -> list[str]:
    names = dict.fromkeys([*(target.name for target in file.targets), *(item.target for item in file.findings)])
    cases = [_case(file, name, [item for item in file.findings if item.target == name]) for name in names]
    if file.error:
        cases.append(
            f'  <testcase classname={quoteattr(file.path)} name=""><error message={quoteattr(file.error)}/></testcase>'
        )
    return cases


def _case(file: FileResult, name: str, findings: list[Finding]) -> str:
    errors = [item for item in findings if item.severity == "error"]
    others = [item for item in findings if item.severity != "error"]
    inside = [f"    <failure type={quoteattr(item.code)} message={quoteattr(_line(item))}/>" for item in errors]
    if others:
        inside.append(f"    <system-out>{escape(chr(10).join(map(_line, others)))}</system-out>")
    head = f"  <testcase classname={quoteattr(file.path)} name={quoteattr(name or '<module>')}"
    return "\n".join([f"{head}>", *inside, "  </testcase>"]) if inside else f"{head}/>"


def _line(finding: Finding) -> str:
    return f"{finding.path}:{finding.line}:{finding.column}: {finding.code} {finding.name}: {finding.message}"
