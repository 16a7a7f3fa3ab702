"""Recorders: torch.export, make_fx, ONNX."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from pullback._torch import ahead_of_time
from pullback.check.stacks.eager import again, gradient
from pullback.check.stacks.func import batched, grad
from pullback.check.stacks.module import Layer
from pullback.check.stacks.table import GPU, Setting, outputs, stack

Found = list[torch.Tensor]
RECORD = "Recorded graphs"


def _enter(name: str, run: Any, **options: Any) -> None:
    stack(name, RECORD, cost="compiler", **options)(run)


_enter("export, then train", lambda s: gradient(exported(s, False), s))
_enter("export strict, then train", lambda s: gradient(exported(s, True), s))
_enter("export, saved and loaded", lambda s: gradient(exported(s, False, _saved), s),
       why="another process imports the Function's module before it loads: that registers the operator")  # fmt: skip
_enter("export, second order", lambda s: again(exported(s, False), s), gives="second")
_enter("export, then func.grad", lambda s: list(grad(s, exported(s, False))(*s.tensors)))
_enter("export, decomposed", lambda s: _decomposed(s), gives="values")
_enter("make_fx", lambda s: gradient(recorded(s.fn, s), s))
_enter("make_fx, symbolic", lambda s: gradient(recorded(s.fn, s, tracing_mode="symbolic"), s))
_enter("make_fx of func.grad", lambda s: list(recorded(grad(s), s)(*s.tensors)))
_enter("make_fx of vmap", lambda s: gradient(recorded(batched(s), s), s))
_enter("make_fx of a training step", lambda s: list(recorded(lambda *ts: tuple(_step(s, ts)), s)(*s.tensors)))
_enter("AOTAutograd, without Dynamo", lambda s: gradient(ahead_of_time(s.fn), s))
_enter("ONNX export", lambda s: _onnx(s), gives="values", needs="onnxscript and onnxruntime",
       why="the forward's own operations are exported")  # fmt: skip
stack("CUDA graph", RECORD, needs=GPU)(lambda s: _replayed(s))


def recorded(fn: Any, s: Setting, **options: Any) -> Any:
    """The graph that make_fx records of ``fn``."""
    return make_fx(lambda *tensors: fn(*tensors), **options)(*s.tensors)


def _onnx(s: Setting) -> Found:
    """What the exported model gives in ONNX's own runtime."""
    with quiet():
        warnings.simplefilter("ignore")  # the exporter's own
        program = torch.onnx.export(Layer(s), (s.tensors[0].detach(),), dynamo=True, verbose=False)
        results: Any = program(s.tensors[0].detach()) if program is not None else ()
        return list(results)


def _replayed(s: Setting) -> Found:
    """The gradient by a captured graph of forward and backward, replayed for other values than it was captured for."""
    cuda = [t.cuda() for t in s.tensors]
    sample = tuple(torch.randn_like(t).requires_grad_() for t in cuda)
    graphed: Any = torch.cuda.make_graphed_callables(lambda *ts: outputs(s.fn(*ts)), sample)
    leaves = [t.detach().requires_grad_() for t in cuda]
    pairs = [(o, g.cuda()) for o, g in zip(outputs(graphed(*leaves)), s.cotangents, strict=True) if g is not None]
    found = torch.autograd.grad([o for o, _ in pairs], leaves, [g for _, g in pairs], allow_unused=True)
    return [torch.zeros_like(t) if g is None else g.cpu() for t, g in zip(s.tensors, found, strict=True)]


def _step(s: Setting, tensors: Any) -> Found:
    leaves = [t.detach().requires_grad_() for t in tensors]
    loss = s.loss(*leaves)
    found = torch.autograd.grad(loss, leaves, allow_unused=True)
    return [torch.zeros_like(t) if g is None else g for t, g in zip(leaves, found, strict=True)]


def exported(s: Setting, strict: bool, change: Any = lambda program: program) -> Any:
    """The function after going through torch.export."""
    with quiet():
        module = change(program_of(s, strict)).module()
    names = [n for n, _ in module.named_parameters()]

    def run(x: torch.Tensor, *weights: torch.Tensor) -> Any:
        return torch.func.functional_call(module, dict(zip(names, weights, strict=True)), (x,))

    return run


def program_of(s: Setting, strict: bool) -> Any:
    """The exported program of a module around the function."""
    with quiet():
        return torch.export.export(Layer(s), (s.tensors[0].detach(),), strict=strict)


@contextmanager
def quiet() -> Iterator[None]:
    """Without the warnings of PyTorch's own code."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*LeafSpec.*", FutureWarning)
        warnings.filterwarnings("ignore", "The given buffer is not writable", UserWarning)  # of PyTorch 2.9
        yield


def _saved(program: Any) -> Any:
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    return torch.export.load(file)


def _decomposed(s: Setting) -> Found:
    with quiet():
        module = program_of(s, False).run_decompositions().module()
    with torch.no_grad():
        return list(outputs(module(s.tensors[0])))
