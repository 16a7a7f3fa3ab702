"""Runs every probe on one case; a probe that fails says nothing about the target."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import importlib
import inspect
import pkgutil
import re
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any

from torch.nn import Module

from pullback.check import probes, proof, state, tree
from pullback.check.arguments import Arguments, arguments, double
from pullback.check.case import Case
from pullback.check.report import Finding, TargetReport
from pullback.check.target import Target, own_backward
from pullback.errors import UsageError

STAGES = ("nothing", "forward", "gradient")
FIRST = ("contract", "fill", "rng", "mutation", "values", "inner", "dtypes", "layout")  # their findings explain others'
WRONG = (
    "wrong-derivative", "swapped-gradients", "missing-transpose", "complex-conj", "adjoint-vs-inverse",
    "statistic-treated-constant", "mask-not-applied", "wrong-reduction-axis", "grad-output-scalarised",
    "second-output-grad-dropped", "duplicate-index-overwrite", "reduction-mismatch", "param-grad-averaged",
    "nondiff-mark-wrong", "recompute-no-enable-grad", "param-grad-none", "global-state", "elementwise-jacobian",
    "intended-mismatch",
)  # fmt: skip
SECOND = ("double-backward-intermediate", "once-differentiable-missing", "second-derivative-wrong")
IMPLIES = {  # a fault and what follows from it, not worth a finding of its own
    "uninitialised-grad": ("wrong-derivative", "global-state", "saved-tensor-mutated", "noncontig-raw-memory",
                           "rng-not-saved", "wrong-needs-input-grad-index", "nonlinear-backward", "missing-transpose",
                           "double-backward-intermediate", "once-differentiable-missing", "none-grad-output",
                           "mask-not-applied", "nan-at-kink", "nonfinite-at-extreme", "not-deterministic"),
    "rng-not-saved": ("wrong-derivative", "missing-grad-output", "global-state", "saved-tensor-mutated",
                      "noncontig-raw-memory", "nonlinear-backward", "mask-not-applied",
                      "double-backward-intermediate"),
    **dict.fromkeys(WRONG, SECOND),
    "global-state": (*SECOND, "not-deterministic"),
    "inner-backward-call": SECOND,
    "saved-before-inplace": ("wrong-derivative", *SECOND),
    "inplace-unmarked": ("ctx-tensor-stale", "returns-input-view"),
    "custom-op-mutates": ("wrong-derivative", "inplace-unmarked", "global-state", "saved-tensor-mutated", *SECOND,
                          "jvp-wrong", "stack-drops-rule"),
    "grad-output-mutated": ("rng-not-saved", "saved-tensor-mutated", "noncontig-view", "noncontig-raw-memory"),
    "missing-grad-output": ("nonlinear-backward", *SECOND, "jvp-wrong"),
    "saved-tensor-mutated": SECOND,
    "list-input-untracked": ("nondiff-mark-wrong", "param-grad-none"),
    "precision-downcast": ("nonlinear-backward", "noncontig-raw-memory", "jvp-wrong"),
    "ctx-output-leak": ("ctx-tensor-bypass-hooks",),
    "legacy-nonstatic": ("no-setup-context", "returns-input-view"),
}  # fmt: skip


@functools.cache
def found() -> tuple[ModuleType, ...]:
    """All probe modules, those that explain others first."""
    names = [info.name for info in pkgutil.iter_modules(probes.__path__)]
    modules = {name: importlib.import_module(f"{probes.__name__}.{name}") for name in names}
    rank = {name: position for position, name in enumerate(FIRST)}
    ordered = sorted(names, key=lambda name: (STAGES.index(modules[name].NEEDS), rank.get(name, len(rank)), name))
    return tuple(modules[name] for name in ordered)


_asked: contextvars.ContextVar[frozenset[str] | None] = contextvars.ContextVar("probes", default=None)


@contextlib.contextmanager
def chosen(names: Collection[str] | None) -> Iterator[None]:
    """Run only some of the probes inside, or with None all that do not compile.

    Raises:
        UsageError: If there is no probe of a name.
    """
    known(names or ())
    token = _asked.set(None if names is None else frozenset(names))
    try:
        yield
    finally:
        _asked.reset(token)


def is_limited() -> bool:
    """Whether only some of the probes were asked for."""
    return _asked.get() is not None


def known(names: Collection[str]) -> None:
    """Refuse names that no probe has.

    Raises:
        UsageError: If there is one.
    """
    every = {_name(module) for module in found()}
    if not set(names) <= every:
        unknown = ", ".join(sorted(set(names) - every))
        raise UsageError(
            "pullback.check", "probes= takes names of probes", unknown, f"choose from {', '.join(sorted(every))}"
        )


def _name(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]


def _runs(module: ModuleType) -> bool:
    """Whether a probe was asked for; those that compile have to be."""
    names = _asked.get()
    return not getattr(module, "BY_CHOICE", False) if names is None else _name(module) in names


def examine(
    target: Target,
    values: tuple[Any, ...],
    *,
    intended: Callable[..., Any] | None = None,
    reference: Callable[..., Any] | None = None,
    evaluations: int | None = None,
    inputs: str = "given",
) -> TargetReport:
    """Check one target with one set of arguments."""
    from pullback import _describe

    started = time.perf_counter()
    report = TargetReport(target.name, target.kind, target.file, target.line, inputs, _describe.value(values))
    report.values = values
    with state.restored():
        case = make_case(target, arguments(target, values), intended, reference, evaluations)
        case.facts["asked"] = inputs != "inferred"
        report.notes += _not_asked(case.arguments)
        for module in filter(_runs, found()):
            _run(module, case, report)
        _conclude(case, report)
        if not is_limited() or report.status == "fault":  # what is wrong gets its formula
            proof.conclude(case, report)
    if inputs == "inferred":
        _doubt_guesses(report, target)
    report.seconds = time.perf_counter() - started
    return report


def _not_asked(given: Arguments) -> list[str]:
    """What was left out because the caller asked for no gradient of it."""
    left = [n for i, (n, v) in enumerate(zip(given.names, given.leaves, strict=True))
            if i not in given.diff and tree.is_differentiable(v)]  # fmt: skip
    return [f"not compared, since no gradient of it was asked for: {', '.join(left)}"] if left else []


MANY = 5  # tensors whose shapes are rarely all guessed
AMBIGUOUS = "value of Tensor with more than one value"  # raised for every input of any size


def _doubt_guesses(report: TargetReport, target: Target) -> None:
    """Backward raising an error of its own, for arguments that were only inferred, says nothing."""
    doubted = [f for f in report.findings if _is_doubted(f, report, target)]
    if doubted:
        report.findings = [f for f in report.findings if f not in doubted]
        if report.verdict is None:  # otherwise it raised in one experiment alone, and all else was compared
            report.unchecked = f"{doubted[0].message} (with inferred inputs)"


def _is_doubted(finding: Finding, report: TargetReport, target: Target) -> bool:
    """Whether a finding may come of arguments that do not go together, or of code around the target that is not there.

    Nothing excuses what raises for every input, or wants of the author's own default what that has not.
    """
    if finding.name == "backward-raises":
        sure = [re.escape(AMBIGUOUS), *[f"'{name}' object has no attribute" for name in _defaults(target)]]
        return not re.search("|".join(sure), finding.message)
    if finding.name == "wrong-grad-shape":
        return len(tree.tensors(report.values)) >= MANY
    if finding.name == "wrong-grad-count":  # modules and the ``*weights`` that they have were inferred apart
        return target.variadic is not None and any(isinstance(v, Module) for v in report.values)
    if finding.name == "ctx-attribute-unset":
        return _is_set_around(finding.message, target)
    return finding.name in FROM_CONTAINERS and excused(report.values)


FROM_CONTAINERS = ("recompute-no-enable-grad", "saved-count-mismatch")  # what may be wrong with what is in one alone


def _is_set_around(message: str, target: Target) -> bool:
    """Whether the file sets the attribute that is missing, outside of the class: on the output's ``grad_fn``."""
    try:
        around = inspect.getsource(inspect.getmodule(target.subject) or target.subject)
        around = around.replace(inspect.getsource(target.subject), "")
    except (OSError, TypeError):
        return False
    return any(re.search(rf"\.{name}\s*=[^=]", around) for name in re.findall(r"no attribute '(\w+)'", message))


def excused(values: tuple[Any, ...]) -> bool:
    """Whether backward may get what it differentiates out of a container that others fill."""
    return any(isinstance(v, (list, dict)) for v in values)


def _defaults(target: Target) -> set[str]:
    """The names of the classes of what a Function's parameters are when they are not given."""
    try:
        given = inspect.signature(target.subject.forward if target.function else target.subject).parameters.values()
    except (TypeError, ValueError):
        return set()
    return {type(p.default).__name__ for p in given if p.default not in (p.empty, None)}


def static(target: Target, report: TargetReport) -> None:
    """What can be said about a target that could not be run."""
    from pullback.check.probes import vmap
    from pullback.check.target import has_setup

    if target.function is not None and not has_setup(target.function):
        report.findings.append(replace(vmap.old_form(), probe="vmap", line=target.line))


def make_case(
    target: Target,
    given: Arguments,
    intended: Callable[..., Any] | None = None,
    reference: Callable[..., Any] | None = None,
    evaluations: int | None = None,
) -> Case:
    """The case in float64 if the target runs there, else with the arguments as given."""
    wide = Case(target, given, given.map(double), intended, reference, evaluations)
    if wide.base.ok:
        return wide
    narrow = Case(target, given, given, intended, reference, evaluations)
    return narrow if narrow.base.ok or narrow.base.stage != wide.base.stage else wide


def _run(module: ModuleType, case: Case, report: TargetReport) -> None:
    name = _name(module)
    reason = _unmet(module.NEEDS, case)
    if reason:
        report.skipped.append({"probe": name, "reason": reason})
        return
    try:
        for finding in module.probe(case):
            _add(report, replace(finding, probe=name, line=finding.line or _line(case.target)))
    except Exception as error:  # the target misbehaved in a way the probe did not foresee
        report.skipped.append({"probe": name, "reason": f"{type(error).__name__}: {str(error)[:200]}"})


def _unmet(needs: str, case: Case) -> str:
    if needs != "nothing" and case.base.stage == "forward" and not case.base.ok:
        return "forward raises"
    if needs == "gradient" and not case.base.ok:
        return "backward raises"
    return ""


def _add(report: TargetReport, finding: Finding) -> None:
    known = {(other.name, other.argument) for other in report.findings}
    implied = {name for other in report.findings for name in IMPLIES.get(other.name, ())}
    unnamed = {other.name for other in report.findings if other.argument is None or finding.argument is None}
    if (finding.name, finding.argument) not in known and finding.name not in implied | unnamed:
        report.findings.append(finding)


def _line(target: Target) -> int | None:
    backward = own_backward(target.function) if target.function else target.backward
    try:
        return _definition(backward) if backward else target.line
    except (OSError, TypeError):
        return target.line


def _definition(function: Any) -> int:
    """The line of `def`, below any decorators."""
    lines, first = inspect.getsourcelines(inspect.unwrap(function))
    heads = (number for number, line in enumerate(lines) if line.lstrip().startswith(("def ", "async def ")))
    return first + next(heads, 0)


def _conclude(case: Case, report: TargetReport) -> None:
    reference = case.facts.get("reference")
    report.reference = {"intended": "given"}.get(reference.kind, reference.kind) if reference else None
    base = case.base
    if not base.ok and not report.findings:
        report.unchecked = f"{base.stage} raises {type(base.error).__name__}: {str(base.error)[:300]}"
    elif base.ok and not case.facts.keys() & {"tested", "stacks"} and report.status != "fault":
        report.unchecked = case.facts.get("untested", "values could not be compared")
    elif base.ok and report.status != "fault" and not any(t.numel() for t in case.arguments.differentiable):
        report.unchecked = "no argument is a floating-point tensor with elements: there is no gradient to compare"
        report.reference = None
        return
    report.notes += case.facts.get("notes", [])
    report.coverage = case.facts.get("coverage", {})
    report.stacks = case.facts.get("stacks", {})
    if case.facts.get("tested"):
        report.verdict = case.facts.get("verdict", "tested")
