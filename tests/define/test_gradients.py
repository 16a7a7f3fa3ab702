"""Values and gradients of every Function agree with PyTorch's autograd of a formula written another way."""

from __future__ import annotations

import pytest
import torch
from cases import CASES, Case
from compare import assert_gradients, assert_values, cotangents, declared, gradients, leaves, outputs_of

pytestmark = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_values(case: Case, dtype: torch.dtype) -> None:
    inputs, expected = outputs_of(case, dtype)
    assert_values(inputs.flat(case.fn)(*inputs.tensors), expected)


def test_the_output_has_the_structure_of_the_plain_function(case: Case) -> None:
    inputs = case.inputs()
    ours = inputs.run(case.fn, [t.clone() for t in inputs.tensors])
    assert torch.utils._pytree.tree_structure(ours) == torch.utils._pytree.tree_structure(
        inputs.run(case.plain, inputs.tensors)
    )


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("calls", [1, 3], ids=["first call", "later call"])
def test_gradients(case: Case, dtype: torch.dtype, calls: int) -> None:
    inputs, outputs = outputs_of(case)
    gs = cotangents(outputs)
    expected = declared(inputs, leaves(inputs.tensors), gs)
    cast = case.inputs(dtype)
    narrow = [g.to(o.dtype) for g, o in zip(gs, cast.flat(case.plain)(*cast.tensors), strict=True)]
    for _ in range(calls):
        found = gradients(cast, leaves(cast.tensors), narrow)
    assert_gradients(found, [e.to(t.dtype) for e, t in zip(expected, cast.tensors, strict=True)])


def test_gradients_accumulate_in_grad(case: Case) -> None:
    inputs, outputs = outputs_of(case)
    gs = cotangents(outputs)
    tensors = leaves(inputs.tensors)
    for _ in range(2):
        torch.autograd.backward(inputs.flat(case.fn)(*tensors), gs)
    expected = declared(inputs, leaves(inputs.tensors), gs)
    assert_gradients([t.grad for t in tensors], [2 * e for e in expected])


def test_linear_in_the_cotangent(case: Case) -> None:
    inputs, outputs = outputs_of(case)
    one, other = cotangents(outputs, 1), cotangents(outputs, 2)
    tensors = leaves(inputs.tensors)
    both = gradients(inputs, tensors, [2 * a - 3 * b for a, b in zip(one, other, strict=True)])
    first, second = gradients(inputs, tensors, one), gradients(inputs, tensors, other)
    expected = [None if a is None else 2 * a - 3 * b for a, b in zip(first, second, strict=True)]
    assert_gradients(both, expected)
