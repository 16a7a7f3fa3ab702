"""`fuse`: a plain formula, forward and backward as one pass each."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from pullback.define.decorate import function_from
from pullback.define.function import Function
from pullback.kernels import graphs, way

__all__ = ["fuse", "graphs", "way"]

P = ParamSpec("P")
R = TypeVar("R")


def fuse(fn: Callable[P, R], /) -> Function[P, R]:
    """A plain function of tensors, made a Function whose gradients are derived and whose calls run fused.

    Small tensors are left to PyTorch, which is faster there.

    Where no kernel can serve (the code is not pointwise, reads what may change, there is no compiler), it runs as it
    is written; ``describe`` says why.

    Args:
        fn: A function of tensors, and of numbers, with named parameters.

    Returns:
        A Function with the same signature.

    Raises:
        DefinitionError: As `pullback.function` does.

    Example:
        >>> import torch, pullback as pb
        >>> @pb.fuse
        ... def snake(x, a):
        ...     return x + torch.sin(a * x) ** 2 / a
        >>> x, a = torch.zeros(3, requires_grad=True), torch.ones(())
        >>> snake(x, a).sum().backward(); x.grad
        tensor([1., 1., 1.])
    """
    fused = function_from(fn)
    fused.__pullback__.plain = True
    return fused  # type: ignore[no-any-return]
