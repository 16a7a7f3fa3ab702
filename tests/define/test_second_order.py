"""Second and third derivatives are those of the declared gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from cases import Case, Inputs, having
from compare import assert_gradients, cotangents, declared, gradients, leaves, outputs_of

import pullback as pb

SECOND = having("second")


def scalar(tensors: list[torch.Tensor | None]) -> torch.Tensor | None:
    """Some smooth real function of all elements of all tensors that depend on something."""
    total = None
    for i, t in enumerate(tensors):
        if t is None or not t.requires_grad:
            continue
        parts = torch.view_as_real(t.resolve_conj()) if t.is_complex() else t
        weights = torch.linspace(0.5, 1.5 + i, parts.numel(), dtype=parts.dtype).reshape(parts.shape)
        term = (weights * parts).sum() + 0.5 * (parts * parts).sum()
        total = term if total is None else total + term
    return total


def higher(inputs: Inputs, pull: Callable[..., Any], order: int) -> list[torch.Tensor | None]:
    """Gradients of a function of gradients of …, with respect to arguments and cotangents."""
    tensors = leaves(inputs.tensors)
    outputs = inputs.flat(inputs.case.plain)(*[t.detach() for t in tensors])
    gs = leaves(cotangents(outputs))
    grads = pull(inputs, tensors, gs, again=True)
    wanted = [*tensors, *gs]
    for _ in range(order - 1):
        loss = scalar(grads)
        if loss is None:
            return [None] * len(wanted)
        grads = list(torch.autograd.grad(loss, wanted, create_graph=True, allow_unused=True))
    return grads


@pytest.mark.parametrize("order", [2, 3], ids=["second", "third"])
@pytest.mark.parametrize("case", SECOND, ids=lambda case: case.name)
def test_higher_order(case: Case, order: int) -> None:
    inputs = case.inputs()
    for _ in range(2):
        assert_gradients(higher(inputs, gradients, order), higher(inputs, declared, order))


@pytest.mark.parametrize("case", SECOND, ids=lambda case: case.name)
def test_create_graph_changes_no_number(case: Case) -> None:
    inputs, outputs = outputs_of(case)
    tensors, gs = leaves(inputs.tensors), cotangents(outputs)
    recorded = gradients(inputs, tensors, gs, again=True)
    assert_gradients(recorded, gradients(inputs, tensors, gs))


@pb.function
def cube(x):
    return x**3


@cube.grad("x")
def _(g, x):
    return 3 * x**2 * g


def test_hooks_may_measure_what_a_rule_saves() -> None:
    sizes: list[int] = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        sizes.append(tensor.untyped_storage().nbytes())
        return tensor

    x = torch.tensor([1.0, -2.0], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        (first,) = torch.autograd.grad(cube(x).sum(), x, create_graph=True)
    assert torch.autograd.grad(first.sum(), x)[0].tolist() == [6.0, -12.0]
    assert sizes
