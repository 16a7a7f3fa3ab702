"""Tensors that are not plain ones: subclasses, tensors without values, modes that see every operation."""

from __future__ import annotations

from typing import Any

import torch

from pullback._torch import TorchDispatchMode, TorchFunctionMode, pytree, without_values, wrapper
from pullback.check.stacks.table import Setting, outputs, pulled, stack

Found = list[torch.Tensor]
TENSORS = "Other tensors, and modes"


class Tagged(torch.Tensor):
    """A subclass that changes nothing, with PyTorch's own ``__torch_function__``."""


class Wrapped(torch.Tensor):
    """A subclass around another tensor, whose ``__torch_dispatch__`` runs every operation on what is inside."""

    held: torch.Tensor

    @staticmethod
    def __new__(cls, inner: torch.Tensor) -> Wrapped:
        """A tensor that looks like ``inner``."""
        return wrapper(cls, inner)  # type: ignore[no-any-return]

    def __init__(self, inner: torch.Tensor) -> None:
        self.held = inner

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """The operation's result on the tensors inside, wrapped."""
        args, kwargs = pytree.tree_map_only(cls, lambda t: t.held, (args, kwargs or {}))
        return pytree.tree_map_only(torch.Tensor, cls, func(*args, **kwargs))


def _inside(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.held if isinstance(tensor, Wrapped) else tensor.as_subclass(torch.Tensor)


@stack("a subclass with `__torch_function__`", TENSORS)
def _(s: Setting) -> Found:
    leaves = s.leaves()
    outs = outputs(s.fn(*[leaf.as_subclass(Tagged) for leaf in leaves]))
    if not all(isinstance(out, Tagged) for out in outs):
        raise AssertionError("an output is no longer of the subclass")
    return [_inside(g) for g in pulled(s.loss_of(lambda: outs)(), leaves)]


# real: inside __torch_dispatch__ PyTorch loses a lazy conj(), w * w.conj() itself is another value there
@stack("a wrapper with `__torch_dispatch__`", TENSORS, real=True)
def _(s: Setting) -> Found:
    leaves = [Wrapped(t.detach().clone()).requires_grad_() for t in s.tensors]
    outs = outputs(s.fn(*leaves))
    if not all(isinstance(out, Wrapped) for out in outs):
        raise AssertionError("an output is no longer of the subclass")
    return [_inside(g) for g in pulled(s.loss_of(lambda: outs)(), leaves)]


@stack("meta tensors", TENSORS, gives="shapes")
def _(s: Setting) -> Found:
    return _zeros(_likes(s, [t.to("meta") for t in s.tensors]))


@stack("fake tensors", TENSORS, gives="shapes")
def _(s: Setting) -> Found:
    with without_values(s.tensors) as tensors, torch.enable_grad():
        found = _likes(s, tensors)
    return _zeros(found)


def _likes(s: Setting, tensors: Found) -> Found:
    """The gradients for all outputs, whatever their values."""
    leaves = [t.detach().requires_grad_() for t in tensors]
    outs = [out for out in outputs(s.fn(*leaves)) if out.requires_grad]
    found = torch.autograd.grad(outs, leaves, [torch.empty_like(o) for o in outs], allow_unused=True)
    return [leaf if g is None else g for leaf, g in zip(leaves, found, strict=True)]


def _zeros(likes: Found) -> Found:
    return [torch.zeros(like.shape, dtype=like.dtype) for like in likes]


class _EveryOperation(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


class _EveryFunction(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


@stack("under a dispatch mode", TENSORS)
def _(s: Setting) -> Found:
    leaves = s.leaves()
    with _EveryOperation():  # type: ignore[no-untyped-call]
        return pulled(s.loss(*leaves), leaves)


@stack("under a function mode", TENSORS)
def _(s: Setting) -> Found:
    leaves = s.leaves()
    with _EveryFunction():
        return pulled(s.loss(*leaves), leaves)
