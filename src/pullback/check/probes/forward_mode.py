"""Forward mode and reverse mode agree."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from textwrap import shorten

import torch
from torch.autograd import forward_ad

from pullback.check import compare, context, reference, state, tree
from pullback.check.case import Case, cotangents
from pullback.check.report import Finding
from pullback.check.target import has_setup

NEEDS = "gradient"


def probe(case: Case) -> Iterator[Finding]:
    """Compare what jvp gives along a direction with what backward gives for a weighting."""
    cls = case.target.function
    if cls is not None and cls.jvp is torch.autograd.Function.jvp:
        if has_setup(cls):
            yield Finding("no-jvp", "there is no forward-mode rule: jvp, jacfwd and hessian raise",
                          fix="add a static method jvp(ctx, *tangents)", stack="jvp")  # fmt: skip
        return
    if cls is None and case.target.kind not in ("operator", "pullback.Function"):
        return
    yield from _compared(case)


def _compared(case: Case) -> Iterator[Finding]:
    for index, name in enumerate(case.arguments.diff_names):
        try:
            forward = _forward(case, index)
        except NotImplementedError:
            return
        except Exception as error:  # a result of the experiment
            yield _raised(case, error)
            return
        grad = case.base.grads[index]
        direction = reference.random_like(case.arguments.differentiable[index], 51)
        backward = torch.tensor(reference.inner(grad, direction), dtype=torch.float64)
        level = reference.precision(case)  # forward may compute in less than it was given
        if not compare.same(torch.tensor(forward, dtype=torch.float64), backward, level) and _linear(case, index):
            yield _disagreement(case, name, forward, float(backward))


def _raised(case: Case, error: Exception) -> Finding:
    message = f"jvp raises: {type(error).__name__}: {shorten(str(error), 200, placeholder=' …')}"
    ctx = context.Context(case.arguments.needs())
    if case.target.plain is None or case.target.function is None:
        return Finding("transform-fails", message, stack="jvp")
    with torch.no_grad():
        case.target.plain(ctx, *case.arguments.constant())
    if ctx._record.saved and not ctx._record.for_forward and _reads_saved(case.target.function):
        return Finding(
            "save-for-forward-missing", message, stack="jvp",
            cause="jvp reads ctx.saved_tensors, which hold only what ctx.save_for_forward was given",
            fix="call ctx.save_for_forward with the tensors that jvp reads",
        )  # fmt: skip
    return Finding("transform-fails", message, stack="jvp")


def _reads_saved(cls: type[torch.autograd.Function]) -> bool:
    return "saved_tensors" in getattr(getattr(cls.jvp, "__code__", None), "co_names", ())


def _linear(case: Case, index: int) -> bool:
    """Whether the gradient follows the incoming one; else the two modes have nothing to agree on."""
    grad = case.base.grads[index]
    scaled = case.run(incoming=functools.partial(cotangents, scale=-3.0))
    level = reference.precision(case)
    return not scaled.ok or compare.same(scaled.grads[index], None if grad is None else -3.0 * grad, level)


def _disagreement(case: Case, name: str, forward: float, backward: float) -> Finding:
    if case.target.kind == "operator":
        return Finding(
            "stack-drops-rule", f"forward mode gives {forward:.6g} for {name!r} where reverse mode gives "
            f"{backward:.6g}", cause="register_autograd says nothing about forward mode: tangents are dropped",
            argument=name, stack="jvp", level="note",
        )  # fmt: skip
    return Finding(
        "jvp-wrong", f"forward mode and reverse mode disagree about {name!r}: {forward:.6g} and {backward:.6g}",
        cause="jvp and backward are not each other's transpose",
        fix="mend the one that differs from the derivative of forward", argument=name, stack="jvp",
    )  # fmt: skip


def _forward(case: Case, index: int) -> float:
    """The weighted change of the outputs along one argument's direction, by forward mode."""
    state.seed()
    leaf = case.arguments.diff[index]
    flat = [x.detach().clone() if isinstance(x, torch.Tensor) else x for x in case.arguments.leaves]
    with forward_ad.dual_level():
        flat[leaf] = forward_ad.make_dual(flat[leaf], reference.random_like(flat[leaf], 51))
        outputs = tree.tensors(case.target.apply(*case.arguments.with_leaves(flat).values))
        tangents = [forward_ad.unpack_dual(out).tangent for out in outputs]
        weights = cotangents([out.detach() for out in outputs])
        pairs = zip(weights, tangents, case.base.outputs, strict=True)
        return sum(reference.inner(w, t) for w, t, o in pairs if w is not None and t is not None and o.requires_grad)
