"""The form for recorders (make_fx, torch.export): one dispatcher operator that stands for a call of any Function.

A recorder sees operators, not autograd.Functions: it would record the forward's operations and lose the rules. So
while one is active, a call becomes ``torch.ops.pullback.call``, whose autograd kernel applies the rules. A recorded
graph names its Functions by import path and finds them again in another process; hyperparameters must be plain data.
Decomposing the operator gives the forward's own operations.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from typing import Any

import torch

from pullback import _describe
from pullback._torch import (
    VmapInfo,
    below_autograd,
    custom_function_call,
    functorch_enabled,
    has_tangent,
    hint,
    outside_modes,
    pytree,
)
from pullback.define import recording
from pullback.define.autograd import apply, general
from pullback.define.call import Call
from pullback.define.fit import Like, like
from pullback.define.function import FUNCTIONS, Function
from pullback.define.split import TENSOR, Split
from pullback.define.vmapped import BatchedCall
from pullback.errors import StackError

Tensors = Sequence[torch.Tensor]

_library = torch.library.Library("pullback", "FRAGMENT")
_library.define(
    "call(str function, str arguments, Tensor[] tensors, SymInt[] sizes) -> Tensor[]",
    tags=(torch.Tag.pt2_compliant_tag,),
)
OPERATOR = torch.ops.pullback.call.default


def emit(call: Call, tensors: Tensors) -> list[torch.Tensor]:
    """Record a call as the operator; the flat outputs, then what is kept."""
    call.operator = None
    text, sizes = _dumps(call)
    results: list[torch.Tensor] = OPERATOR(_reference(call.function), text, list(tensors), sizes)
    again = _loads(_reference(call.function), text, tensors, [hint(s) for s in sizes])
    _run_on_meta(again, tensors)
    while True:  # the call and those it batches now know what forward returns
        call.learn(again)
        if not isinstance(call, BatchedCall):
            return results
        call = call.base


# ---- the operator's kernels


def _forward(function: str, arguments: str, tensors: Tensors, sizes: Sequence[int]) -> list[torch.Tensor]:
    with recording.off(), functorch_enabled():
        return list(_loads(function, arguments, tensors, sizes).forward(tensors))


def _autograd(function: str, arguments: str, tensors: Tensors, sizes: Sequence[int]) -> list[torch.Tensor]:
    with recording.off():
        wanted = torch.is_grad_enabled() and any(t.requires_grad for t in tensors)
        if not wanted and not has_tangent(tensors):
            with below_autograd():
                return OPERATOR(function, arguments, tensors, sizes)  # type: ignore[no-any-return]
        call = _loads(function, arguments, tensors, sizes)

        def record(call: Call, tensors: Tensors) -> list[torch.Tensor]:
            with below_autograd():
                results: list[torch.Tensor] = OPERATOR(function, arguments, list(tensors), sizes)
            _run_on_meta(call, tensors)
            return results

        call.operator = record
        return list(apply(call, tensors))


def _functorch(function: str, arguments: str, tensors: Tensors, sizes: Sequence[int]) -> list[torch.Tensor]:
    call = _loads(function, arguments, tensors, sizes)
    return list(custom_function_call(general(call.function), call, *tensors))


_library.impl("call", _forward, "CompositeExplicitAutograd")
_library.impl("call", _autograd, "Autograd")
_library.impl("call", _functorch, "FuncTorchDynamicLayerFrontMode")


# ---- a call as plain data


def _reference(function: Function[..., Any]) -> str:
    """The import path of a Function if it leads there, else a name that is good in this process only."""
    path = function.token.partition("#")[0]
    try:
        found = _imported(path)
    except (ImportError, AttributeError):
        found = None
    return path if found is function else function.token


def _imported(path: str) -> Any:
    module, _, names = path.partition(":")
    thing: Any = importlib.import_module(module)
    for name in names.split("."):
        thing = getattr(thing, name)
    return thing.__pullback__


def _find(reference: str) -> Function[..., Any]:
    found = FUNCTIONS.get(reference)
    if found is not None:
        return found
    try:
        return _imported(reference.partition("#")[0])  # type: ignore[no-any-return]
    except (ImportError, AttributeError):
        raise StackError(
            reference,
            "a recorded graph needs its Functions where they were",
            "nothing of that name",
            "define the Function at the top level of a module that can be imported",
        ) from None


def _dumps(call: Call) -> tuple[str, list[Any]]:
    """A call's arguments without their tensors as text, and the symbolic sizes among them."""
    batches = []
    base = call
    while isinstance(base, BatchedCall):
        batches.append([list(base.in_dims), base.info.batch_size, base.info.randomness])
        base = base.base
    sizes: list[Any] = []

    def plain(leaf: Any) -> Any:
        if leaf is TENSOR:
            return {"tensor": 0}
        if isinstance(leaf, torch.SymInt):
            sizes.append(leaf)
            return {"size": len(sizes) - 1}
        return {"value": leaf}

    data = {
        "arguments": [[n, s and pytree.treespec_dumps(s), [plain(x) for x in row]] for n, s, row in base.args.rows()],
        "like": [[[hint(n) for n in w.shape], str(w.dtype).removeprefix("torch."), str(w.device)] for w in base.like],
        "batches": batches[::-1],
    }
    try:
        return json.dumps(data), sizes
    except TypeError:
        values = [x for _, _, row in base.args.rows() for x in row if x is not TENSOR]
        raise StackError(
            call.function.name,
            "in a recorded graph hyperparameters must be plain data (numbers, strings, booleans, None)",
            _describe.value(values),
            "pass the numbers themselves",
        ) from None


def _loads(reference: str, text: str, tensors: Tensors, sizes: Sequence[int]) -> Call:
    """The call that `_dumps` wrote, for these tensors."""
    data = json.loads(text)

    def value(leaf: dict[str, Any]) -> Any:
        return TENSOR if "tensor" in leaf else sizes[leaf["size"]] if "size" in leaf else leaf["value"]

    rows = [(n, s and pytree.treespec_loads(s), [value(x) for x in row]) for n, s, row in data["arguments"]]
    batched = bool(data["batches"])
    likes = [Like(torch.Size(s), getattr(torch, t), torch.device(d)) for s, t, d in data["like"]]
    call = Call.bare(_find(reference), Split.of_rows(rows), likes if batched else [like(t) for t in tensors])
    for dims, size, randomness in data["batches"]:
        call = call.vmapped(dims, VmapInfo(size, randomness))
    return call


def _run_on_meta(call: Call, tensors: Tensors) -> None:
    """Let a call learn what its forward returns, without computing it."""
    with outside_modes(), recording.off(), torch.no_grad():
        call.forward([torch.empty([hint(n) for n in t.shape], dtype=t.dtype, device="meta") for t in tensors])
