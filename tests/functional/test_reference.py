"""The names that formulas of the catalogue are written in mean the same in both arithmetics."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import pytest
import torch

from pullback._tolerances import gradient_tolerance
from pullback.errors import DefinitionError
from pullback.functional.reference import NAMES, double, exact

FORMULAS = {
    "acosh": "acosh(1 + a)", "atan2": "atan2(a, b)", "clamp": "clamp(a, b, 0.4)", "gated_slope": "gated_slope(a, b)",
    "max": "max(a, b)", "min": "min(a, b)", "where": "where(a < b, a, b)",
}  # fmt: skip
POINT = {"a": 0.7, "b": -0.3}


@pytest.mark.parametrize("name", sorted(name for name, pair in NAMES.items() if callable(pair[1])))
def test_a_name_means_the_same_in_both(name: str) -> None:
    formula = FORMULAS.get(name, f"{name}(a)")
    found = double(formula, **{n: torch.tensor(v, dtype=torch.float64) for n, v in POINT.items()})
    expected = torch.tensor(float(exact(formula, **POINT)), dtype=torch.float64)
    torch.testing.assert_close(found, expected, **gradient_tolerance(torch.float64)._asdict())


@pytest.mark.parametrize("evaluate", [double, exact])
def test_a_name_that_is_not_there_is_explained(evaluate: Any) -> None:
    with pytest.raises(DefinitionError, match=r"may use the arguments \(x\) and .*, erf, ") as caught:
        evaluate("x * zeta(x)", x=mp.mpf(1) if evaluate is exact else torch.ones(1))
    assert "'zeta'" in caught.value.got
