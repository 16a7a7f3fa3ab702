"""A Function looks like the plain function: signature, help, attributes; and graphs show it by name."""

from __future__ import annotations

import contextlib
import inspect
import io
import pydoc
import types
import typing
import weakref

import functions
import pytest
import torch

import pullback as pb


def plain(x: torch.Tensor, /, factor: float = 2.0, *rest: int, mode: str = "mul", **more: object) -> torch.Tensor:
    """Multiply.

    In several ways.
    """
    return x * factor


made = pb.function(plain)


def help_of(fn: object) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as text:
        pydoc.Helper(output=text).help(fn)
    return text.getvalue()


@pytest.mark.parametrize(
    "look",
    [
        inspect.signature,
        inspect.getdoc,
        inspect.getsource,
        inspect.getsourcelines,
        inspect.getmodule,
        help_of,
        typing.get_type_hints,
        lambda f: (f.__name__, f.__qualname__, f.__module__, f.__doc__),
        lambda f: (f.__defaults__, f.__kwdefaults__),
        lambda f: f.__annotations__,
        lambda f: (inspect.isfunction(f), callable(f), type(f) is types.FunctionType),
    ],
)
def test_looks_like_the_plain_function(look: object) -> None:
    assert look(made) == look(plain)  # type: ignore[operator]


def test_is_hashable_and_weakly_referable() -> None:
    assert {made: 1}[made] == 1
    assert weakref.ref(made)() is made


def test_decorators_return_what_they_decorate() -> None:
    @pb.function
    def f(x, w):
        return x * w

    def rule(g, w):
        return g * w

    def forward_rule(t, w):
        return t * w

    assert f.grad("x")(rule) is rule
    assert f.jvp("x")(forward_rule) is forward_rule
    assert f.derive("w") is f


@pytest.mark.parametrize(
    ("fn", "shown"),
    [
        (functions.quantize, "quantizeBackward"),
        (functions.clamp, "clampBackward"),
        (functions.spike, "spikeBackward"),
        (functions.rounded, "roundBackward"),
    ],
)
def test_grad_fn_shows_the_name(fn: object, shown: str) -> None:
    args = (torch.ones(2, requires_grad=True), *[torch.ones(1)] * (len(inspect.signature(fn).parameters) - 1))
    for _ in range(2):
        out = fn(*args)  # type: ignore[operator]
        assert shown in repr(out)
        assert out.grad_fn.name() == shown


def test_the_name_is_shown_by_the_general_form_too() -> None:
    with torch.autocast("cpu"):
        y = functions.square(torch.ones(2, requires_grad=True))
    assert y.grad_fn.name() == "squareBackward"


def test_as_an_attribute_of_a_class_it_binds_like_a_function() -> None:
    class Layer:
        scale = functions.multiply

        def __rmul__(self, other):
            return other * 2

    class Static:
        scale = staticmethod(functions.multiply)

    assert torch.equal(Static.scale(torch.ones(2), torch.ones(2)), torch.ones(2))
    assert isinstance(Layer().scale, types.MethodType)


def test_a_traceback_shows_the_generated_code() -> None:
    f = pb.function(lambda x: x[7])
    f.grad("x")(lambda g: g)
    with pytest.raises(IndexError) as caught:
        f(torch.ones(2, requires_grad=True))
    assert all(str(entry.statement) for entry in caught.traceback)


def test_anomaly_mode_names_the_function() -> None:
    @pb.function
    def quantize(x):
        return x * 2

    @quantize.grad("x")
    def _(g):
        return g * float("nan")

    x = torch.ones(2, requires_grad=True)
    with (
        pytest.warns(UserWarning, match="Anomaly Detection"),
        torch.autograd.detect_anomaly(),
        pytest.warns(UserWarning, match="quantizeBackward"),
        pytest.raises(RuntimeError, match=r"quantizeBackward.*nan"),
    ):
        quantize(x).sum().backward()


def test_the_profiler_names_the_function() -> None:
    x = torch.ones(2, requires_grad=True)
    functions.square(x)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        functions.square(x).sum().backward()
    assert "squareBackward" in {event.name for event in profile.events()}
