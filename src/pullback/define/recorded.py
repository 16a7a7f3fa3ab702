"""The form for recorders (make_fx, torch.export): one dispatcher operator that stands for a call of any Function.

A recorder sees operators, not autograd.Functions: it would record the forward's operations and lose the rules. So
while one is active, a call becomes ``torch.ops.pullback.call``, whose autograd kernel applies the rules. A recorded
graph names its Functions by import path and finds them again in another process; hyperparameters must be plain data.
Who knows nothing of operators but PyTorch's own (ONNX) decomposes it into the forward's own operations.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from typing import Any

import torch

from pullback._torch import (
    VmapInfo,
    below_autograd,
    custom_function_call,
    decomposed_by,
    functorch_enabled,
    has_tangent,
    hint,
    outside_modes,
)
from pullback.define import recording, written
from pullback.define.autograd import apply, general
from pullback.define.call import Call
from pullback.define.fit import like
from pullback.define.function import FUNCTIONS, Function
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


decomposed_by(OPERATOR, _forward)
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
    arguments = written.write(base.args, sizes)
    data = {"arguments": arguments, "like": written.write_likes(base.like), "batches": batches[::-1]}
    return written.dumps(call.function.name, data, base.args), sizes


def _loads(reference: str, text: str, tensors: Tensors, sizes: Sequence[int]) -> Call:
    """The call that `_dumps` wrote, for these tensors."""
    data = json.loads(text)
    likes = written.read_likes(data["like"]) if data["batches"] else [like(t) for t in tensors]
    call = Call.bare(_find(reference), written.read(data["arguments"], sizes), likes)
    for dims, size, randomness in data["batches"]:
        call = call.vmapped(dims, VmapInfo(size, randomness))
    return call


def _run_on_meta(call: Call, tensors: Tensors) -> None:
    """Let a call learn what its forward returns, without computing it."""
    with outside_modes(), recording.off(), torch.no_grad():
        call.forward([torch.empty([hint(n) for n in t.shape], dtype=t.dtype, device="meta") for t in tensors])
