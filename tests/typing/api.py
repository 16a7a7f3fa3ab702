"""What a type checker knows about Functions: checked by ``make lint``, never run."""

from typing import assert_type

import torch
from torch import Tensor

import pullback as pb


@pb.function
def scaled(x: Tensor, factor: float = 2.0) -> Tensor:
    """The forward's types are the Function's."""
    return x * factor


@scaled.grad("x")
def rule(g: Tensor, factor: float) -> Tensor:
    """A rule keeps its own type."""
    return g * factor


@pb.function(inplace="x")
def doubled(x: Tensor) -> Tensor:
    """With options, too."""
    return x.mul_(2)


assert_type(scaled(torch.ones(2)), Tensor)
assert_type(scaled(torch.ones(2), factor=3.0), Tensor)
assert_type(rule(torch.ones(2), 2.0), Tensor)
assert_type(doubled(torch.ones(2)), Tensor)
assert_type(scaled.nondiff("x")(torch.ones(2)), Tensor)
assert_type(pb.keep(torch.ones(2), mask=None), Tensor)
scaled("not a tensor")  # type: ignore[arg-type]
scaled(torch.ones(2), facto=3.0)  # type: ignore[call-arg]
