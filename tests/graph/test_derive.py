"""Derived gradients against PyTorch's own autograd and against mpmath."""

from __future__ import annotations

import functools
import math
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import exact
import mpmath
import pytest
import torch
from formulas import ALONG, CASES, STRUCTURED, Case
from formulas_more import COMPLEX, PIECES

from pullback._tolerances import gradient_tolerance, value_tolerance
from pullback.graph.formula import Formula
from pullback.graph.parse import parse
from pullback.graph.source import autograd_source, function_source

POINTS = 4


def inputs(name: str, case: Case, shapes: bool = False) -> dict[str, object]:
    """Random float64 arguments inside their domains, and plain numbers for the hyperparameters."""
    generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    made: dict[str, object] = {}
    for at, parameter in enumerate(formula(case).parameters):
        low, high = case.domains.get(parameter.name, (-3.0, 3.0))
        if parameter.kind == "number":
            made[parameter.name] = 0.7
            continue
        shape = case.shapes.get(parameter.name, [(3, POINTS), (POINTS,), (3, 1), ()][at % 4] if shapes else (POINTS,))
        made[parameter.name] = _of_kind(case.kinds.get(parameter.name, ""), shape, low, high, generator)
    return {k: v.requires_grad_() if can_have_gradient(v) else v for k, v in made.items()}


def _of_kind(kind: str, shape: tuple[int, ...], low: float, high: float, generator: torch.Generator) -> torch.Tensor:
    parts = [torch.rand(shape, generator=generator, dtype=torch.float64) for _ in range(2)]
    if kind == "index":
        return (2.9 * parts[0]).long()
    if kind == "mask":
        return parts[0] > 0.6
    spread = [low + (high - low) * part for part in parts]
    return torch.complex(*spread) if kind == "complex" else spread[0]


def can_have_gradient(value: object) -> bool:
    """Whether it is a tensor of real or complex numbers."""
    return isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex())


def plain(case: Case, space: dict[str, object] | None = None) -> Callable[..., Any]:
    """The formula as PyTorch, or whatever ``torch`` is in the given names, computes it."""
    lines = case.text.replace("; ", "\n").split("\n")
    names = ", ".join(p.name for p in formula(case).parameters)
    source = f"def plain({names}):\n" + "".join(f"    {line}\n" for line in lines[:-1]) + f"    return {lines[-1]}\n"
    space = {"torch": torch, "F": torch.nn.functional, "math": math, **(space or {})}
    exec(source, space)
    return space["plain"]  # type: ignore[return-value]


def formula(case: Case) -> Formula:
    """The formula of a case, read and derived once for all tests of this process."""
    return _formula(case.text, case.numbers, case.domain)


@functools.cache
def _formula(text: str, numbers: tuple[str, ...], domain: str) -> Formula:
    return parse(text, name="formula", numbers=numbers, domain=domain)


def printed(case: Case, classic: bool = False) -> type[torch.autograd.Function]:
    """The printed autograd.Function, run on its own."""
    space: dict[str, object] = {}
    exec(autograd_source(formula(case), classic=classic), space)
    return space["Formula"]  # type: ignore[return-value]


@pytest.mark.parametrize("name", CASES)
def test_equals_autograd(name: str) -> None:
    """First and second derivatives of the printed code are PyTorch's, over broadcast arguments."""
    case = CASES[name]
    arguments = inputs(name, case, shapes=True)
    tensors = [v for v in arguments.values() if isinstance(v, torch.Tensor)]
    want_out, out = plain(case)(*arguments.values()), printed(case).apply(*arguments.values())
    weight = torch.linspace(0.5, 1.5, want_out.numel(), dtype=torch.float64).reshape(want_out.shape)
    torch.testing.assert_close(out, want_out, rtol=0, atol=0)
    want = torch.autograd.grad(want_out, tensors, weight, create_graph=True)
    got = torch.autograd.grad(out, tensors, weight, create_graph=True)
    exactly, roughly = value_tolerance(torch.float64), gradient_tolerance(case.torch_accuracy or torch.float64)
    torch.testing.assert_close(got, want, **(roughly if case.torch_accuracy else exactly)._asdict())
    torch.testing.assert_close(second(got, tensors), second(want, tensors), **roughly._asdict())


def second(grads: tuple[torch.Tensor, ...], tensors: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """The gradient of a function of all gradients."""
    plain = [torch.view_as_real(g.resolve_conj()) if g.is_complex() else g for g in grads]
    total = sum((g.cos() * g).sum() for g in plain)
    if not total.requires_grad:
        return tuple(map(torch.zeros_like, tensors))
    return torch.autograd.grad(total, tensors, allow_unused=True, materialize_grads=True)


@pytest.mark.parametrize("name", CASES)
def test_equals_mpmath(name: str) -> None:
    """The printed gradient, and its own derivative, are those of the formula as written, evaluated to 30 digits."""
    case = CASES[name]
    arguments = inputs(name, case)
    tensors = {k: v for k, v in arguments.items() if isinstance(v, torch.Tensor)}
    out = printed(case).apply(*arguments.values())
    got = torch.autograd.grad(out, list(tensors.values()), torch.ones_like(out), create_graph=True)
    exactly = value_tolerance(torch.float64).rtol
    roughly = gradient_tolerance(torch.float32 if "lgamma" in case.text else torch.float64).rtol  # 9 digits of trigamma
    with mpmath.workdps(30):
        function = plain(case, {"torch": exact.torch, "math": exact.math})
        for point in range(POINTS):
            at = [mpmath.mpf(v[point].item() if k in tensors else v) for k, v in arguments.items()]
            for name, grad in zip(tensors, got, strict=True):
                orders = [int(k == name) for k in arguments]
                want = derivative(function, at, orders)
                assert float(abs(grad[point].item() - want)) <= exactly * (1 + abs(want)), (name, at)
                if point == 0:
                    want = derivative(function, at, [2 * order for order in orders])
                    assert float(abs(again(grad, tensors[name])[0] - want)) <= roughly * (1 + abs(want)), (name, at)


def derivative(function: Callable[..., Any], at: list[Any], orders: list[int]) -> Any:
    return mpmath.diff(function, at, tuple(orders)) if len(at) > 1 else mpmath.diff(function, at[0], orders[0])


def again(grad: torch.Tensor, x: torch.Tensor) -> list[float]:
    """The second derivatives, element by element."""
    if not grad.requires_grad:
        return [0.0] * x.numel()
    options = {"retain_graph": True, "allow_unused": True, "materialize_grads": True}
    return torch.autograd.grad(grad.sum(), x, **options)[0].tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", CASES)
def test_gradcheck(name: str) -> None:
    """PyTorch's own checker agrees, in both forms of the printed class."""
    case = CASES[name]
    arguments = [
        a[:1].detach().requires_grad_() if isinstance(a, torch.Tensor) else a for a in inputs(name, case).values()
    ]
    assert torch.autograd.gradcheck(printed(case, classic=True).apply, arguments)
    assert torch.autograd.gradgradcheck(printed(case).apply, arguments)


def test_printed_code_is_clean(tmp_path: Path) -> None:
    """Ruff has nothing to say about any printed code, and nothing to format."""
    for name, case in {**ALONG, **STRUCTURED, **PIECES, **COMPLEX, **CASES}.items():
        for kind, text in printed_forms(formula(case)).items():
            (tmp_path / f"{name}_{kind}.py").write_text(text)
    rules = "A,B,C4,E,F,I,N,PIE,RET,RUF,SIM,UP,W"
    for command in (
        ["check", "--isolated", "--no-cache", "--select", rules, "--ignore", "N803,N806"],  # names are the author's
        ["format", "--isolated", "--no-cache", "--diff"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "."], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout[-5000:]


def printed_forms(formula: Formula) -> dict[str, str]:
    """Every form of printed Python."""
    return {
        "function": function_source(formula),
        "autograd": autograd_source(formula),
        "classic": autograd_source(formula, classic=True),
    }
