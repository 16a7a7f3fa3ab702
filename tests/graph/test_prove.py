"""Hand-written backwards: right ones are proved, wrong ones get the right formula."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import pullback
from pullback.graph.prove import prove
from pullback.graph.shown import shown

sigmoid = torch.sigmoid


def hand_written(forward: Callable[..., Any], backward: Callable[..., Any]) -> type[torch.autograd.Function]:
    """A class as its author would have written it."""

    class Hand(torch.autograd.Function):
        @staticmethod
        def backward(ctx: Any, grad_output: torch.Tensor) -> Any:
            return backward(grad_output, *ctx.saved_tensors)

    names = ", ".join("xyz"[: forward.__code__.co_argcount])
    space: dict[str, Any] = {"f": forward}
    exec(f"def forward(ctx, {names}):\n    ctx.save_for_backward({names})\n    return f({names})", space)
    Hand.forward = staticmethod(space["forward"])  # type: ignore[method-assign]
    return Hand


RIGHT: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "silu": (lambda x: x * sigmoid(x), lambda g, x: g * sigmoid(x) * (1 + x * (1 - sigmoid(x)))),
    "silu_exp": (
        lambda x: x * sigmoid(x),
        lambda g, x: g * (sigmoid(x) + x * torch.exp(-x) / (1 + torch.exp(-x)) ** 2),
    ),
    "mish": (
        lambda x: x * torch.tanh(F.softplus(x)),
        lambda g, x: g * (torch.tanh(F.softplus(x)) + x * sigmoid(x) * (1 - torch.tanh(F.softplus(x)) ** 2)),
    ),
    "relu": (lambda x: x.clamp(min=0), lambda g, x: g * (x > 0)),
    "relu_where": (torch.relu, lambda g, x: torch.where(x <= 0, torch.zeros_like(g), g)),
    "gelu": (
        F.gelu,
        lambda g, x: g * (0.5 * (1 + torch.erf(x / math.sqrt(2))) + x * torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)),
    ),
    "hardswish": (
        lambda x: x * F.relu6(x + 3) / 6,
        lambda g, x: g * torch.where(x < -3, 0, torch.where(x > 3, 1, (2 * x + 3) / 6)),
    ),
    "elu": (lambda x: F.elu(x, 1.5), lambda g, x: torch.where(x > 0, g, g * 1.5 * x.exp())),
    "product": (lambda x, y: x * y, lambda g, x, y: (g * y, g * x)),
    "norm": (
        lambda x, y: torch.sqrt(x * x + y * y),
        lambda g, x, y: (g * x / torch.sqrt(x * x + y * y), g * y / torch.sqrt(x * x + y * y)),
    ),
    "atan2": (torch.atan2, lambda g, x, y: (g * y / (x * x + y * y), -g * x / (x * x + y * y))),
    "snake": (
        lambda x, y: x + torch.sin(y * x) ** 2 / y,
        lambda g, x, y: (
            g * (1 + torch.sin(2 * x * y)),
            g * (x * torch.sin(2 * x * y) / y - torch.sin(x * y) ** 2 / y**2),
        ),
    ),
    "softsign": (lambda x: x / (1 + x.abs()), lambda g, x: g / (1 + x.abs()) ** 2),
    "log_cosh": (lambda x: torch.log(torch.cosh(x)), lambda g, x: g * torch.tanh(x)),
}


def rows(x: torch.Tensor) -> torch.Tensor:
    """The sums of the last dimension, kept."""
    return x.sum(-1, keepdim=True)


def layer_norm(g: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    deviation = (x.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    unit, n = (x - x.mean(-1, keepdim=True)) / deviation, x.shape[-1]
    return (g - rows(g) / n - unit * rows(g * unit) / n) / deviation


ALONG: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "sum of squares": (lambda x: (x**2).sum(), lambda g, x: g * 2 * x, ((5,),)),
    "mean": (lambda x: x.mean(-1), lambda g, x: (g / x.shape[-1]).unsqueeze(-1).expand_as(x), ((5, 3),)),
    "softmax": (
        lambda x: torch.softmax(x, -1),
        lambda g, x: torch.softmax(x, -1) * (g - rows(g * torch.softmax(x, -1))),
        ((4, 5),),
    ),
    "log softmax": (lambda x: torch.log_softmax(x, -1), lambda g, x: g - torch.softmax(x, -1) * rows(g), ((4, 5),)),
    "log sum": (lambda x: torch.logsumexp(x, 0), lambda g, x: g * torch.softmax(x, 0), ((2,),)),
    "matrices": (lambda x, y: x @ y, lambda g, x, y: (g @ y.T, x.T @ g), ((4, 5), (5, 6))),
    "einsum": (
        lambda x, y: torch.einsum("bi,bj->bij", x, y),
        lambda g, x, y: (torch.einsum("bij,bj->bi", g, y), torch.einsum("bij,bi->bj", g, x)),
        ((4, 3), (4, 2)),
    ),
    "layer norm": (lambda x: F.layer_norm(x, (x.shape[-1],)), layer_norm, ((5, 2),)),
    "length": (
        lambda x: x.norm(dim=-1),
        lambda g, x: g.unsqueeze(-1) * x / x.norm(dim=-1, keepdim=True),
        ((4, 5),),
    ),
    "outer": (lambda x, y: x.unsqueeze(-1) * y, lambda g, x, y: (g @ y, x @ g), ((4,), (5,))),
    "running sum": (lambda x: x.cumsum(0), lambda g, x: g.flip(0).cumsum(0).flip(0), ((6,),)),
    "largest": (
        lambda x: x.amax(-1),
        lambda g, x: torch.where(x == x.amax(-1, keepdim=True), g.unsqueeze(-1), torch.zeros_like(x)),
        ((2, 3),),
    ),
    "difference": (lambda x: x[1:] - x[:-1], lambda g, x: F.pad(g, (1, 0)) - F.pad(g, (0, 1)), ((5,),)),
    "bias": (lambda x, y: x * y, lambda g, x, y: (g * y, (g * x).sum(0)), ((4, 5), (5,))),
    "in place": (lambda x: (x * 2).add_(x.sum()), lambda g, x: g * 2 + g.sum(), ((5,),)),
    "a size in a number": (lambda x: x.sum() / 5, lambda g, x: (g / x.numel()).expand(5), ((5,),)),
}
"""Right ones that are not pointwise: forward, backward, and the shapes of the arguments."""

WRONG: dict[str, tuple[Callable[..., Any], Callable[..., Any], str]] = {
    "sign": (
        lambda x: x * sigmoid(x),
        lambda g, x: g * sigmoid(x) * (1 + x * (1 + sigmoid(x))),
        "grad_output * torch.sigmoid(x) * (1 + x * (1 - torch.sigmoid(x)))",
    ),
    "cotangent": (lambda x: x**2, lambda g, x: 2 * x, "2 * grad_output * x"),
    "factor": (lambda x: torch.exp(3 * x), lambda g, x: g * torch.exp(3 * x), "3 * grad_output * output"),
    "branch": (
        lambda x: torch.where(x > 2, x, x * x),
        lambda g, x: 2 * g * x,
        "grad_output * torch.where(x > 2, 1, 2 * x)",
    ),
    "slight": (torch.tanh, lambda g, x: g * (1.0005 - torch.tanh(x) ** 2), "grad_output * (1 - output**2)"),
}


def arguments(forward: Callable[..., Any]) -> list[torch.Tensor]:
    count = getattr(forward, "__code__", None)
    return [torch.rand(3, dtype=torch.float64) for _ in range(count.co_argcount if count else 1)]


@pytest.mark.parametrize("name", RIGHT)
def test_right_ones_are_proved(name: str) -> None:
    forward, backward = RIGHT[name]
    wrapped = {
        torch.relu: lambda x: torch.relu(x),
        F.gelu: lambda x: F.gelu(x),
        torch.atan2: lambda x, y: torch.atan2(x, y),
    }
    forward = wrapped.get(forward, forward)
    judged = prove(hand_written(forward, backward), *arguments(forward))
    assert {judgement.verdict for judgement in judged.values()} == {"proved"}


@pytest.mark.parametrize("name", ALONG)
def test_right_ones_along_dimensions_are_proved(name: str) -> None:
    """For all values of small tensors, and never judged by a size that is written as a number."""
    forward, backward, shapes = ALONG[name]
    judged = prove(hand_written(forward, backward), *(torch.rand(shape, dtype=torch.float64) for shape in shapes))
    assert {judgement.verdict for judgement in judged.values()} == {"proved"}


class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        y = torch.softmax(x, -1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> torch.Tensor:
        (y,) = ctx.saved_tensors
        return y * (grad_output - grad_output * y)


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x, w = ctx.saved_tensors
        return grad_output @ w.T, (x.T @ grad_output) / 2


class SquaredError(torch.autograd.Function):
    @staticmethod
    def forward(x: torch.Tensor, y: torch.Tensor, scale: float) -> torch.Tensor:
        return scale * ((x - y) ** 2).mean(-1)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: torch.Tensor) -> None:
        ctx.save_for_backward(*inputs[:2])
        ctx.scale = inputs[2]

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, None]:
        x, y = ctx.saved_tensors
        whole = 2 * ctx.scale * grad_output.unsqueeze(-1) * (x - y)
        return whole, -whole / x.shape[-1], None


class Unit(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x / x.norm(dim=-1, keepdim=True)

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return grad_output / x.norm(dim=-1, keepdim=True)


NOT_POINTWISE: dict[str, tuple[Any, tuple[Any, ...], str, str]] = {
    "softmax": (
        Softmax,
        (torch.rand(3, 4),),
        "x",
        "output * (grad_output - torch.sum(grad_output * output, dim=-1, keepdim=True))",
    ),
    "product": (Product, (torch.rand(3, 4), torch.rand(4, 2)), "w", "x.mT @ grad_output"),
    "reduction": (SquaredError, (torch.rand(3, 4), torch.rand(3, 4), 0.5), "x", ".unsqueeze(-1)"),
    "norm": (Unit, (torch.rand(3, 4),), "x", "torch.sum(x**2, dim=-1, keepdim=True) ** 1.5"),
}
"""Wrong classes: arguments, which gradient is wrong, and what the right formula has in it."""


@pytest.mark.parametrize("name", NOT_POINTWISE)
def test_wrong_ones_along_dimensions_get_the_formula_too(name: str) -> None:
    """As PyTorch derives it from forward: what is shown has been compared."""
    cls, given, wrong, part = NOT_POINTWISE[name]
    judged = prove(cls, *(v.double() if isinstance(v, torch.Tensor) else v for v in given))
    assert {k for k, j in judged.items() if j.verdict == "wrong"} == {wrong}
    assert part in judged[wrong].formula


def test_where_pytorch_has_no_gradient_nothing_is_shown() -> None:
    class Steps(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return (x > 0.5).double().sum(-1)

        @staticmethod
        def backward(ctx: Any, grad_output: torch.Tensor) -> torch.Tensor:
            return grad_output.unsqueeze(-1).expand(3, 4)

    (judgement,) = prove(Steps, torch.rand(3, 4, dtype=torch.float64)).values()
    assert (judgement.verdict, judgement.formula) == ("wrong", "")


def test_a_formula_that_is_not_what_forward_does_here_is_not_shown() -> None:
    """The reader takes ``w`` for a matrix; with a vector the gradient of ``x`` is an outer product."""
    matrix, vector = torch.rand(4, 4, dtype=torch.float64), torch.rand(4, dtype=torch.float64)
    assert shown(Product, "x", (matrix, matrix)) == "grad_output @ w.mT"
    assert shown(Product, "x", (matrix, vector)) == ""


def test_one_tensor_given_twice_is_two_arguments() -> None:
    x = torch.rand(3, dtype=torch.float64)
    judged = prove(hand_written(lambda x, y: x**2 * y, lambda g, x, y: (g * 2 * x * y, g * x**2)), x, x)
    assert {name: judgement.verdict for name, judgement in judged.items()} == {"x": "proved", "y": "proved"}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_ones_get_the_formula(name: str) -> None:
    forward, backward, formula = WRONG[name]
    forward = (lambda x: torch.tanh(x)) if forward is torch.tanh else forward
    (judgement,) = prove(hand_written(forward, backward), *arguments(forward)).values()
    assert (judgement.verdict, judgement.formula) == ("wrong", formula)
    assert judgement.point["theirs"] != judgement.point["right"]


def test_rules_of_a_function_are_judged() -> None:
    @pullback.function
    def swish(x: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        gate = torch.sigmoid(b * x)
        return pullback.keep(x * gate, gate=gate)

    @swish.grad("x")
    def _(g: torch.Tensor, x: torch.Tensor, b: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
        return g * gate * (1 + b * x * (1 - gate))

    @swish.grad("b")
    def _(g: torch.Tensor, x: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
        return g * x * gate * (1 - gate)

    judged = prove(swish, torch.rand(3, dtype=torch.float64), torch.rand((), dtype=torch.float64))
    assert {name: judgement.verdict for name, judgement in judged.items()} == {"x": "proved", "b": "wrong"}
    assert judged["b"].formula == "grad_output * torch.sigmoid(x * b) * (1 - torch.sigmoid(x * b)) * x * x"


def test_rounded_constants_are_tested_not_proved() -> None:
    """The often-copied gelu gradient has constants of six digits."""

    def backward(g: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        inner = 0.0356774 * x**3 + 0.797885 * x
        return g * (0.5 * torch.tanh(inner) + (0.0535161 * x**3 + 0.398942 * x) / torch.cosh(inner) ** 2 + 0.5)

    cls = hand_written(lambda x: F.gelu(x, approximate="tanh"), backward)
    assert prove(cls, torch.rand(3, dtype=torch.float64))["x"].verdict == "tested"
