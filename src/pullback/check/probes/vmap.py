"""torch.func accepts the target, and a batch gives what a loop gives."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import shorten
from typing import Any

import torch

from pullback.check import compare, state, tree
from pullback.check.case import Case
from pullback.check.report import Finding
from pullback.check.target import has_setup

NEEDS = "gradient"
SIZE = 3


def probe(case: Case) -> Iterator[Finding]:
    """Compare vmap with a loop, whichever dimension is the batch and whichever arguments have one."""
    cls = case.target.function
    if cls is not None and not has_setup(cls):
        yield old_form()
        return
    if cls is not None and not _batches(cls):
        yield Finding("no-vmap", "vmap raises: there is no batching rule",
                      fix="set generate_vmap_rule = True, or write a static method vmap", stack="vmap")  # fmt: skip
        return
    if cls is not None and cls.generate_vmap_rule and cls.vmap is not torch.autograd.Function.vmap:
        yield Finding("both-vmap-rules", "vmap raises: generate_vmap_rule and vmap are both given",
                      fix="remove one: generate_vmap_rule = True, or the static method vmap", stack="vmap")  # fmt: skip
        return
    if cls is not None or case.target.kind == "pullback.Function":
        yield from _compared(case)


def old_form() -> Finding:
    """The finding about a forward that takes ctx."""
    return Finding("no-setup-context", "torch.func (grad, vmap, jacrev) refuses this form",
                   fix="split it into forward(x, …) and setup_context(ctx, inputs, output)", stack="func")  # fmt: skip


def _batches(cls: type[torch.autograd.Function]) -> bool:
    return bool(cls.generate_vmap_rule) or cls.vmap is not torch.autograd.Function.vmap


def _compared(case: Case) -> Iterator[Finding]:
    tensors = [i for i, leaf in enumerate(case.arguments.leaves) if tree.is_differentiable(leaf)]
    plans = [dict.fromkeys(tensors, 0), {i: _last(case, i) for i in tensors}]
    plans += [{i: 0} for i in tensors if len(tensors) > 1]
    plans += [{i: (_last(case, i) if i == j else 0) for i in tensors} for j in tensors if len(tensors) > 1]
    for dims in plans:
        try:
            batched = _batched(case, dims)
        except Exception as error:  # a result of the experiment
            message = f"vmap raises: {type(error).__name__}: {shorten(str(error), 200, placeholder=' …')}"
            yield Finding("transform-fails", message, stack="vmap")
            return
        looped = _looped(case, dims)
        if looped is not None and not compare.all_same(batched, looped):
            where = {case.arguments.names[i]: d for i, d in dims.items()}
            yield Finding(
                "vmap-rule-wrong", f"vmap gives other values than a loop for in_dims {where}",
                cause="the batching rule does not move each batched dimension to where it expects it",
                fix="move each argument's in_dims entry to the front (None: no batch) before calling apply",
                stack="vmap", evidence={"in_dims": where},
            )  # fmt: skip
            return


def _last(case: Case, leaf: int) -> int:
    ndim: int = case.arguments.leaves[leaf].ndim
    return ndim


def _stacked(case: Case, leaf: int, dim: int) -> torch.Tensor:
    x = case.arguments.leaves[leaf]
    return torch.stack([x * (1 - 0.07 * k) for k in range(SIZE)], dim=dim)


def _batched(case: Case, dims: dict[int, int]) -> list[torch.Tensor]:
    state.seed()

    def call(*batch: torch.Tensor) -> Any:
        return tuple(tree.tensors(case.target.apply(*_with(case, dims, batch))))

    stacked = [_stacked(case, leaf, dim) for leaf, dim in dims.items()]
    return list(torch.func.vmap(call, in_dims=tuple(dims.values()), randomness="same")(*stacked))


def _looped(case: Case, dims: dict[int, int]) -> list[torch.Tensor] | None:
    state.seed()
    rows = []
    for k in range(SIZE):
        batch = [_stacked(case, leaf, dim).select(dim, k) for leaf, dim in dims.items()]
        try:
            rows.append([t.detach() for t in tree.tensors(case.target.apply(*_with(case, dims, batch)))])
        except Exception:
            return None
    return [torch.stack(column) for column in zip(*rows, strict=True)]


def _with(case: Case, dims: dict[int, int], batch: Any) -> tuple[Any, ...]:
    flat = case.arguments.leaves
    for leaf, value in zip(dims, batch, strict=True):
        flat[leaf] = value
    return case.arguments.with_leaves(flat).values
