"""Under autocast each policy runs the forward in its dtype, and the rules under the same state."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from cases import Case, having

import pullback as pb

SEEN: dict[str, Any] = {}


def matmul(policy: str) -> Any:
    @pb.function(autocast=policy)
    def product(a, b):
        SEEN["forward"] = (a.dtype, torch.is_autocast_enabled("cpu"))
        return a @ b

    @product.grad("a")
    def _(g, b):
        SEEN["rule"] = (g.dtype, torch.is_autocast_enabled("cpu"))
        return g @ b.mT

    @product.grad("b")
    def _(g, a):
        return a.mT @ g

    return product


EXPECTED = {  # what forward sees, what the rule sees, the output's dtype
    "leave": ((torch.float32, True), (torch.bfloat16, True), torch.bfloat16),
    "float32": ((torch.float32, False), (torch.float32, False), torch.float32),
    "autocast": ((torch.bfloat16, False), (torch.bfloat16, False), torch.bfloat16),
}


@pytest.mark.parametrize("policy", EXPECTED)
@pytest.mark.parametrize("inside", [True, False], ids=["backward inside", "backward outside"])
def test_a_policy(policy: str, inside: bool) -> None:
    product = matmul(policy)
    a, b = torch.randn(3, 4, requires_grad=True), torch.randn(4, 2, requires_grad=True)
    for _ in range(2):
        a.grad = b.grad = None
        with torch.autocast("cpu", torch.bfloat16):
            out = product(a, b)
            if inside:
                out.float().sum().backward()
        if not inside:
            out.float().sum().backward()
        assert (SEEN["forward"], SEEN["rule"], out.dtype) == EXPECTED[policy]
        assert (a.grad.dtype, b.grad.dtype) == (torch.float32, torch.float32)
        tolerance = pb._tolerances.gradient_tolerance(torch.bfloat16)._asdict()
        torch.testing.assert_close(a.grad, torch.ones(3, 2) @ b.detach().mT, **tolerance)
        torch.testing.assert_close(b.grad, a.detach().mT @ torch.ones(3, 2), **tolerance)


@pytest.mark.parametrize("policy", EXPECTED)
def test_without_autocast_a_policy_changes_nothing(policy: str) -> None:
    a, b = torch.randn(3, 4, requires_grad=True), torch.randn(4, 2)
    out = matmul(policy)(a, b)
    assert torch.equal(out, a @ b)
    assert SEEN["forward"] == (torch.float32, False)


@pytest.mark.parametrize("policy", ["float32", "autocast"])
def test_float64_is_never_narrowed(policy: str) -> None:
    a, b = torch.randn(3, 4, dtype=torch.float64), torch.randn(4, 2, dtype=torch.float64)
    with torch.autocast("cpu", torch.bfloat16):
        assert matmul(policy)(a, b).dtype is torch.float64


@pytest.mark.parametrize("case", having("half precision"), ids=lambda case: case.name)
def test_gradients_keep_the_dtype_of_their_arguments(case: Case) -> None:
    inputs = case.inputs(torch.float32)
    tensors = [t.clone().requires_grad_() for t in inputs.tensors]
    with torch.autocast("cpu", torch.bfloat16):
        outputs = inputs.flat(case.fn)(*tensors)
    sum(o.float().sum() for o in outputs).backward()
    assert {t.grad.dtype for t in tensors if t.grad is not None} <= {torch.float32}


def test_the_state_is_left_as_it_was() -> None:
    product = matmul("float32")
    with torch.autocast("cpu", torch.bfloat16):
        product(torch.ones(2, 2, requires_grad=True), torch.ones(2, 2)).sum().backward()
        assert torch.is_autocast_enabled("cpu")
        assert torch.get_autocast_dtype("cpu") is torch.bfloat16
    assert not torch.is_autocast_enabled("cpu")
