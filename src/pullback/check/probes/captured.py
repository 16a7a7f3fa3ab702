"""Everything forward computes with is an argument: captured tensors that require gradients get none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from pullback.check import context, state, tree
from pullback.check.case import Case
from pullback.check.report import Finding

NEEDS = "forward"


def probe(case: Case) -> Iterator[Finding]:
    """Look in the graph of the bare forward for leaves that are not arguments."""
    plain = case.target.plain
    if plain is None:
        return
    once, again = _used(case, plain), _used(case, plain)
    for tensor in once:
        if not any(tensor is other for other in again):  # forward makes it anew each time
            continue
        yield Finding(
            "closure-captured-param",
            f"forward uses a tensor of shape {list(tensor.shape)} that requires a gradient and is not an argument",
            cause="autograd tracks arguments of apply only: this tensor gets no gradient",
            fix="pass it to apply and return its gradient",
        )


def _used(case: Case, plain: Callable[..., Any]) -> list[torch.Tensor]:
    """The leaves in the graph of one run that are not arguments."""
    state.seed()
    leaves, passed = case.arguments.fresh()
    outputs = tree.tensors(plain(context.Context((True,) * len(passed)), *passed))
    known = {id(leaf): leaf for leaf in leaves}
    for tensor in _leaves([out.grad_fn for out in outputs if out.grad_fn is not None]):
        known.setdefault(id(tensor), tensor)
    return list(known.values())[len(leaves) :]


def _leaves(nodes: list[Any]) -> Iterator[torch.Tensor]:
    seen: set[Any] = set()
    while nodes:
        node = nodes.pop()
        if node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            yield node.variable
        nodes += [parent for parent, _ in node.next_functions if parent is not None]
