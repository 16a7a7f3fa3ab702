"""Check: find what is wrong with any differentiable function, and say why."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import torch

from pullback.check import battery, glance, tree
from pullback.check.report import Finding, Report, TargetReport
from pullback.check.target import Target, target
from pullback.check.watch import inside, watch
from pullback.errors import GradientMismatchError, UsageError

__all__ = ["Finding", "Report", "TargetReport", "assert_correct", "check", "gradcheck", "watch"]

OPEN = ("callable", "module")  # what may call Functions of its own accord


def check(
    fn: Callable[..., Any],
    *inputs: Any,
    intended: Callable[..., Any] | None = None,
    reference: Callable[..., Any] | None = None,
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
    evaluations: int | None = None,
    call: Callable[..., Any] | None = None,
    probes: Collection[str] | None = None,
) -> Report:
    """Everything that is wrong with a differentiable function, each fault with its cause and fix.

    Args:
        fn: An autograd.Function (or its ``apply``), a Function, an operator of torch.library; or a module or any other
            callable, of which every Function that it calls is checked too, with what it passes there.
        *inputs: Its positional arguments; inferred when there are none.
        intended: A differentiable function whose gradient ``fn`` is meant to have, for a surrogate.
        reference: A differentiable function with the right values, for an opaque forward.
        device: Where to move the inputs first.
        dtype: What to convert floating inputs to first.
        evaluations: How many calls of forward finite differences may cost per argument.
        call: How ``fn`` is called, where that is not ``fn.apply`` or ``fn`` itself.
        probes: The names of the probes to run; by default all but those that compile (``compile``, ``export``,
            ``stacks``).

    Returns:
        A `Report`; ``report.ok`` is False when there is a finding at error level or nothing could be checked.

    >>> class Square(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...
    ...     @staticmethod
    ...     def backward(ctx, grad_output):
    ...         (x,) = ctx.saved_tensors
    ...         return 2 * x
    >>> report = check(Square, torch.randn(3))
    >>> report.ok, report.findings[0].name
    (False, 'missing-grad-output')
    """
    if not callable(fn):
        raise UsageError(
            "pullback.check",
            "the first argument must be callable",
            type(fn).__name__,
            "give the class, its apply, a Function, an operator, a module or any function",
        )
    subject = target(fn, call)
    values = tuple(_placed(value, device, dtype) for value in inputs)
    with battery.chosen(probes):
        own = _examined(subject, values, intended=intended, reference=reference, evaluations=evaluations)
        return Report([own, *(inside(subject, own.values) if own.values and subject.kind in OPEN else ())])


def _examined(subject: Target, values: tuple[Any, ...], **options: Any) -> TargetReport:
    """The report on one target, with arguments that are inferred where none are given."""
    if values:
        return battery.examine(subject, values, **options)
    from pullback.check import infer

    return infer.examine(subject, **options)


def _placed(value: Any, device: torch.device | str | None, dtype: torch.dtype | None) -> Any:
    def place(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        floating = dtype if leaf.is_floating_point() else None
        return leaf.detach().to(device=device, dtype=floating).requires_grad_(leaf.requires_grad)

    return value if device is None and dtype is None else tree.transform(place, value)


def assert_correct(fn: Callable[..., Any], *inputs: Any, **options: Any) -> Report:
    """`check`, raising unless all is well; the error's note is the whole report.

    Raises:
        GradientMismatchError: If there is a finding at error level, or the function could not be checked.

    >>> assert_correct(torch.tanh, torch.randn(3, requires_grad=True)).ok
    True
    """
    report = check(fn, *inputs, **options)
    if not report.ok:
        raise _error(report)
    return report


def _error(report: Report) -> GradientMismatchError:
    """The worst finding in four parts; the whole report follows as a note."""
    bad = next(target for target in report.targets if target.status != "ok")
    who = bad.name + (f" ({bad.file}:{bad.line})" if bad.file else "")
    errors = [finding for finding in bad.findings if finding.severity == "error"]
    if not errors:
        got = f"unchecked: {bad.unchecked}"
        error = GradientMismatchError(who, "its gradient must have been checked", got, "give arguments that it accepts")
    else:
        first, names = errors[0], ", ".join(dict.fromkeys(f"{f.code} {f.name}" for f in errors))
        do = first.fix or first.formula or f"pullback explain {first.code}"
        error = GradientMismatchError(who, "pullback.check must find no fault", f"{names}: {first.message}", do)
    error.add_note(str(report))
    return error


def gradcheck(
    fn: Callable[..., Any], inputs: Any, *, raise_exception: bool = True, fast_mode: bool = False, **options: Any
) -> bool:
    """A drop-in for ``torch.autograd.gradcheck`` that says why.

    Args:
        fn: What to check.
        inputs: A tensor or a tuple of arguments.
        raise_exception: Whether a failure raises; otherwise the result is False.
        fast_mode: Compare the values at the inputs, entry by entry, and run the other probes only if they are wrong.
        **options: Accepted for compatibility; tolerances come from the dtype.

    Raises:
        GradientMismatchError: If the gradient is wrong and ``raise_exception`` holds.

    >>> gradcheck(torch.tanh, torch.randn(3, requires_grad=True))
    True
    """
    arguments = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    if fast_mode and glance.is_right(target(fn), arguments):
        return True
    if raise_exception:
        assert_correct(fn, *arguments)
        return True
    return check(fn, *arguments).ok
