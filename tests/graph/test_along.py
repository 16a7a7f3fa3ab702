"""Formulas with sums, norms and softmax: the printed code against PyTorch's own autograd, first and second order."""

from __future__ import annotations

import exact_arrays
import mpmath
import numpy as np
import pytest
import torch
from formulas import ALONG, STRUCTURED, Case
from formulas_more import COMPLEX, PIECES
from test_derive import can_have_gradient, inputs, plain, printed, second

from pullback._tolerances import gradient_tolerance, value_tolerance
from pullback.graph.parse import parse
from pullback.graph.source import function_source

TABLE = {**ALONG, **STRUCTURED, **PIECES, **{f"complex {name}": case for name, case in COMPLEX.items()}}


@pytest.mark.parametrize("name", TABLE)
def test_equals_autograd(name: str) -> None:
    case = TABLE[name]
    arguments = inputs(name, case, shapes=True)
    tensors = [v for v in arguments.values() if can_have_gradient(v)]
    want_out, out = plain(case)(*arguments.values()), printed(case).apply(*arguments.values())
    weight = torch.linspace(0.5, 1.5, want_out.numel(), dtype=torch.float64).reshape(want_out.shape)
    weight = torch.complex(weight, weight.flip(-1)) if want_out.is_complex() else weight
    want = torch.autograd.grad(want_out, tensors, weight, create_graph=True)
    got = torch.autograd.grad(out, tensors, weight, create_graph=True)
    roughly = gradient_tolerance(torch.float64)._asdict()
    torch.testing.assert_close(got, want, **roughly)
    if not case.once:
        torch.testing.assert_close(second(got, tensors), second(want, tensors), **roughly)


STEP = mpmath.mpf(10) ** -20


@pytest.mark.parametrize("name", ALONG)
def test_equals_mpmath(name: str) -> None:
    """The printed gradient is that of the formula as written, by differences in 60 digits."""
    case = ALONG[name]
    arguments = inputs(name, case, shapes=True)
    tensors = {k: v for k, v in arguments.items() if isinstance(v, torch.Tensor)}
    out = printed(case).apply(*arguments.values())
    weight = torch.linspace(0.5, 1.5, out.numel(), dtype=torch.float64).reshape(out.shape)
    got = dict(zip(tensors, torch.autograd.grad(out, list(tensors.values()), weight), strict=True))
    with mpmath.workdps(60):
        function = plain(case, {"torch": exact_arrays.torch, "F": exact_arrays.functional})
        digits = {k: as_numbers(v) if k in tensors else mpmath.mpf(v) for k, v in arguments.items()}

        def loss(name: str, place: tuple[int, ...], by: mpmath.mpf) -> mpmath.mpf:
            moved = digits[name].copy()
            moved[place] += by
            out = exact_arrays.numbers(function(**{**digits, name: moved}))
            return (out * as_numbers(weight)).sum().item()

        for name, grad in got.items():
            for place in map(tuple, torch.ones_like(grad).nonzero().tolist()):
                want = (loss(name, place, STEP) - loss(name, place, -STEP)) / (2 * STEP)
                error = float(abs(grad[place].item() - want))
                assert error <= value_tolerance(torch.float64).rtol * (1 + abs(want)), (name, place)


def as_numbers(tensor: torch.Tensor) -> exact_arrays.Numbers:
    flat = [mpmath.mpf(v) for v in tensor.flatten().tolist()]
    made = np.empty(len(flat), dtype=object)
    made[:] = flat
    return exact_arrays.numbers(made.reshape(tuple(tensor.shape)))


@pytest.mark.parametrize("text", ["z / (1 + z.abs())", "z / z.abs()", "torch.sqrt(z ** 2)", "torch.exp(a * z)"])
def test_where_complex_numbers_would_be_wrong_it_says_so(text: str) -> None:
    """Nothing in the formula says that its arguments are complex, and no short gradient serves both kinds."""
    case = Case(text, kinds={"z": "complex"})
    arguments = inputs("refused", case)
    with pytest.raises((TypeError, RuntimeError, NotImplementedError)):
        printed(case).apply(*arguments.values()).abs().sum().backward()


def test_gradients_of_real_arguments_need_no_conjugate() -> None:
    assert "conj" in function_source(parse("torch.tanh(x) * y"))
    assert "conj" not in function_source(parse("torch.tanh(x) * y", domain="real"))


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
