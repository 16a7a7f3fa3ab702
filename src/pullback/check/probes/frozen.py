"""Each argument can be frozen: nothing raises, nothing changes, nothing is computed that nobody asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from pullback._torch import TorchDispatchMode
from pullback.check import compare, state, tree
from pullback.check.arguments import Arguments
from pullback.check.case import Case, cotangents, pull, replaced_backward
from pullback.check.report import Finding

NEEDS = "gradient"


def probe(case: Case) -> Iterator[Finding]:
    """Take the gradient of each argument alone."""
    if len(case.arguments.diff) < 2:
        return
    full = _work(case, case.arguments)
    wasted: list[str] = []
    for index, leaf in enumerate(case.arguments.diff):
        alone = case.arguments.only(leaf)
        name = case.arguments.diff_names[index]
        outcome = case.run(alone)
        if not outcome.ok:
            yield Finding(
                "frozen-input-crash", f"backward raises when only {name!r} requires a gradient: "
                f"{str(outcome.error).splitlines()[0][:160]}",
                fix="test ctx.needs_input_grad in forward and backward alike", argument=name,
            )  # fmt: skip
            continue
        if not compare.same(outcome.grads[0], case.base.grads[index]):
            yield Finding(
                "wrong-needs-input-grad-index", f"the gradient of {name!r} is another one when it alone is asked for",
                cause="a condition on ctx.needs_input_grad looks at the wrong index",
                fix="the index is that of the argument in forward, without ctx", argument=name,
                evidence=compare.worst(outcome.grads[0], case.base.grads[index]),
            )  # fmt: skip
        wasted += _unasked(case, alone, outcome.raw, full)
    for name in dict.fromkeys(wasted):
        yield Finding(
            "needs-input-grad-waste", f"the gradient of {name!r} is computed even when nobody needs it",
            cause="ctx.needs_input_grad is not looked at",
            fix=f"guard it with ctx.needs_input_grad[{case.arguments.position(_leaf(case, name))}]", argument=name,
        )  # fmt: skip


def _leaf(case: Case, name: str) -> int:
    return case.arguments.diff[case.arguments.diff_names.index(name)]


def _unasked(case: Case, alone: Arguments, raw: list[tuple[Any, ...]], full: int) -> list[str]:
    """Arguments for which backward returned a gradient that was not needed, at the full amount of work."""
    if not raw or full < 2 or _work(case, alone) < full:
        return []
    others = [leaf for leaf in case.arguments.diff if leaf not in alone.diff]
    slots = raw[-1]
    return [
        case.arguments.names[leaf] for leaf in others
        if (position := case.arguments.position(leaf)) < len(slots) and isinstance(slots[position], torch.Tensor)
    ]  # fmt: skip


class _Count(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls += 1
        return func(*args, **(kwargs or {}))


def _work(case: Case, arguments: Arguments) -> int:
    """How many operations the author's backward takes."""
    cls, backward = case.target.function, case.target.backward
    if cls is None or backward is None:
        return 0
    count = _Count()

    def counted(ctx: Any, *incoming: Any) -> Any:
        with count:
            return backward(ctx, *incoming)

    state.seed()
    leaves, passed = arguments.fresh()
    with replaced_backward(cls, counted):
        outputs = tree.tensors(case.target.apply(*passed))
        pull(outputs, leaves, cotangents(outputs))
    return count.calls
