"""The vector functions, beside PyTorch in float64: at most 1.5 units in the last place, whatever the argument."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import mpmath as mp
import pytest
import torch

from pullback.kernels import cache
from pullback.kernels.compile import compiler
from pullback.kernels.emit import header
from pullback.kernels.operations import HEAVY, MENDED

FUNCTIONS = [name for name, count in HEAVY.items() if count == 1]
ARGUMENTS = {1: ("const float *x", "x[j]"), 2: ("const float *x, const float *z", "x[j], z[j]")}
MOST = 1.5


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    loops = [
        f'__attribute__((visibility("default"))) void loop_{f}(int64_t n, {given}, float *y) {{\n'
        f"  for (int64_t j = 0; j < n; j++) y[j] = pb_{f}_f32({taken}); }}\n"
        for f, count in HEAVY.items()
        for given, taken in [ARGUMENTS[count]]
    ]
    found = compiler()
    assert found is not None
    return cache.library(header() + "".join(loops), found)


def computed(library: ctypes.CDLL, name: str, *given: torch.Tensor) -> torch.Tensor:
    got = torch.empty_like(given[0])
    pointers = [ctypes.c_void_p(t.data_ptr()) for t in (*given, got)]
    getattr(library, f"loop_{name}")(ctypes.c_int64(got.numel()), *pointers)
    return got


def arguments() -> torch.Tensor:
    """All magnitudes and signs, the moderate ones densely, and what is special."""
    patterns = torch.arange(-(2**31), 2**31, 40961, dtype=torch.int64).to(torch.int32).view(torch.float32)
    special = torch.tensor([0.0, -0.0, float("inf"), -float("inf"), float("nan"), 1.0, -1.0])
    return torch.cat([patterns, torch.linspace(-20, 20, 50001), torch.linspace(-1, 1, 50001), special])


def units(got: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
    """The error in units in the last place of float32, where the result is neither tiny nor infinite."""
    normal = exact.abs().nan_to_num().clamp(2.0**-126, 2.0**127)
    unit = torch.exp2(torch.floor(torch.log2(normal)) - 23)
    counts = torch.isfinite(exact.float()) & (exact.abs() >= 2.0**-126)
    return torch.where(counts, (got.double() - exact).abs() / unit, 0.0)


def reference(name: str) -> Callable[..., Any]:
    return getattr(torch, name, None) or getattr(torch.special, name)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_accuracy(name: str, library: ctypes.CDLL) -> None:
    x = arguments()
    x = x[x.abs() < 2.0**17] if name in MENDED else x  # what is beyond is computed in another way
    got, exact = computed(library, name, x), reference(name)(x.double())
    assert units(got, exact).max() <= MOST
    assert_special(got, exact, (x == 0) & (exact == 0))


def assert_special(got: torch.Tensor, exact: torch.Tensor, zero: torch.Tensor) -> None:
    """NaN and infinities are where they belong, and these zeros have their sign."""
    assert torch.equal(got.isnan(), exact.isnan())
    infinite = exact.float().isinf()
    assert torch.equal(got[infinite], exact.float()[infinite])
    assert torch.equal(got[zero].signbit(), exact[zero].signbit())


def test_powers(library: ctypes.CDLL) -> None:
    """Of every special value to every other, and of others."""
    special = [0.0, 1.0, 2.0, 3.0, 7.0, 0.5, 1.5, 16777217.0, 1e20, 3e38, 1e-38, 1e-45, 0.99999994, float("inf")]
    values = torch.tensor([s * v for v in special for s in (1, -1)] + [float("nan")])
    x, y = (t.flatten() for t in torch.meshgrid(values, values, indexing="ij"))
    generator = torch.Generator().manual_seed(0)
    x = torch.cat([x, torch.exp(60 * (torch.rand(20000, generator=generator) - 0.5))])
    y = torch.cat([y, 12 * (torch.rand(20000, generator=generator) - 0.5)])
    got, exact = computed(library, "powf", x, y), torch.pow(x.double(), y.double())
    assert units(got, exact).max() <= MOST
    assert_special(got, exact, exact == 0)


def test_sigmoid_and_silu(library: ctypes.CDLL) -> None:
    """As PyTorch writes them: the sum is rounded before the division, which costs a unit more."""
    x = arguments()
    for y in (torch.ones_like(x), x, -x):
        got = computed(library, "logistic", x, y)
        exact = y.double() / (1 + torch.exp(-x.double()))
        exact = torch.where(torch.exp(-x).isinf(), y.double() / torch.inf, exact)  # where e^-x overflows in float32
        assert units(got, exact).max() <= MOST + 1
        assert_special(got, exact, exact == 0)


@pytest.mark.parametrize("name", ["erf", "erfc"])
def test_error_functions_of_float64(name: str) -> None:
    found = compiler()
    assert found is not None
    body = f"for (int64_t j = 0; j < n; j++) y[j] = pb_{name}_f64(x[j]);"
    text = f"void loop(int64_t n, const double *x, double *y) {{ {body} }}"
    loop = cache.library(f'{header()}__attribute__((visibility("default"))) {text}', found).loop
    x = torch.cat([torch.linspace(-6, 26, 401, dtype=torch.float64), torch.logspace(-300, 0, 60, dtype=torch.float64)])
    got = torch.empty_like(x)
    loop(ctypes.c_int64(x.numel()), *(ctypes.c_void_p(t.data_ptr()) for t in (x, got)))
    with mp.workdps(40):
        exact = [getattr(mp, name)(v) for v in x.tolist()]
        units = [mp.mpf(2) ** (mp.floor(mp.log(abs(e), 2)) - 52) for e in exact]
        off = [abs(mp.mpf(y) - e) / u for y, e, u in zip(got.tolist(), exact, units, strict=True)]
    assert max(off) <= MOST


def test_a_planted_error_is_found() -> None:
    exact = torch.tensor([1.5], dtype=torch.float64)
    assert units(exact.float() * (1 + 2.0**-21), exact).item() > MOST
