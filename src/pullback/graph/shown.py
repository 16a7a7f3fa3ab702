"""The right gradient where forward is not pointwise: read off forward's text, and shown if it is PyTorch's as well."""

from __future__ import annotations

import ast
import inspect
import math
import textwrap
from typing import Any

import torch

from pullback._tolerances import gradient_tolerance
from pullback.define.decorate import function_of
from pullback.errors import PullbackError
from pullback.graph.derive import gradients
from pullback.graph.formula import COTANGENT, OUT, Formula
from pullback.graph.joint import COTANGENT as COTANGENT_NAME
from pullback.graph.joint import names_of, output_of
from pullback.graph.parse import parse
from pullback.graph.printer import Printer
from pullback.graph.reductions import summed_to

_LONGEST = 240
"""How long a formula may be that is read with profit; longer ones need statements: `pullback derive` writes them."""


def shown(target: Any, name: str, inputs: tuple[Any, ...]) -> str:
    """The gradient of one argument as one expression; nothing where it cannot be read, is long, or is not PyTorch's.

    Args:
        target: A Function or an autograd.Function.
        name: The argument.
        inputs: What it is applied to.
    """
    given = dict(zip(names_of(target, len(inputs)), map(_double, inputs), strict=True))
    try:
        formula = _formula(target, {k for k, v in given.items() if not isinstance(v, torch.Tensor)})
        grad = gradients(formula, [name])[name]
    except (PullbackError, OSError, SyntaxError, KeyError, TypeError):
        return ""
    printer = Printer(formula, {OUT: "output", COTANGENT: COTANGENT_NAME})
    forms = [grad.args[0], grad] if grad.func is summed_to else [grad]
    return next((t for t in map(printer, forms) if len(t) <= _LONGEST and _is_right(target, name, given, t)), "")


def _double(value: Any) -> Any:
    real = isinstance(value, torch.Tensor) and value.is_floating_point()
    return value.detach().double() if real else value


def _formula(target: Any, numbers: set[str]) -> Formula:
    """What forward computes, from its text without the lines about the context."""
    made = function_of(target)
    forward = made.fn if made is not None else target.forward
    node = ast.parse(textwrap.dedent(inspect.getsource(forward))).body[0]
    if not isinstance(node, ast.FunctionDef):
        raise SyntaxError("not a function")
    node.decorator_list, arguments = [], node.args.args
    if made is None and target.setup_context is torch.autograd.Function.setup_context:
        context = arguments.pop(0).arg
        node.body = [s for s in node.body if context not in {n.id for n in ast.walk(s) if isinstance(n, ast.Name)}]
    return parse(ast.unparse(node), name="forward", numbers=tuple(numbers), domain="real")


def _is_right(target: Any, name: str, given: dict[str, Any], text: str) -> bool:
    """Whether the expression gives what PyTorch derives from forward itself."""
    x = given[name].clone().requires_grad_()
    try:
        with torch.enable_grad():
            output = output_of(target, {**given, name: x})
        cotangent = torch.linspace(0.5, 1.5, output.numel(), dtype=output.dtype).reshape(output.shape)
        (right,) = torch.autograd.grad(output, x, cotangent)
        space = {"torch": torch, "math": math, **given, "output": output.detach(), COTANGENT_NAME: cotangent}
        found = eval(text, space)  # our own text of operations that the formula's reader knows
    except (RuntimeError, IndexError, NameError):  # it does not fit these shapes, or PyTorch has no gradient here
        return False
    same = isinstance(found, torch.Tensor) and found.shape == x.shape
    return same and torch.allclose(found, right, *gradient_tolerance(torch.float64))
