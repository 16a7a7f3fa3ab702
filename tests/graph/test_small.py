"""``keep="small"``: within its budget in every dtype, refused beyond it, and as good as exact gradients in training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from sklearn.datasets import load_digits
from test_plan import saved

import pullback as pb
from pullback._tolerances import SMALL
from pullback.errors import DoubleBackwardError

F = torch.nn.functional
ONE_TURN: dict[str, Callable[..., Any]] = {
    "silu": lambda x: F.silu(x),
    "gelu": lambda x: F.gelu(x),
    "gelu by tanh": lambda x: F.gelu(x, approximate="tanh"),
    "mish": lambda x: F.mish(x),
    "swish": lambda x, beta=1.0: x * torch.sigmoid(beta * x),
}
NO_TURN: dict[str, Callable[..., Any]] = {
    "elu": lambda x: F.elu(x),
    "softplus": lambda x: F.softplus(x),
    "softsign": lambda x: x / (1 + x.abs()),
    "atan": lambda x: torch.atan(x),
}
REFUSED: dict[str, Callable[..., Any]] = {
    "turns more than once": lambda x: torch.sin(x),
    "not bounded": lambda x: x**2,
    "would be off by": lambda x: F.hardswish(x),
    "function of one tensor": lambda x, y: F.silu(x) * y,
    "not pointwise": lambda x: F.silu(x) + x.sum(),
    "largest value": lambda x: -F.silu(x),
}


def every(dtype: torch.dtype) -> torch.Tensor:
    """All numbers of a dtype of 16 bits that a network meets, and more of float32 than are tabulated."""
    if dtype == torch.float32:
        return torch.cat([torch.linspace(-12, 12, 100_001), torch.randn(1000) * 1e-3 - 1.2784645])
    numbers = torch.arange(-(2**15), 2**15, dtype=torch.int16).view(dtype)
    return numbers[numbers.abs() <= 1e4]


@pytest.mark.parametrize("dtype", SMALL)
@pytest.mark.parametrize("name", [*ONE_TURN, *NO_TURN])
def test_the_slope_stays_within_the_budget_of_the_dtype(name: str, dtype: torch.dtype) -> None:
    forward = {**ONE_TURN, **NO_TURN}[name]
    x = every(dtype).requires_grad_()
    function = pb.function(keep="small")(forward)
    with saved() as seen:
        out = function(x)
    if "refused" not in str(function.describe(x)):  # written out, a function is less exact in half precision
        assert [t.dtype for t in seen] == [dtype, *([torch.uint8] if name in ONE_TURN else [])]
    (got,) = torch.autograd.grad(out.sum(), x)
    exact = x.detach().double().requires_grad_()
    (want,) = torch.autograd.grad(forward(exact).sum(), exact)
    assert (got.double() - want).abs().max() <= SMALL[dtype]


@pytest.mark.parametrize("reason", REFUSED)
def test_what_cannot_be_read_off_well_enough_is_kept_and_said(reason: str) -> None:
    function = pb.function(keep="small")(REFUSED[reason])
    given = [torch.linspace(-2, 2, 2000).requires_grad_() for _ in function.__pullback__.params]
    with saved() as seen:
        function(*given)
    assert all(t.shape == given[0].shape for t in seen)
    assert reason in str(function.describe(*given))


def test_double_precision_is_refused() -> None:
    assert "no budget for torch.float64" in str(
        pb.function(keep="small")(ONE_TURN["silu"]).describe(torch.ones(4, dtype=torch.float64))
    )


def test_a_second_derivative_is_an_error_that_says_what_to_do() -> None:
    x = torch.linspace(-2, 2, 2000).requires_grad_()
    (slope,) = torch.autograd.grad(pb.function(keep="small")(ONE_TURN["gelu"])(x).sum(), x, create_graph=True)
    with pytest.raises(DoubleBackwardError, match="lossless"):
        slope.sum().backward()


def test_describe_tells_candidates_error_and_winner() -> None:
    text = str(pb.function(keep="small")(ONE_TURN["silu"]).describe(torch.randn(50, 50)))
    for part in ("path: planned", "what the rules name", "output and side", "33", "of the slope  <- kept"):
        assert part in text


def hidden_bits(activation: Callable[..., Any]) -> float:
    """What lies between two linear layers, in bits for each hidden element."""
    torch.manual_seed(0)
    first, second, x = torch.nn.Linear(16, 256), torch.nn.Linear(256, 16), torch.randn(64, 16)
    with saved() as seen:
        second(activation(first(x)))
    own = {t.untyped_storage().data_ptr() for t in (x, *first.parameters(), *second.parameters())}
    kept = {t.untyped_storage().data_ptr(): t for t in seen if t.untyped_storage().data_ptr() not in own}
    return sum(8 * t.numel() * t.element_size() for t in kept.values()) / (64 * 256)


@pytest.mark.parametrize("name", ["gelu", "silu", "mish"])
def test_between_two_linear_layers_33_bits_are_kept_instead_of_64(name: str) -> None:
    assert hidden_bits(ONE_TURN[name]) == 64
    assert hidden_bits(pb.function(keep="small")(ONE_TURN[name])) == 33


def accuracy(activation: Callable[..., Any]) -> float:
    """The share of digits told right by a small network trained with an activation."""
    images, labels = load_digits(return_X_y=True)
    x, y = torch.tensor(images, dtype=torch.float32) / 16, torch.tensor(labels)
    torch.manual_seed(0)
    first, second = torch.nn.Linear(64, 64), torch.nn.Linear(64, 10)
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], 0.01)
    for _ in range(40):
        optimizer.zero_grad()
        F.cross_entropy(second(activation(first(x[::2]))), y[::2]).backward()
        optimizer.step()
    return float((second(activation(first(x[1::2]))).argmax(1) == y[1::2]).float().mean())


@pytest.mark.parametrize("name", ["gelu", "silu", "mish"])
def test_training_on_digits_is_as_good(name: str) -> None:
    exact, small = accuracy(ONE_TURN[name]), accuracy(pb.function(keep="small")(ONE_TURN[name]))
    assert exact > 0.93
    assert abs(small - exact) <= 3 / 898  # three images
