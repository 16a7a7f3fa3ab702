"""torch.compile: of the function, and of transforms of it; the backend leaves the code that Dynamo made as it is."""

from __future__ import annotations

from typing import Any

import torch
from torch import func

from pullback._torch import compiled_autograd
from pullback.check.stacks.eager import gradient
from pullback.check.stacks.func import batched, contract, grad, hessian, jvp
from pullback.check.stacks.table import Setting, contracted, outputs, pulled, stack

Found = list[torch.Tensor]
COMPILE = "torch.compile"
TWICE = (
    "PyTorch cannot differentiate a compiled region twice, plain code neither: compile torch.func.grad of it instead"
)
INSIDE = "PyTorch does not transform a compiled function: compile the transform instead"


def compiled(fn: Any, backend: str = "aot_eager", **options: Any) -> Any:
    """``fn`` compiled afresh, without a break in the graph."""
    torch.compiler.reset()
    return torch.compile(fn, fullgraph=True, backend=backend, **options)


def _enter(name: str, run: Any, **options: Any) -> None:
    stack(name, COMPILE, cost="compiler", **options)(run)


_enter("compile", lambda s: gradient(compiled(s.fn), s))
_enter("compile, no gradient", lambda s: _no_grad(s), gives="values")
_enter("compile, dynamic shapes", lambda s: gradient(compiled(s.fn, dynamic=True), s))
_enter("compile of the loss", lambda s: _loss(s))
_enter("compile of func.grad", lambda s: list(compiled(grad(s))(*s.tensors)))
_enter("compile of func.jvp", lambda s: compiled(lambda: [jvp(s, i) for i in s.every()])(), gives="tangent")
_enter("compile of jacrev", lambda s: list(compiled(func.jacrev(s.loss, s.every()))(*s.tensors)), real=True)
_enter("compile of jacfwd", lambda s: list(compiled(func.jacfwd(s.loss, s.every()))(*s.tensors)), real=True,
       floor="loud", why="Dynamo of PyTorch 2.9 does not trace forward mode")  # fmt: skip
_enter("compile of hessian", lambda s: contract(s, compiled(hessian(s))(*s.tensors)), real=True, gives="second",
       floor="loud", why="Dynamo of PyTorch 2.9 does not trace forward mode")  # fmt: skip
_enter("compile of vmap", lambda s: gradient(compiled(batched(s)), s))
_enter("compile of vmap of grad", lambda s: [t[1] for t in compiled(func.vmap(grad(s)))(*_stacked(s))])
_enter("compile, around checkpoint", lambda s: gradient(compiled(_checkpointed(s)), s))
_enter("compile, under autocast", lambda s: _autocast(s))
_enter("compiled autograd", lambda s: _compiled_backward(s))
_enter("double backward of a compiled function", lambda s: _twice(s), gives="second",
       newest="loud", floor="loud", why=TWICE)  # fmt: skip
_enter("func.grad of a compiled function", lambda s: list(grad(s, compiled(s.fn))(*s.tensors)),
       newest="loud", floor="loud", why=INSIDE)  # fmt: skip


def _no_grad(s: Setting) -> Found:
    with torch.no_grad():
        return list(outputs(compiled(s.fn)(*s.leaves())))


def _twice(s: Setting) -> Found:
    """Loud also where PyTorch cuts the graph: all that is kept was made inside the region, and there is no gradient."""
    leaves = s.leaves()
    once = pulled(s.loss_of(compiled(s.fn))(*leaves), leaves, create_graph=True)
    return list(torch.autograd.grad(contracted(once, s.directions), leaves))


def _loss(s: Setting) -> Found:
    leaves = s.leaves()
    return pulled(compiled(s.loss)(*leaves), leaves)


def _stacked(s: Setting) -> Found:
    return [torch.stack([t, t]) for t in s.tensors]


def _checkpointed(s: Setting) -> Any:
    return lambda *ts: torch.utils.checkpoint.checkpoint(s.fn, *ts, use_reentrant=False)


def _autocast(s: Setting) -> Found:
    leaves, fn = s.leaves(), compiled(s.fn)
    with torch.autocast("cpu", torch.bfloat16):
        found = outputs(fn(*leaves))
    return pulled(s.loss_of(lambda: found)(), leaves)


def _compiled_backward(s: Setting) -> Found:
    leaves = s.leaves()
    loss = s.loss(*leaves)
    if not loss.requires_grad:
        return [torch.zeros_like(t) for t in leaves]
    with compiled_autograd(torch.compile(backend="aot_eager")):
        loss.backward()
    return [torch.zeros_like(t) if t.grad is None else t.grad for t in leaves]
