"""Nothing is kept longer than it must be, nor where autograd cannot see it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch

from pullback.check import state, tree
from pullback.check.case import Case, cotangents
from pullback.check.hypotheses.exchange import nth
from pullback.check.kept import Kept, kept
from pullback.check.report import Finding

NEEDS = "gradient"


def probe(case: Case) -> Iterator[Finding]:
    """Look at what hangs on ctx, and whether an output dies when nobody refers to it."""
    attributes = [item for item in kept(case) if item.place != "saved"]
    if outlives(case) or any(item.role == "output" for item in attributes):
        yield _leak(case, attributes)
    for item in attributes:
        if item.role == "input":
            yield _stale(case, item)
        elif item.role == "intermediate":
            yield _bypass(case, item)
    yield from _unused(case)


OTHERS = (lambda t: torch.full_like(t, torch.nan), lambda t: 0.3 - 1.7 * t)  # what a saved tensor could be as well


def _unused(case: Case) -> Iterator[Finding]:
    """The first saved tensor of which backward uses no number: it gives the same with others in their place."""
    if case.is_random:
        return
    for place, item in enumerate(item for item in kept(case) if item.place == "saved"):
        floating = tree.is_differentiable(item.tensor) and item.tensor.numel() > 0
        if floating and all(_makes_no_difference(case, nth(place, other)) for other in OTHERS):
            yield Finding(
                "saved-unused", f"{repr(item.name) if item.name else f'the {place + 1}. saved tensor'} is saved, and "
                "backward uses none of its numbers", cause="it takes memory until backward, for nothing",
                fix="do not save it; a shape can be kept as an attribute",
            )  # fmt: skip
            return


def _makes_no_difference(case: Case, change: Callable[[torch.Tensor], torch.Tensor]) -> bool:
    incoming = cotangents(case.base.outputs)
    try:
        pairs = zip(*(case.replay(case.arguments, incoming, how) for how in (None, change)), strict=True)
        return all(torch.equal(a, b) if a is not None and b is not None else a is b for a, b in pairs)
    except Exception:  # backward cannot be called by hand, or looks at it and does not like it
        return False


def _leak(case: Case, attributes: list[Kept]) -> Finding:
    ctx, where = case.target.context, next((i.place for i in attributes if i.role == "output"), None)
    kept_as = f"{ctx}.{where}" if where else f"an attribute of {ctx}"
    return Finding(
        "ctx-output-leak", "an output stays in memory when nothing refers to it any more",
        cause=f"it is kept as {kept_as}: output, node and context hold each other until the garbage collector runs",
        fix=f"{ctx}.save_for_backward(output)",
    )  # fmt: skip


def _stale(case: Case, item: Kept) -> Finding:
    ctx = case.target.context
    floating = tree.is_differentiable(item.tensor)
    return Finding(
        "ctx-tensor-stale", f"{item.name!r} is kept as {ctx}.{item.place}: a later change in place goes unnoticed",
        cause="autograd checks the version only of tensors kept with save_for_backward; backward would use the "
        "changed values", fix=f"{ctx}.save_for_backward({item.name})", argument=item.name,
        level="warning" if floating else "note",  # it waits for a change in place, which few programs make
    )  # fmt: skip


def _bypass(case: Case, item: Kept) -> Finding:
    ctx = case.target.context
    return Finding(
        "ctx-tensor-bypass-hooks", f"{ctx}.{item.place} is a tensor kept as an attribute",
        cause="it is not freed after backward, and checkpointing and saved-tensor hooks do not see it",
        fix=f"keep it with {ctx}.save_for_backward",
        level=None if tree.is_differentiable(item.tensor) and item.tensor.numel() > 1 else "note",
    )  # fmt: skip


def outlives(case: Case) -> bool:
    """Whether an output is alive after the last reference to it is gone."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        return any(reference() is not None for reference in _forgotten(case))
    finally:
        if enabled:
            gc.enable()


def _forgotten(case: Case) -> list[weakref.ref[torch.Tensor]]:
    state.seed()
    _, passed = case.arguments.fresh()
    result: Any = case.target.apply(*passed)
    own = [t for t in tree.tensors(result) if t.requires_grad and not any(t is p for p in tree.tensors(passed))]
    return [weakref.ref(t) for t in own]
