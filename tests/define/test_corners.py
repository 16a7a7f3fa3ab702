"""Corners that once were wrong: each a call that looks harmless."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch
from compare import assert_gradients

import pullback as pb
from pullback.errors import DefinitionError, ForwardModeError


def test_a_derived_forward_draws_the_same_numbers_from_a_generator_of_its_own() -> None:
    @pb.function
    def drop(x, generator):
        return x * torch.bernoulli(torch.full(x.shape, 0.5), generator=generator) * random.choice((1.0, 2.0))

    generator = torch.Generator().manual_seed(0)
    for _ in range(5):
        x = torch.ones(16, requires_grad=True)
        out = drop(x, generator)
        state, python = generator.get_state(), random.getstate()
        out.sum().backward()
        assert torch.equal(x.grad, out.detach())
        assert torch.equal(generator.get_state(), state)
        assert random.getstate() == python


def test_a_class_may_call_its_attributes_what_it_likes() -> None:
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factors):
            ctx.constant, ctx.dirty, ctx.saved_for_forward = factors, True, "mine"
            return x * sum(factors)

        @staticmethod
        def backward(ctx, grad_output):
            assert ctx.dirty is True
            assert ctx.saved_for_forward == "mine"
            return grad_output * sum(ctx.constant), None

    x = torch.ones(3, requires_grad=True)
    pb.from_autograd(Scale)(x, [1.0, 2.0]).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0, 3.0]


def test_a_class_is_told_that_complex_inputs_need_gradients() -> None:
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            if ctx.needs_input_grad[1]:
                ctx.save_for_backward(x)
            return x * w

        @staticmethod
        def backward(ctx, grad_output):
            (x,) = ctx.saved_tensors
            return None, grad_output * x.conj()

    x, w = torch.full((3,), 2.0 + 1.0j), torch.ones(3, dtype=torch.complex64, requires_grad=True)
    found = torch.autograd.grad(pb.from_autograd(Product)(x, w).abs().sum(), w)
    assert_gradients(found, torch.autograd.grad((x * w).abs().sum(), w))


@pytest.mark.parametrize("limit", [0.5, 100.0])
def test_a_rule_that_is_linear_on_a_part_only_has_no_forward_mode(limit: float) -> None:
    clip = pb.function(lambda x, limit: x.clone())
    clip.grad("x")(lambda g, limit: torch.where(g.abs() > limit, g * 0, g))
    with pytest.raises(ForwardModeError):
        torch.func.jvp(lambda x: clip(x, limit), (torch.ones(2),), (torch.full((2,), 200.0),))


def test_what_is_not_differentiable_has_no_tangent_either() -> None:
    scaled = pb.function(lambda x, m: x * m)
    scaled.grad("x")(lambda g, m: g * m)
    scaled.nondiff("m")
    x, m = torch.ones(3), torch.full((3,), 2.0)
    assert not torch.func.jvp(lambda m: scaled(x, m), (m,), (m,))[1].any()
    assert not torch.func.hessian(lambda m: (scaled(x, m) ** 2).sum())(m).any()


def test_a_residual_that_one_call_did_not_keep_is_named() -> None:
    @pb.function
    def halved(x, kept):
        return pb.keep(x / 2, positive=x > 0) if kept else x / 2

    @halved.grad("x")
    def _(g, positive):
        return g / 2 * positive

    x = torch.ones(3, requires_grad=True)
    halved(x, True).sum().backward()
    with pytest.raises(DefinitionError, match="'positive'"):
        halved(x, False).sum().backward()


def test_functions_are_made_in_comprehensions() -> None:
    scaled = [pb.function(lambda x, k=k: x * k) for k in (1.0, 2.0)]
    assert [f(torch.ones(())).item() for f in scaled] == [1.0, 2.0]


@pytest.mark.parametrize("smooth", [torch.sigmoid, torch.tanh, torch.special.erf])
def test_a_builtin_is_a_smooth_function(smooth: Any) -> None:
    """It does not tell its parameters: it takes the argument that gets its gradient."""
    stepped = pb.function(lambda u, scale: (u > 0).to(u.dtype) * scale)
    stepped.grad_like("u", smooth)
    x = torch.linspace(-1, 1, 5, dtype=torch.float64, requires_grad=True)
    (expected,) = torch.autograd.grad(smooth(x).sum(), x)
    for spike in (pb.surrogate(lambda x: (x > 0).to(x.dtype), like=smooth), lambda x: stepped(x, 1.0)):
        (found,) = torch.autograd.grad(spike(x).sum(), x)
        assert torch.equal(found, expected)


@pytest.mark.parametrize("made", [lambda f: pb.surrogate(f, torch.sigmoid, name="other"),
                                  lambda f: pb.straight_through(f, name="other")])  # fmt: skip
def test_a_name_given_leaves_the_callers_function_as_it_is(made: Any) -> None:
    def step(x: torch.Tensor, at: float = 0.0) -> torch.Tensor:
        """One above."""
        return (x > at).to(x.dtype)

    other = made(step)
    assert (other.__name__, other.__doc__, step.__name__) == ("other", "One above.", "step")
    assert other(torch.tensor([-1.0, 1.0], requires_grad=True)).tolist() == [0.0, 1.0]


class Incomparable:
    """Like an array: what ``==`` gives is no truth value."""

    def __eq__(self, other: object) -> bool:
        raise ValueError("ambiguous")

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("given", [np.array([1.0, 2.0]), Incomparable()], ids=["array", "object"])
@pytest.mark.parametrize("needs", [True, False])
def test_hyperparameters_are_never_compared(given: Any, needs: bool) -> None:
    scaled = pb.function(lambda x, how: 2 * x)
    scaled.grad("x")(lambda g, how: 3 * g)
    x = torch.ones(2, requires_grad=needs)
    for _ in range(2):
        out = scaled(x, given)
    assert out.tolist() == [2.0, 2.0]
    if needs:
        assert torch.autograd.grad(out.sum(), x)[0].tolist() == [3.0, 3.0]


@pytest.mark.parametrize("rule", [lambda g, n: g * n if n > 0 else None, lambda g, n: None if n < 0 else g * n])
def test_a_rule_may_return_none_on_one_path(rule: Any) -> None:
    scaled = pb.function(lambda x, n: x * n)
    scaled.grad("x")(rule)
    x = torch.ones(2, requires_grad=True)
    assert torch.autograd.grad(scaled(x, 2.0).sum(), x)[0].tolist() == [2.0, 2.0]
    assert torch.autograd.grad(scaled(x, -2.0).sum(), x, allow_unused=True)[0] is None
