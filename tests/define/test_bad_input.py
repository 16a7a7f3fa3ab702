"""Every mistake raises its class of error, which names the Function and the rule and says what to do.

Each row makes one mistake, for a Function of the given name and tensors of the given shape, and says what its message
must contain; each runs for two names and shapes. Afterwards PyTorch and the tensors are as they were.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mistakes_of_calls  # noqa: F401 - fills the table
import pytest
import torch
from mistakes import ROWS, Scene

import pullback as pb
from pullback import errors
from pullback.errors import PullbackError

WATCHED = (torch, torch.Tensor, torch.autograd, torch.autograd.Function, torch.nn.functional, torch.autograd.graph)


def torch_names() -> dict[tuple[Any, str], int]:
    return {(place, name): id(value) for place in WATCHED for name, value in vars(place).items() if name[:2] != "__"}


def modes() -> tuple[Any, ...]:
    return (
        torch._C._len_torch_function_stack(),
        torch._C._len_torch_dispatch_stack(),
        torch._C._functorch.peek_interpreter_stack(),
        torch.autograd.forward_ad._current_level,
        torch.is_grad_enabled(),
        torch._C._autograd._saved_tensors_hooks_is_enabled(),
    )


@pytest.mark.parametrize(("name", "shape"), [("quantize", (3,)), ("clip", (2, 4))], ids=["quantize", "clip"])
@pytest.mark.parametrize(("error", "row", "changes"), ROWS)
def test_a_mistake_is_explained(
    error: type[PullbackError], row: Callable[[Scene], Any], changes: bool, name: str, shape: tuple[int, ...]
) -> None:
    scene = Scene(name, shape)
    before = modes()
    with pytest.raises(error) as caught:
        row(scene)
    assert problems(caught.value, scene) == []
    assert modes() == before
    assert changes or all(torch.equal(now, was) for now, was in scene.tensors)


def problems(error: PullbackError, scene: Scene) -> list[str]:
    """What the message lacks."""
    parts = [part for part in ("who", "required", "got", "do") if not getattr(error, part)]
    named = scene.name in error.who or error.who.startswith(("pullback.keep", "derivative of"))
    return parts + ([] if named else ["name"]) + [text for text in scene.expected if text not in str(error)]


def test_no_mistake_leaves_pytorch_patched() -> None:
    before = torch_names()
    for row in ROWS:
        with pytest.raises(row.values[0]):
            row.values[1](Scene("quantize", (3,)))
    now = torch_names()
    assert {key for key in before if now.get(key) != before[key]} == set()


def test_every_class_of_error_is_raised() -> None:
    classes = {c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, PullbackError)}
    elsewhere = {errors.TraceError, errors.KeptError}  # tests/graph raises these
    assert classes - {PullbackError} - elsewhere == {row.values[0] for row in ROWS}


@pytest.mark.parametrize("call", [((), {}), ((1, 2, 3), {}), ((1,), {"y": 2}), ((1,), {"x": 2})])
def test_wrong_call_arguments_get_the_message_of_the_plain_function(call: Any) -> None:
    def scale(x, w, *, n=1):
        return x * w * n

    def message(fn: Any) -> str:
        with pytest.raises(TypeError) as caught:
            fn(*call[0], **call[1])
        return str(caught.value).rpartition("scale()")[2]

    assert message(pb.function(scale)) == message(scale)


def test_an_error_in_a_rule_has_a_note_with_function_and_rule() -> None:
    def rule(g, x):
        return g * x[99]

    f = Scene("quantize", (3,)).function(lambda x: x * x)
    f.grad("x")(rule)
    x = torch.ones(3, requires_grad=True)
    for run in (
        lambda: f(x).sum().backward(),
        lambda: f(x).sum().backward(),
        lambda: torch.func.grad(lambda x: f(x).sum())(x.detach()),
    ):
        with pytest.raises(IndexError) as caught:
            run()
        where = f"{__file__}:{rule.__code__.co_firstlineno}"
        assert caught.value.__notes__ == [f"while running quantize, rule for 'x' ({where})"]


def test_a_constant_rule_is_allowed_when_it_is_meant() -> None:
    f = Scene("quantize", (3,)).function()
    f.grad("x", constant=True)(lambda g, w: w)
    x, w = torch.ones(3, requires_grad=True), torch.full((3,), 7.0)
    f(x, w).sum().backward()
    assert torch.equal(x.grad, w)
