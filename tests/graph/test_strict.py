"""What planning cannot do is left to the eager rules; in strict mode it is raised."""

from __future__ import annotations

import pytest
import torch

import pullback as pb
from pullback.define.strict import VARIABLE
from pullback.graph import planned


def called() -> torch.Tensor:
    """The gradient of a fresh Function that is large enough for a plan, at 0, where it is 1/4."""
    swish = pb.function(lambda x: x * torch.sigmoid(x))
    swish.grad("x")(lambda g, x: g / 4 + 0 * torch.sigmoid(x))
    x = torch.zeros(2000, requires_grad=True)
    swish(x).sum().backward()
    return x.grad


@pytest.mark.parametrize("strict", [False, True])
def test_a_planner_that_fails(strict: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise ZeroDivisionError("planned")

    monkeypatch.setattr(planned, "choose", fails)
    monkeypatch.setenv(VARIABLE, str(int(strict)))
    if strict:
        with pytest.raises(ZeroDivisionError, match="planned"):
            called()
    else:
        assert called().unique().tolist() == [0.25]
