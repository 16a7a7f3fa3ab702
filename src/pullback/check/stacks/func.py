"""The transforms of torch.func, and their nesting."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import func

from pullback.check.stacks.eager import gradient
from pullback.check.stacks.table import Setting, contracted, outputs, stack

Found = list[torch.Tensor]
FUNC = "torch.func"


def grad(s: Setting, fn: Any = None) -> Any:
    """The function that gives the gradients of the loss."""
    return func.grad(s.loss_of(fn or s.fn), s.every())


def along(s: Setting) -> Any:
    """The function that gives the gradient along the directions."""
    once = grad(s)
    return lambda *ts: contracted(once(*ts), s.directions)


stack("func.grad", FUNC)(lambda s: list(grad(s)(*s.tensors)))
stack("func.vjp", FUNC)(lambda s: list(func.vjp(s.loss, *s.tensors)[1](torch.tensor(1.0, dtype=real(s)))))
stack("func.jacrev", FUNC, real=True)(lambda s: list(func.jacrev(s.loss, s.every())(*s.tensors)))
stack("func.jacfwd", FUNC, real=True)(lambda s: list(func.jacfwd(s.loss, s.every())(*s.tensors)))
stack("func.jvp", FUNC, gives="tangent")(lambda s: [jvp(s, i) for i in s.every()])
stack("func.linearize", FUNC, gives="tangent", cost="compiler")(lambda s: linearized(s))
stack("vmap", FUNC)(lambda s: gradient(batched(s), s))
stack("vmap, nested", FUNC)(lambda s: gradient(batched(s, levels=2), s))
stack("vmap, chunked", FUNC)(lambda s: gradient(batched(s, chunk_size=1), s))
stack("vmap over one argument", FUNC)(lambda s: gradient(batched(s, only=0), s))
stack("vmap of grad", FUNC)(lambda s: [t[1] for t in func.vmap(grad(s))(*_stacked(s.tensors))])
stack("grad of vmap", FUNC)(lambda s: list(grad(s, batched(s))(*s.tensors)))
stack("vmap of jacfwd", FUNC, real=True)(
    lambda s: [t[1] for t in func.vmap(func.jacfwd(s.loss, s.every()))(*_stacked(s.tensors))]
)
stack("jvp of vmap", FUNC, gives="tangent")(lambda s: [jvp(s, i, batched(s)) for i in s.every()])
stack("grad of grad", FUNC, gives="second")(lambda s: list(func.grad(along(s), s.every())(*s.tensors)))
stack("grad of grad of grad", FUNC, gives="third")(lambda s: third(s))
stack("vmap of grad of grad", FUNC, gives="second")(
    lambda s: [t[1] for t in func.vmap(func.grad(along(s), s.every()))(*_stacked(s.tensors))]
)
stack("jvp of grad, forward over reverse", FUNC, gives="second tangent")(
    lambda s: [func.jvp(_of(along(s), s, i), (s.tensors[i],), (s.directions[i],))[1] for i in s.every()]
)
for _name, _outer, _inner in (
    ("func.hessian", func.jacfwd, func.jacrev),
    ("jacrev of jacrev", func.jacrev, func.jacrev),
    ("jacfwd of jacfwd", func.jacfwd, func.jacfwd),
    ("jacrev of jacfwd", func.jacrev, func.jacfwd),
):
    stack(_name, FUNC, gives="second", real=True)(lambda s, o=_outer, i=_inner: _contract(s, hessian(s, o, i)))


def real(s: Setting) -> torch.dtype:
    """The real dtype of the loss."""
    return s.tensors[0].real.dtype


def jvp(s: Setting, which: int, fn: Any = None) -> torch.Tensor:
    """The tangent of the loss when one tensor moves in its direction."""
    loss = _of(s.loss_of(fn or s.fn), s, which)
    moved: torch.Tensor = func.jvp(loss, (s.tensors[which],), (s.directions[which],))[1]
    return moved


def _of(fn: Any, s: Setting, which: int) -> Any:
    def one(tensor: torch.Tensor) -> Any:
        return fn(*[tensor if i == which else t for i, t in enumerate(s.tensors)])

    return one


def linearized(s: Setting) -> Found:
    """The tangents of the loss by `torch.func.linearize`."""
    found = []
    for i in s.every():
        with warnings.catch_warnings():  # of PyTorch's own code
            warnings.filterwarnings("ignore", "Attempted to insert a get_attr Node", UserWarning)
            _, push = func.linearize(_of(s.loss, s, i), s.tensors[i])
        found.append(push(s.directions[i]))
    return found


def batched(s: Setting, levels: int = 1, only: int | None = None, **options: Any) -> Any:
    """The function run over a batch of equal rows, of which the last is returned."""
    dims: Any = 0 if only is None else tuple(0 if i == only else None for i in s.every())

    def run(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        fn = s.fn
        for _ in range(levels):
            fn = func.vmap(fn, dims, **options)
        rows = tensors
        for _ in range(levels):
            rows = tuple(t if only not in (None, i) else torch.stack([t.detach(), t]) for i, t in enumerate(rows))
        return tuple(o[(-1,) * levels] for o in outputs(fn(*rows)))

    return run


def _stacked(tensors: Any) -> Any:
    return [torch.stack([t, t]) for t in tensors]


def third(s: Setting) -> Found:
    """The third derivative, contracted twice."""
    twice = func.grad(along(s), s.every())
    return list(func.grad(lambda *ts: contracted(twice(*ts), s.directions), s.every())(*s.tensors))


def hessian(s: Setting, outer: Any = func.jacfwd, inner: Any = func.jacrev) -> Any:
    """The function that gives the matrix of second derivatives of the loss."""
    return outer(inner(s.loss, s.every()), s.every())


def _contract(s: Setting, matrix: Any) -> Found:
    return contract(s, matrix(*s.tensors))


def contract(s: Setting, blocks: Any) -> Found:
    """Blocks of second derivatives contracted with the directions, on the side of the first derivative."""
    rows = [[torch.tensordot(d, b, d.ndim) for b in row] for d, row in zip(s.directions, blocks, strict=True)]
    return [torch.stack(column).sum(0) for column in zip(*rows, strict=True)]
