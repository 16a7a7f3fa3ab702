"""The autocast policy that is given at definition holds in every stack that autocast can be around."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from compare import assert_gradients
from torch.utils.checkpoint import checkpoint

import pullback as pb
from pullback.check.stacks import compiled

SEEN: list[torch.dtype] = []


def product(policy: str) -> Any:
    """A matrix product whose gradients are 3 and 5 times the derivative."""

    @pb.function(autocast=policy)
    def times(a, b):
        return a @ b

    times.grad("a")(lambda g, b: 3 * g @ b.mT)
    times.grad("b")(lambda g, a: 5 * a.mT @ g)
    return times


LEAVE, FLOAT32, AUTOCAST = product("leave"), product("float32"), product("autocast")
POLICIES = {
    "leave": (LEAVE, torch.bfloat16),
    "float32": (FLOAT32, torch.float32),
    "autocast": (AUTOCAST, torch.bfloat16),
}
WAYS: dict[str, Callable[[Any], Any]] = {
    "eager": lambda fn: fn,
    "checkpoint": lambda fn: partial(checkpoint, fn, use_reentrant=False),
    "vmap": lambda fn: lambda a, b: torch.vmap(fn, (0, None))(a[None], b)[0],
    "compile": lambda fn: compiled.compiled(lambda a, b: fn(a, b)),
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("way", WAYS)
def test_a_policy_holds(way: str, policy: str) -> None:
    fn, dtype = POLICIES[policy]
    a, b = torch.tensor([[1.0, 2.0]]).requires_grad_(), torch.tensor([[3.0], [4.0 + 2**-12]]).requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        out = WAYS[way](fn)(a, b)
    assert out.dtype is dtype
    out.float().sum().backward()
    narrow = b.detach().to(dtype).float()  # 4 + 2⁻¹² is 4 in bfloat16
    assert_gradients([a.grad, b.grad], [3 * narrow.mT, 5 * a.detach().mT])


@pytest.mark.parametrize("policy", POLICIES)
def test_a_policy_holds_in_the_gradient_of_torch_func(policy: str) -> None:
    fn, dtype = POLICIES[policy]
    a, b = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0], [4.0 + 2**-12]])
    with torch.autocast("cpu", torch.bfloat16):
        found = torch.func.grad(lambda a: fn(a, b).float().sum())(a)
    assert_gradients([found], [3 * b.to(dtype).float().mT])
