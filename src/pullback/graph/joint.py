"""Forward and backward of an autograd.Function in one graph, run with a stand-in for ``ctx``."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from pullback.define.classic import Context
from pullback.graph.formula import Parameter
from pullback.graph.trace import Trace, record

COTANGENT = "grad_output"
"""The name of the cotangent among the inputs of a joint graph."""


def joint(cls: type[torch.autograd.Function], *inputs: Any) -> Trace:
    """One graph from the arguments and the cotangent to the output and the gradient of each tensor argument.

    Args:
        cls: The autograd.Function.
        inputs: Arguments of the kinds and shapes it is applied to.

    Raises:
        TraceError: Where forward or backward cannot be traced; it names the line.

    >>> class Square(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     def backward(ctx, grad_output):
    ...         (x,) = ctx.saved_tensors
    ...         return 2 * x * grad_output
    >>> len(joint(Square, torch.ones(3)).module.graph.nodes)
    6
    """
    names = _names(cls, len(inputs))
    given = dict(zip(names, inputs, strict=True))
    with torch.no_grad():
        out, _ = _forward(cls, inputs)
    cotangent = torch.ones_like(out)

    def call(**values: Any) -> Any:
        gradient = values.pop(COTANGENT)
        output, context = _forward(cls, tuple({**given, **values}.values()))
        result = cls.backward(context, gradient)
        gradients = result if isinstance(result, tuple) else (result,)
        return output, *(g for g, value in zip(gradients, inputs, strict=False) if isinstance(value, torch.Tensor))

    module, guards = record(cls.__name__, call, {**given, COTANGENT: cotangent})
    kinds = {True: "tensor", False: "number"}
    parameters = [Parameter(n, kinds[isinstance(v, torch.Tensor)]) for n, v in given.items() if not isinstance(v, str)]
    return Trace(cls.__name__, tuple(parameters), module, guards)


def _forward(cls: Any, args: tuple[Any, ...]) -> tuple[Any, Context]:
    context = Context([isinstance(a, torch.Tensor) and a.is_floating_point() for a in args])
    if cls.setup_context is torch.autograd.Function.setup_context:
        return cls.forward(context, *args), context
    output = cls.forward(*args)
    cls.setup_context(context, args, output)
    return output, context


def _names(cls: Any, count: int) -> list[str]:
    """What forward calls its arguments."""
    names = list(inspect.signature(cls.forward).parameters)
    old_style = cls.setup_context is torch.autograd.Function.setup_context
    return names[1 : count + 1] if old_style else names[:count]
