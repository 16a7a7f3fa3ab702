"""Forward and backward in one graph: of a Function by its rules, of an autograd.Function by a stand-in for ``ctx``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from pullback.define.classic import Context
from pullback.define.decorate import function_of
from pullback.define.function import Function
from pullback.define.keep import Kept
from pullback.errors import TraceError
from pullback.graph.formula import Parameter
from pullback.graph.trace import Trace, record

_pullback_forward = True  # forwards run from here may keep what their rules name

COTANGENT = "grad_output"
"""The name of the cotangent among the inputs of a joint graph."""


def joint(target: Any, *inputs: Any) -> Trace:
    """One graph from the arguments and the cotangent to the output and the gradient of each tensor argument.

    Args:
        target: A Function or an autograd.Function.
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
    run = _runner(target)
    given = dict(zip(names_of(target, len(inputs)), inputs, strict=True))
    with torch.no_grad():
        output = output_of(target, given)
    if not isinstance(output, torch.Tensor):
        got, do = f"a {type(output).__name__}", "trace a function of each output"
        raise TraceError(target.__name__, "one output that is a tensor", got, do)
    cotangent = torch.ones_like(output)

    def call(**values: Any) -> Any:
        gradient = values.pop(COTANGENT)
        return run({**given, **values}, gradient)

    recorded = {**given, COTANGENT: cotangent}
    module, guards = record(target.__name__, call, recorded)
    kinds = {True: "tensor", False: "number"}
    parameters = [Parameter(n, kinds[isinstance(v, torch.Tensor)]) for n, v in given.items() if not isinstance(v, str)]
    return Trace(target.__name__, tuple(parameters), module, guards, recorded)


def names_of(target: Any, count: int) -> list[str]:
    """What the arguments are called."""
    made = function_of(target)
    return list(made.params) if made is not None else _names(target, count)


def output_of(target: Any, given: dict[str, Any]) -> Any:
    """What forward returns, run as plain PyTorch."""
    return _runner(target)(given, None)[0]


def _runner(target: Any) -> Callable[..., tuple[Any, ...]]:
    made = function_of(target)
    return partial(_by_rules, made) if made is not None else partial(_by_class, target)


def _by_class(cls: Any, given: dict[str, Any], gradient: Any) -> tuple[Any, ...]:
    """The output, and given a cotangent the gradients that backward returns for tensors."""
    output, context = _forward(cls, tuple(given.values()))
    if gradient is None:
        return (output,)
    result = cls.backward(context, gradient)
    gradients = result if isinstance(result, tuple) else (result,)
    return output, *(g for g, value in zip(gradients, given.values(), strict=False) if isinstance(value, torch.Tensor))


def _by_rules(made: Function[..., Any], given: dict[str, Any], gradient: Any) -> tuple[Any, ...]:
    """The output, and given a cotangent what the rules return; nothing for arguments without a rule of their own."""
    result = made.fn(*given.values())
    output, kept = (result.out, result.named) if isinstance(result, Kept) else (result, {})
    values, gradients = {**given, **kept, "out": output}, dict[str, Any]()
    tensors = [name for name, value in given.items() if isinstance(value, torch.Tensor)]
    for rule in dict.fromkeys(made.declared(name) for name in tensors if gradient is not None):
        if rule is not None:
            returned = rule.fn(gradient, *(values[want] for want in rule.wants))
            gradients.update(zip(rule.args, returned if len(rule.args) > 1 else (returned,), strict=True))
    return output, *(gradients.get(name) for name in tensors)


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
