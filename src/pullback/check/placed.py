"""A module as a function: from the same state at every call, in the dtype and on the device of its arguments."""

from __future__ import annotations

import itertools
from typing import Any

import torch

from pullback.check import tree


class Placed:
    """Calls a module with copies of its parameters and buffers, so that no experiment changes them or their dtype.

    A module whose tensors cannot be replaced (scripted, or not made yet) is called as it is.
    """

    def __init__(self, module: torch.nn.Module) -> None:
        self.module = module

    def __call__(self, *args: Any) -> Any:
        """The module's output for these arguments."""
        tensors = list(itertools.chain(self.module.named_parameters(), self.module.named_buffers()))
        if isinstance(self.module, torch.jit.ScriptModule) or any(_is_lazy(t) for _, t in tensors):
            return self.module(*args)
        like = next((t for t in tree.tensors(args) if tree.is_differentiable(t)), None)
        placed = {name: _copied(tensor, like) for name, tensor in tensors}
        return torch.func.functional_call(self.module, placed, args)


def _is_lazy(tensor: torch.Tensor) -> bool:
    return torch.nn.parameter.is_lazy(tensor)


def _copied(tensor: torch.Tensor, like: torch.Tensor | None) -> torch.Tensor:
    if like is None:
        return tensor.detach().clone().requires_grad_(tensor.requires_grad)
    floating = tensor.is_floating_point() and like.is_floating_point()
    dtype = like.dtype if floating else tensor.dtype
    return tensor.detach().to(like.device, dtype, copy=True).requires_grad_(tensor.requires_grad)
