"""The right gradient as a formula, and whether backward equals it as an expression."""

from __future__ import annotations

import contextlib
import re
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch

from pullback._torch import TorchDispatchMode
from pullback.check import patch
from pullback.check.case import Case
from pullback.check.report import Finding, TargetReport
from pullback.define.decorate import function_of
from pullback.graph.joint import COTANGENT
from pullback.graph.prove import Judgement, prove

LONGEST = 60  # operations in forward; a formula that an iteration nests grows with every step
SECONDS = 5.0  # of work: what takes longer to be proved is left as tested


def conclude(case: Case, report: TargetReport) -> None:
    """Say *proved* where every gradient is, and give findings about values the right formula."""
    asked = report.verdict == "tested" and (not _faults(report) or any(_about_values(f) for f in report.findings))
    if not asked or not can_be_read(case):
        return
    known = judgements(case)
    if not _faults(report) and known and all(_settled(case, known, name) for name in case.arguments.diff_names):
        report.verdict = "proved"
    report.findings = [_with_formula(case, finding, known) for finding in report.findings]


def _faults(report: TargetReport) -> bool:
    return any(finding.severity == "error" for finding in report.findings)


def _settled(case: Case, known: dict[str, Judgement], name: str) -> bool:
    """Whether an argument's gradient is proved, or is made by PyTorch from forward itself."""
    made = function_of(case.target.subject)
    return known[name].verdict == "proved" if name in known else made is not None and made.declared(name) is None


def can_be_read(case: Case) -> bool:
    """Whether the target is code of its own that is short, not random, and computes one real tensor from real ones."""
    readable = case.target.function is not None or case.target.kind == "pullback.Function"
    outputs = [out for out in case.base.outputs if out.is_floating_point()]
    if not readable or len(case.base.outputs) != 1 or len(outputs) != 1 or case.is_random:
        return False
    tensors = [v for v in case.arguments.values if isinstance(v, torch.Tensor)]
    if any(v.is_complex() for v in tensors) or len(tensors) < len(case.arguments.diff):
        return False
    return _length(case) <= LONGEST


def _length(case: Case) -> int:
    """How many operations one run of forward makes."""

    class Count(TorchDispatchMode):
        met = 0

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.met += 1
            return func(*args, **(kwargs or {}))

    with Count() as counted:  # type: ignore[no-untyped-call]
        case.values(case.arguments)
    return int(counted.met)


def judgements(case: Case) -> dict[str, Judgement]:
    """What is known about each argument's gradient as a formula; nothing where it cannot be traced."""
    try:
        with _limited(SECONDS):
            return prove(case.target.subject, *case.arguments.constant())
    except (Exception, _TooLongError):  # more than the graph layer reads: values alone are compared
        return {}


class _TooLongError(BaseException):
    """Nothing on the way takes it for an error of its own."""


@contextlib.contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Give up after that much work, where there are signals to do it with: expanding a product has no end in sight."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: object) -> None:
        raise _TooLongError

    before = signal.signal(signal.SIGVTALRM, stop)
    running = signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, *running)
        signal.signal(signal.SIGVTALRM, before)


def _about_values(finding: Finding) -> bool:
    return finding.probe == "values" and finding.severity == "error" and finding.argument is not None


def _with_formula(case: Case, finding: Finding, known: dict[str, Judgement]) -> Finding:
    judgement = known.get(finding.argument or "")
    if judgement is None or not _about_values(finding) or judgement.verdict != "wrong" or not judgement.formula:
        return finding
    formula = re.sub(rf"\b{COTANGENT}\b", case.target.incoming, judgement.formula)
    changed = patch.mending(case, finding.argument or "", formula)
    evidence = finding.evidence | ({"patch": changed.text} if changed else {})
    return replace(finding, formula=formula, evidence=evidence, line=changed.line if changed else finding.line)
