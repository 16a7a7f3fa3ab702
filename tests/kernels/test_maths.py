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
MOST = 1.5


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    loops = [
        f'__attribute__((visibility("default"))) void loop_{f}(int64_t n, const float *x, float *y) {{\n'
        f"  for (int64_t j = 0; j < n; j++) y[j] = pb_{f}_f32(x[j]); }}\n"
        for f in FUNCTIONS
    ]
    found = compiler()
    assert found is not None
    return cache.library(header() + "".join(loops), found)


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
    got, exact = torch.empty_like(x), reference(name)(x.double())
    pointers = [ctypes.c_void_p(t.data_ptr()) for t in (x, got)]
    getattr(library, f"loop_{name}")(ctypes.c_int64(x.numel()), *pointers)
    assert units(got, exact).max() <= MOST
    assert torch.equal(got.isnan(), exact.isnan())
    infinite = exact.float().isinf()
    assert torch.equal(got[infinite], exact.float()[infinite])
    zero = (x == 0) & (exact == 0)
    assert torch.equal(got[zero].signbit(), exact[zero].signbit())


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
