"""Values entry by entry, the verdict, the formula and the patch, the smallest case."""

from __future__ import annotations

import signal

import numpy
import pytest
import torch
from torch.autograd import Function

import pullback as pb
from pullback.check import check, proof

SEEDS = (3, 50, 101)


def planted(forward, backward, out: int, at: int, by: float) -> type[Function]:
    """A Function of which one Jacobian entry, d output[out] / d x[at], is off relative to itself."""

    class Planted(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return forward(x)

        @staticmethod
        def backward(ctx, grad_output):
            (x,) = ctx.saved_tensors
            grad = backward(x, grad_output).clone(memory_format=torch.contiguous_format)
            if not grad.numel():
                return grad
            unit = torch.zeros(grad_output.shape, dtype=grad_output.dtype)
            unit.view(-1)[out] = 1
            entry = backward(x, unit).reshape(-1)[at]
            grad.view(-1)[at] += by * entry * grad_output.reshape(-1)[out]
            return grad

    return Planted


def softmax_backward(x: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
    y = torch.softmax(x, -1)
    return y * (g - (g * y).sum(-1, keepdim=True))


def by_numpy(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(numpy.tanh(x.detach().numpy()) * numpy.ones(1))


def dense_by_numpy(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(numpy.tanh(WEIGHT @ x.detach().numpy()))


WEIGHT = numpy.random.default_rng(0).normal(size=(500, 500)) / 20
KINDS = {
    "pointwise": (torch.tanh, lambda x, g: g * (1 - torch.tanh(x) ** 2), (4, 32), (77, 77)),
    "rows": (lambda x: torch.softmax(x, -1), softmax_backward, (6, 16), (17, 20)),
    "opaque": (by_numpy, lambda x, g: g * (1 - torch.tanh(x) ** 2), (4, 6), (9, 9)),
}


def dense_backward(x: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
    weight = torch.from_numpy(WEIGHT)
    return weight.T @ (g * (1 - torch.tanh(weight @ x) ** 2))


def numbers(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("by", [0.0, 1e-6, 1e-2])
def test_one_wrong_entry_is_found(kind, by) -> None:
    forward, backward, shape, entry = KINDS[kind]
    report = check(planted(forward, backward, *entry, by), numbers(*shape))
    assert report.ok is (by == 0.0), str(report)
    assert all(how.startswith("every entry") for how in report.targets[0].coverage.values())
    assert ("wrong-derivative" in report.names()) is (by > 0)


@pytest.mark.parametrize("by", [0.0, 1e-3])
@pytest.mark.parametrize("evaluations", [None, 16])
def test_large_opaque_functions_are_judged_along_random_directions(by, evaluations) -> None:
    class Dense(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return dense_by_numpy(x)

        @staticmethod
        def backward(ctx, grad_output):
            return (1 + by) * dense_backward(ctx.saved_tensors[0], grad_output)

    (target,) = check(Dense, numbers(500), evaluations=evaluations).targets
    assert target.reference == "finite-differences"
    assert target.coverage == {"x": f"{2 if evaluations else 8} random directions"}
    assert (target.status == "fault") is (by > 0)
    order = float(target.notes[0].split()[2].rstrip(","))
    assert (order > 1.9) is (by == 0)


def test_fast_mode_finds_the_same() -> None:
    forward, backward, shape, entry = KINDS["pointwise"]
    x = numbers(*shape)
    assert pb.gradcheck(planted(forward, backward, *entry, 0.0), x, fast_mode=True)
    for place in SEEDS:
        wrong = planted(forward, backward, place, place, 1e-6)
        assert not pb.gradcheck(wrong, x, fast_mode=True, raise_exception=False)


class Silu(Function):
    @staticmethod
    def forward(ctx, x, b):
        ctx.save_for_backward(x)
        ctx.b = b
        return x * torch.sigmoid(b * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(ctx.b * x)
        return grad_output * s * (1 + ctx.b * x * (1 - s)), None


class WrongSilu(Silu):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(ctx.b * x)
        return grad_output * s * (1 + x * (1 - s)), None


def test_a_right_gradient_that_can_be_read_is_proved() -> None:
    (target,) = check(Silu, numbers(3, 4), 1.5).targets
    assert target.verdict == "proved"
    assert check(planted(*KINDS["rows"][:2], 0, 0, 0.0), numbers(3, 4)).targets[0].verdict == "proved"
    assert check(planted(*KINDS["opaque"][:2], 0, 0, 0.0), numbers(3, 4)).targets[0].verdict == "tested"


def test_what_takes_too_long_to_prove_is_tested_and_no_timer_stays(monkeypatch) -> None:
    monkeypatch.setattr(proof, "SECONDS", 1e-3)
    before = signal.getsignal(signal.SIGVTALRM)
    assert check(Silu, numbers(5, 4), 1.5).targets[0].verdict == "tested"
    assert signal.getsignal(signal.SIGVTALRM) == before
    assert signal.getitimer(signal.ITIMER_VIRTUAL)[0] == 0.0


class Thrice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.exp().cumsum(-1)

    @staticmethod
    def backward(ctx, grad_output):
        return 3 * grad_output.flip(-1).cumsum(-1).flip(-1) * ctx.saved_tensors[0].exp()


def test_a_factor_is_no_number_of_elements_where_nothing_is_reduced() -> None:
    (finding,) = [f for f in check(Thrice, numbers(3, 4)) if f.severity == "error"]
    assert finding.cause == "the gradient of 'x' is 3 times the right one"


def test_a_wrong_one_gets_the_formula_and_the_patch() -> None:
    report = check(WrongSilu, numbers(3, 4), 1.5)
    finding = next(f for f in report if f.probe == "values")
    assert "torch.sigmoid(x * b)" in finding.formula
    old, new = finding.evidence["patch"].splitlines()
    assert old.strip() == "-        return grad_output * s * (1 + x * (1 - s)), None"
    assert "ctx.b" in new
    space = {"torch": torch, "grad_output": numbers(3), "x": 2 * numbers(3), "b": 1.5}
    x = space["x"].clone().requires_grad_()
    (right,) = torch.autograd.grad(x * torch.sigmoid(1.5 * x), x, space["grad_output"])
    torch.testing.assert_close(eval(finding.formula, space), right)
    assert finding.formula in str(report)


class ShortSoftmax(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.softmax(x, -1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (kept,) = ctx.saved_tensors
        return kept * (grad_output - grad_output * kept)


def test_a_wrong_one_along_a_dimension_gets_them_too() -> None:
    finding = next(f for f in check(ShortSoftmax, numbers(3, 4)) if f.probe == "values")
    assert "output * (grad_output - torch.sum(grad_output * output" in finding.formula
    assert "+        return kept * (grad_output - torch.sum(grad_output * kept" in finding.evidence["patch"]


def test_the_smallest_case_is_a_script_that_fails(capsys) -> None:
    report = check(WrongSilu, numbers(3, 4), 1.5)
    finding = next(f for f in report if f.probe == "values")
    assert finding.evidence["smallest"] == {"x": [1, 1]}
    exec(finding.evidence["script"], {"WrongSilu": WrongSilu})
    printed = capsys.readouterr().out
    assert printed.startswith("tensor([[")
    got, right = (line.rpartition("# ")[2] for line in finding.evidence["script"].splitlines()[-2:])
    assert got.removeprefix("got ") != right.removeprefix("right: ")
    assert "to reproduce" in str(report)


def test_a_part_of_a_report_is_asked_for() -> None:
    (target,) = check(WrongSilu, numbers(3, 4), 1.5, probes=["values"]).targets
    assert {finding.probe for finding in target.findings} == {"values"}
    assert check(WrongSilu, numbers(3, 4), 1.5, probes=["contract"]).findings == []
