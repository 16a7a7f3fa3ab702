"""Whether the Function is worth having: plain autograd may give the same gradient with no more memory or work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from pullback._torch import TorchDispatchMode
from pullback.check import compare, context, kept, state, tree
from pullback.check.case import Case, cotangents, filled, pull
from pullback.check.probes import extremes
from pullback.check.report import Finding

NEEDS = "gradient"
VIEWS = ("view", "t", "transpose", "expand", "detach", "alias", "permute", "unsqueeze", "squeeze", "slice", "select")


@dataclass(frozen=True)
class Cost:
    """What a call and its backward keep, and how much they write."""

    kept: int
    written: int


def probe(case: Case) -> Iterator[Finding]:
    """Count what is kept and what is written, by hand and by plain autograd, where both give the same."""
    truth, plain = case.facts.get("reference"), case.target.plain
    asked = case.target.function is not None and truth is not None and truth.kind == "autograd"
    if not asked or plain is None or not any(t.numel() for t in case.arguments.differentiable):
        return
    if not case.facts.get("right") or case.intended is not None or _is_special(case):
        return
    theirs = cost(case, case.target.apply)
    ours = cost(case, lambda *args: plain(context.Context((True,) * len(args)), *args))
    if ours.kept <= theirs.kept and ours.written <= theirs.written and _as_safe(case):
        yield Finding(
            "needless-function", "plain autograd gives the same gradient with no more memory or work",
            cause=f"kept for backward: {theirs.kept} bytes by hand, {ours.kept} by autograd; written: {theirs.written} "
            f"and {ours.written}", fix="call forward's code as a plain function",
            evidence={"kept": [theirs.kept, ours.kept], "written": [theirs.written, ours.written]},
        )  # fmt: skip


def _is_special(case: Case) -> bool:
    """Whether forward does what plain code cannot: change its input, hide an output from autograd, draw numbers."""
    kept.kept(case)
    record = case.facts.get("record")
    marked = record is None or bool(record.dirty) or bool(record.non_differentiable)
    return marked or case.is_random or not all(out.requires_grad for out in case.base.outputs)


def cost(case: Case, apply: Callable[..., Any]) -> Cost:
    """What one call and its backward cost."""
    state.seed()
    leaves, passed = case.arguments.fresh()
    stored: dict[int, int] = {}
    held: list[torch.Tensor] = []  # so that no address is used twice

    def pack(t: torch.Tensor) -> torch.Tensor:
        held.append(t)
        stored[t.untyped_storage().data_ptr()] = t.untyped_storage().nbytes()
        return t

    counter = _Written()
    with counter, torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        outputs = tree.tensors(apply(*passed))
        pull(outputs, leaves, cotangents(outputs))
    return Cost(sum(stored.values()), counter.written)


class _Written(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.written = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func.__name__.split(".")[0].strip("_") not in VIEWS:
            self.written += sum(t.numel() * t.element_size() for t in tree.tensors(result))
        return result


def _as_safe(case: Case) -> bool:
    """Whether autograd's gradient is as finite as the one by hand at special values."""
    truth = case.facts["reference"]
    for extreme in extremes.extremes(case.arguments):
        by_hand = case.run(extreme.arguments)
        if not by_hand.ok or not all(g is None or bool(torch.isfinite(g).all()) for g in by_hand.grads):
            continue
        weights = filled(by_hand.outputs, cotangents(by_hand.outputs))
        plain = truth.gradients(extreme.arguments, weights)
        if not all(g is None or bool(torch.isfinite(g).all()) for g in plain):
            return False
        if not compare.all_same(by_hand.grads, plain, "single"):
            return False
    return True
