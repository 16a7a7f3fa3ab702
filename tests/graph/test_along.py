"""Formulas with sums, norms and softmax: the printed code against PyTorch's own autograd, first and second order."""

from __future__ import annotations

import pytest
import torch
from formulas import ALONG, STRUCTURED, Case
from test_derive import inputs, plain, printed, second

from pullback._tolerances import gradient_tolerance
from pullback.graph.parse import parse
from pullback.graph.source import function_source

TABLE = {**ALONG, **STRUCTURED}


@pytest.mark.parametrize("name", TABLE)
def test_equals_autograd(name: str) -> None:
    case = TABLE[name]
    arguments = inputs(name, case, shapes=True)
    tensors = [v for v in arguments.values() if isinstance(v, torch.Tensor)]
    want_out, out = plain(case)(*arguments.values()), printed(case).apply(*arguments.values())
    weight = torch.linspace(0.5, 1.5, want_out.numel(), dtype=torch.float64).reshape(want_out.shape)
    want = torch.autograd.grad(want_out, tensors, weight, create_graph=True)
    got = torch.autograd.grad(out, tensors, weight, create_graph=True)
    roughly = gradient_tolerance(torch.float64)._asdict()
    torch.testing.assert_close(got, want, **roughly)
    torch.testing.assert_close(second(got, tensors), second(want, tensors), **roughly)


@pytest.mark.parametrize("name", ["norm_dim", "layer_norm", "soft_cross_entropy", "logsumexp", "cosine", "linear"])
def test_functions_run(name: str) -> None:
    case = TABLE[name]
    arguments = inputs(name, case, shapes=True)
    space: dict[str, object] = {}
    exec(function_source(parse(case.text, name="formula")), space)
    tensors = list(arguments.values())
    results = [torch.autograd.grad(f(*tensors).sum(), tensors) for f in (space["formula"], plain(case))]
    torch.testing.assert_close(*results)


def test_an_all_infinite_row_gets_no_gradient() -> None:
    x = torch.tensor([[-torch.inf, -torch.inf], [0.0, -torch.inf]], dtype=torch.float64, requires_grad=True)
    (grad,) = torch.autograd.grad(printed(ALONG["logsumexp"]).apply(x).sum(), x)
    assert grad.tolist() == [[0.0, 0.0], [1.0, 0.0]]


def test_a_norm_at_zero_has_gradient_zero() -> None:
    x = torch.zeros(3, 4, dtype=torch.float64, requires_grad=True)
    (grad,) = torch.autograd.grad(printed(ALONG["norm"]).apply(x), x)
    assert grad.tolist() == torch.zeros(3, 4).tolist()


def test_a_product_with_zeros_has_its_gradient() -> None:
    x = torch.tensor([[0.0, 2.0, 3.0], [0.0, 0.0, 5.0]], dtype=torch.float64, requires_grad=True)
    (grad,) = torch.autograd.grad(printed(Case("torch.prod(x, dim=-1)")).apply(x).sum(), x)
    assert grad.tolist() == [[6.0, 0.0, 0.0], [0.0, 0.0, 0.0]]


def test_a_vector_taken_for_a_matrix_is_no_silent_mistake() -> None:
    v = torch.ones(3, dtype=torch.float64)
    m = torch.ones(4, 3, dtype=torch.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match="only supported on matrices"):
        printed(Case("m @ v")).apply(m, v).sum().backward()
