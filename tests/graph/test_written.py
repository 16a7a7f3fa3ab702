"""``f.source()`` is what ``pullback derive`` prints, and runs alone."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from compare import assert_gradients

import pullback as pb
from pullback.errors import UsageError
from pullback.graph.parse import parse
from pullback.graph.source import autograd_source, function_source

VALUES = torch.linspace(-2, 2, 9, dtype=torch.float64)


@pb.function
def swish(x: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Swish with a slope."""
    return x * torch.sigmoid(b * x)


def gate(x: torch.Tensor) -> torch.Tensor:
    return torch.sigmoid(x)


@pb.function
def calls_another(x: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return x * gate(b * x)


def test_it_is_what_the_command_prints() -> None:
    formula = parse("x * torch.sigmoid(b * x)", name="swish")
    assert swish.source().count("@swish.grad") == function_source(formula).count("@swish.grad") == 2
    assert swish.source("autograd").splitlines()[-3:] == autograd_source(formula).splitlines()[-3:]
    assert r"\begin{aligned}" in swish.source("latex")


@pytest.mark.parametrize("function", [swish, calls_another])
@pytest.mark.parametrize("form", ["function", "autograd", "classic"])
def test_it_runs_alone(function: Any, form: str) -> None:
    space: dict[str, Any] = {}
    exec(function.source(form), space)
    name = function.__name__
    made = space[name] if form == "function" else next(v.apply for v in space.values() if _is_class(v))
    x, b = VALUES.clone().requires_grad_(), torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
    got = torch.autograd.grad(made(x, b).sum(), (x, b))
    assert_gradients(got, torch.autograd.grad((x * torch.sigmoid(b * x)).sum(), (x, b)))


def _is_class(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, torch.autograd.Function)


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(UsageError, match="'latex'"):
        swish.source("c")
