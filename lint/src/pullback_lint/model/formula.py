"""Gradients of plain elementwise Functions beside the derivatives of their forwards, on numbers."""

from __future__ import annotations

import functools
import itertools
from typing import NamedTuple

from pullback_lint.model.function import Function
from pullback_lint.model.method import Method
from pullback_lint.model.scalar import Interpreter, NotElementwiseError, Number

POSITIVE = (0.37, 1.3, 0.83, 0.59, 1.71, 0.21, 1.13)
"""Values that the inputs take in turn; with them logarithms and roots exist."""

MIXED = (-0.41, 0.77, -1.19, 1.43, -0.67, 0.29, -1.57)
"""The same with both signs, where the formulas allow it."""

ROUNDS = 3
COTANGENT = 1.37
STEP = 1e-5
TOLERANCE = 1e-5


class Compared(NamedTuple):
    """The gradient of one input at several points, and what it would be by the chain rule."""

    place: int
    got: tuple[float, ...]
    wanted: tuple[float, ...]

    @property
    def is_wrong(self) -> bool:
        """Whether the two differ at every point."""
        return not any(map(agree, self.got, self.wanted))


def agree(one: float, other: float) -> bool:
    """Whether two numbers are the same but for rounding."""
    return abs(one - other) <= TOLERANCE * max(1.0, abs(one), abs(other))


@functools.lru_cache(maxsize=64)
def compare(function: Function) -> tuple[Compared, ...]:
    """The gradients of a Function beside the derivatives; nothing where it is not a plain elementwise formula.

    Args:
        function: The class.
    """
    forward, backward = function.forward, function.backward
    if forward is None or backward is None or function.has_setup_context or function.is_operator:
        return ()
    if len(backward.parameters) != 1 or not 1 <= len(function.inputs) <= len(POSITIVE):
        return ()
    positive = _compared(function, forward, backward, POSITIVE)
    if any(item.is_wrong for item in positive):
        return positive
    return _compared(function, forward, backward, MIXED) if positive else ()


def _compared(function: Function, forward: Method, backward: Method, values: tuple[float, ...]) -> tuple[Compared, ...]:
    try:
        rounds = [_round(function, forward, backward, values, shift) for shift in range(ROUNDS)]
    except (NotElementwiseError, ArithmeticError, ValueError, RecursionError):
        return ()
    if all(is_identity for is_identity, _ in rounds):
        return ()
    return tuple(
        Compared(index, tuple(pair[index][0] for _, pair in rounds), tuple(pair[index][1] for _, pair in rounds))
        for index in rounds[0][1]
    )


Pairs = dict[int, tuple[float, float]]


def _round(
    function: Function, forward: Method, backward: Method, values: tuple[float, ...], shift: int
) -> tuple[bool, Pairs]:
    """Whether forward returns an input at one point, and for each input the gradient and the derivative."""
    names = [parameter.name for parameter in function.inputs]
    point = dict(zip(names, itertools.islice(itertools.cycle(values), shift, None), strict=False))
    start = Interpreter(forward.imports, forward.ctx, dict(point), {})
    outputs = start.run(forward.node.body)
    cotangent = backward.parameters[0].name
    gradients = Interpreter(backward.imports, backward.ctx, {cotangent: COTANGENT}, start.kept).run(backward.node.body)
    if len(outputs) != 1 or len(gradients) < len(names):
        raise NotElementwiseError
    pairs = {
        index: (float(got), COTANGENT * _derivative(forward, point, names[index]))
        for index, got in enumerate(gradients[: len(names)])
        if got is not None
    }
    return outputs[0] in point.values(), pairs


def _derivative(forward: Method, point: dict[str, float], name: str) -> float:
    """The derivative by central differences, to fourth order."""
    values = [_value(forward, {**point, name: point[name] + factor * STEP}) for factor in (-2, -1, 1, 2)]
    return (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * STEP)


def _value(forward: Method, point: dict[str, float]) -> Number:
    (value,) = Interpreter(forward.imports, forward.ctx, dict(point), {}).run(forward.node.body)
    if value is None:
        raise NotElementwiseError
    return value
