"""The only place that touches private names of torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

# --- check: operators of torch.library, fill of fresh memory


class OperatorParts(NamedTuple):
    """What an operator was made of; None where there is nothing to see."""

    name: str
    forward: Callable[..., Any] | None
    backward: Callable[..., Any] | None
    setup_context: Callable[..., Any] | None
    has_fake: bool


def is_custom_op(thing: Any) -> bool:
    """Whether ``thing`` is an operator: made by torch.library.custom_op, or an overload found in torch.ops."""
    kinds = (torch._library.custom_ops.CustomOpDef, torch._ops.OpOverload, torch._ops.OpOverloadPacket)
    return isinstance(thing, kinds)


def custom_op_parts(thing: Any) -> OperatorParts:
    """The Python functions behind an operator."""
    if isinstance(thing, torch._ops.OpOverloadPacket):
        thing = getattr(thing, thing.overloads()[0])
    if isinstance(thing, torch._ops.OpOverload):
        known = torch._library.custom_ops.OPDEFS.get(thing._schema.name)
        if known is None:
            return OperatorParts(thing._schema.name, None, None, None, True)
        thing = known
    return OperatorParts(
        thing._qualname, thing._init_fn, thing._backward_fn, thing._setup_context_fn, thing._abstract_fn is not None
    )
