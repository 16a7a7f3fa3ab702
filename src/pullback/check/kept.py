"""What a forward keeps for backward, where, and whose tensor it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from pullback.check import context, state, tree
from pullback.check.case import Case


@dataclass(frozen=True)
class Kept:
    """One tensor kept from forward to backward."""

    tensor: torch.Tensor
    place: str  # "saved" or the attribute's name
    role: str  # "input", "output" or "intermediate"
    name: str = ""


def kept(case: Case) -> list[Kept]:
    """Everything kept in one call, found with a stand-in context; empty where forward cannot be run by itself."""
    if "kept" not in case.facts:
        case.facts["kept"] = _kept(case)
    return case.facts["kept"]  # type: ignore[no-any-return]


def _kept(case: Case) -> list[Kept]:
    if case.target.plain is None or case.target.backward is None:
        return []
    state.seed()
    ctx = context.Context(case.arguments.needs())
    arguments = case.arguments.constant()
    try:
        with torch.no_grad():
            result = case.target.plain(ctx, *arguments)
    except Exception:
        return []
    case.facts["record"] = ctx._record
    case.facts["plain_result"], case.facts["plain_arguments"] = result, arguments
    places = [("saved", t) for t in tree.tensors(ctx.saved_tensors)]
    places += [(name, t) for name, value in context.attributes(ctx).items() for t in tree.tensors(value)]
    return [_described(case, place, tensor, arguments, result) for place, tensor in places]


def _described(case: Case, place: str, tensor: torch.Tensor, arguments: Any, result: Any) -> Kept:
    for name, other in zip(case.arguments.names, tree.leaves(arguments), strict=True):
        if isinstance(other, torch.Tensor) and _is(tensor, other):
            return Kept(tensor, place, "input", name)
    if any(tensor is other for other in tree.tensors(result)):
        return Kept(tensor, place, "output")
    return Kept(tensor, place, "intermediate")


def _is(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a is b or (a.numel() > 0 and a.data_ptr() == b.data_ptr() and a.numel() == b.numel())
