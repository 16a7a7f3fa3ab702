"""Gradients do not depend on how the incoming gradient or the inputs lie in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from pullback.check import compare, reference, state, tree
from pullback.check.case import Case, Outcome, cotangents, pull
from pullback.check.report import Finding

NEEDS = "gradient"


def probe(case: Case) -> Iterator[Finding]:
    """Give the same numbers in other layouts."""
    yield from _incoming(case)
    if not case.is_random:  # random numbers are drawn in the order of memory
        yield from _inputs(case)


def transposed(t: torch.Tensor) -> torch.Tensor:
    """The same values with the last two dimensions stored the other way round."""
    return t.mT.contiguous().mT if t.ndim >= 2 else strided(t)


def rotated(t: torch.Tensor) -> torch.Tensor:
    """The same values with the first dimension stored last."""
    return t.movedim(0, -1).contiguous().movedim(-1, 0) if t.ndim >= 2 else strided(t)


def strided(t: torch.Tensor) -> torch.Tensor:
    """The same values with gaps between them."""
    wide = torch.stack([t, torch.full_like(t, 77.0)], dim=-1)
    return wide[..., 0]


def expanded(t: torch.Tensor) -> torch.Tensor:
    """One value everywhere, without memory of its own."""
    return t.new_full((), 1.3).expand(t.shape) if t.dtype.is_floating_point else t


LAYOUTS: list[tuple[str, Callable[[torch.Tensor], torch.Tensor]]] = [
    ("transposed", transposed),
    ("rotated", rotated),
    ("strided", strided),
    ("expanded", expanded),
]


def _incoming(case: Case) -> Iterator[Finding]:
    g = case.target.incoming
    for label, layout in LAYOUTS:

        def laid(outputs: list[torch.Tensor], layout: Callable[[torch.Tensor], torch.Tensor] = layout) -> list:  # type: ignore[type-arg]
            return [None if c is None else layout(c) for c in cotangents(outputs, 6)]

        def dense(outputs: list[torch.Tensor], laid: Callable[..., list] = laid) -> list:  # type: ignore[type-arg]
            return [None if c is None else c.contiguous().clone() for c in laid(outputs)]

        odd, plain = case.run(incoming=laid), case.run(incoming=dense)
        finding = _judged(case, odd, plain, f"{g} is {label}", g)
        if finding is not None:
            if not odd.ok or compare.all_same(
                case.run(incoming=dense).grads, plain.grads
            ):  # else it is another each time
                yield finding
            return


def _judged(case: Case, odd: Outcome, plain: Outcome, when: str, what: str) -> Finding | None:
    if not plain.ok:
        return None
    if not odd.ok:
        return Finding(
            "noncontig-view", f"backward raises when {when}: {str(odd.error)[:160]}",
            cause=f"incoming gradients may be transposed or expanded; view needs {what} to be contiguous",
            fix="use reshape instead of view, or call .contiguous() first",
        )  # fmt: skip
    if compare.all_same(odd.grads, plain.grads):
        return None
    return Finding(
        "noncontig-raw-memory", f"the gradient is another one when {when}",
        cause=f"backward reads the memory of {what} in order and ignores its strides",
        fix=f"{what} = {what}.contiguous() before memory is read",
        evidence=_worst(odd, plain),
    )  # fmt: skip


def _worst(odd: Outcome, plain: Outcome) -> dict[str, object]:
    return next(compare.worst(a, b) for a, b in zip(odd.grads, plain.grads, strict=True) if not compare.same(a, b))


def _inputs(case: Case) -> Iterator[Finding]:
    for label, layout in LAYOUTS[:3]:
        odd = _run_with_inputs(case, layout)
        if odd.error is not None:
            if "leaf" in str(odd.error):  # forward works in place, which a leaf refuses: nothing to do with layout
                return
            yield _input_raises(odd, label)
            return
        if not _outputs_same(odd, case.base, reference.precision(case)):
            yield Finding("forward-layout-dependent", f"forward gives other values when its inputs are {label}",
                          cause="forward reads memory in order and ignores strides",
                          fix="call .contiguous() before memory is read")  # fmt: skip
            return
        if not compare.all_same(odd.grads, case.base.grads):
            if not compare.all_same(case.run().grads, case.base.grads):  # it is another one each time
                return
            yield Finding("noncontig-raw-memory", f"the gradient is another one when the inputs are {label}",
                          cause="backward reads the memory of a saved input in order and ignores its strides",
                          fix="call .contiguous() before memory is read", evidence=_worst(odd, case.base))  # fmt: skip
            return


def _input_raises(odd: Outcome, label: str) -> Finding:
    level = "note" if odd.stage == "forward" else "warning"
    return Finding("noncontig-view", f"{odd.stage} raises when its inputs are {label}: {str(odd.error)[:160]}",
                   cause="view needs a contiguous tensor", fix="use reshape", level=level)  # fmt: skip


def _outputs_same(a: Outcome, b: Outcome, level: str) -> bool:
    pairs = zip(a.outputs, b.outputs, strict=True)
    return all(compare.same(x.detach(), y.detach(), level) for x, y in pairs if tree.is_differentiable(x))


def _run_with_inputs(case: Case, layout: Callable[[torch.Tensor], torch.Tensor]) -> Outcome:
    outcome = Outcome()
    state.seed()
    flat = [layout(x.clone()) if isinstance(x, torch.Tensor) and x.is_floating_point() and x.ndim else x
            for x in case.arguments.leaves]  # fmt: skip
    leaves = [flat[position].detach().requires_grad_() for position in case.arguments.diff]
    for position, leaf in zip(case.arguments.diff, leaves, strict=True):
        flat[position] = leaf
    try:
        outcome.stage = "forward"
        outcome.outputs = tree.tensors(case.target.apply(*case.arguments.with_leaves(flat).values))
        outcome.stage = "backward"
        outcome.grads = pull(outcome.outputs, leaves)
    except Exception as error:  # a result of the experiment
        outcome.error = error
    return outcome
