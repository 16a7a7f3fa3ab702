"""Functions × stacks: rules that give themselves away, because their gradients are not the derivative.

Every stack of the table must give the rules' gradient, in any order of differentiation, or be loud where the table
says so; the expected values come from the rules written as plain formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from compare import assert_gradients

import pullback as pb
from pullback.check.stacks import STACKS, Setting, Stack, expected

Tensors = Sequence[torch.Tensor]


@dataclass(frozen=True)
class Row:
    """A Function, sizes of its tensors, and its gradients as formulas of tensors and cotangents."""

    fn: Callable[..., Any]
    sizes: tuple[tuple[int, ...], ...]
    first: Callable[[Tensors, Tensors], Sequence[torch.Tensor | None]]
    everywhere: bool = False  # in the stacks that run a compiler, too
    loud: tuple[str, ...] = ()  # where this one cannot be had

    def setting(self) -> Setting:
        """What it is called on."""
        generator = torch.Generator().manual_seed(len(self.sizes))
        draw = [torch.randn(s, dtype=torch.float64, generator=generator) for s in (*self.sizes, *self.sizes)]
        tensors, directions = draw[: len(self.sizes)], draw[len(self.sizes) :]
        with torch.no_grad():
            found = self.fn(*tensors)
        outs = [found] if isinstance(found, torch.Tensor) else found
        gs = [torch.randn(o.shape, dtype=o.dtype, generator=generator) if o.is_floating_point() else None for o in outs]
        return Setting(self.fn, tuple(tensors), tuple(gs), tuple(directions))


@pb.function
def tell(x, w, k=2.0):
    return torch.tanh(x * w) * k


@tell.grad("x")
def _(g, w, k):
    return 3 * g * w * k


@tell.grad("w")
def _(g, x):
    return 5 * g * x


@pb.function
def several(x, params, *, power=2):
    """A container, several outputs, one of them of integers; a kept float, a kept mask; broadcasting."""
    positive, bell = x > 0, torch.exp(-x * x)
    out = (bell * params["scale"], positive.long(), torch.where(positive, x, params["shift"][0]) ** power)
    return pb.keep(out, positive=positive, bell=bell)


@several.grad("x")
def _(g, x, params, positive, bell, power):
    return 4 * g[0] * x * bell * params["scale"] + power * g[2] * positive


@several.grad("params")
def _(g, positive, bell):
    return {"scale": 7 * g[0] * bell, "shift": [3 * g[2] * ~positive]}


def several_flat(x, scale, shift):
    return several(x, {"scale": scale, "shift": [shift]})


def several_first(ts: Tensors, gs: Tensors) -> Sequence[torch.Tensor]:
    (x, scale, _), (a, _, b) = ts, gs
    bell, positive = torch.exp(-x * x), x > 0
    return 4 * a * x * bell * scale + 2 * b * positive, 7 * a * bell, (3 * b * ~positive).sum(0)


@pb.function
def partly(x, w):
    """One rule beside a derived gradient and an argument without any."""
    return torch.round(x) * torch.sin(w)


@partly.grad("x")
def _(g, w):
    return 3 * g * torch.sin(w)


partly.derive("w")


@pb.function
def silent(x, w, bias):
    return x * w + bias


@silent.grad("x", "w")
def _(g, x):
    return 3 * g * x, None


silent.nondiff("bias")


@pb.function
def through(x):
    """A kept value with a rule of its own, which is not its derivative either."""
    return pb.keep(torch.sin(x) ** 2, s=torch.sin(x))


@through.grad("x")
def _(g, s):
    return 5 * g * s


@through.grad("x", of="s")
def _(g, x):
    return 2 * x * g


class Sine(torch.autograd.Function):
    """``sin`` whose derivative is 2·x."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sin(x)

    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.saved_tensors[0]


def through_first(ts: Tensors, gs: Tensors) -> Sequence[torch.Tensor]:
    return (5 * gs[0] * Sine.apply(ts[0]),)


@pb.function
def nested(x, dtype=torch.float64, size=(2, 2)):
    """A Function in a forward and in a rule; hyperparameters that are no numbers."""
    return tell(x, x).to(dtype).reshape(size)


@nested.grad("x")
def _(g, x, size):
    return g.reshape(x.shape) * tell(x, 2.0 * torch.ones_like(x))


def nested_first(ts: Tensors, gs: Tensors) -> Sequence[torch.Tensor]:
    return (gs[0].reshape(4) * tell(ts[0], 2.0 * torch.ones_like(ts[0])),)


ROWS = {
    "two arguments": Row(tell, ((4,), (4,)), lambda ts, gs: (6 * gs[0] * ts[1], 5 * gs[0] * ts[0]), everywhere=True),
    "containers, kept values, integers": Row(several_flat, ((2, 3), (2, 3), (3,)), several_first),
    "a rule beside a derived gradient": Row(
        partly,
        ((4,), (4,)),
        lambda ts, gs: (3 * gs[0] * torch.sin(ts[1]), gs[0] * torch.round(ts[0]) * torch.cos(ts[1])),
    ),
    "None and nondiff": Row(silent, ((4,), (4,), (4,)), lambda ts, gs: (3 * gs[0] * ts[0], None, None)),
    "a rule for a kept value": Row(through, ((4,),), through_first),
    "a Function inside a Function": Row(nested, ((4,),), nested_first),
}
SAMPLE = ("compile", "export, then train", "make_fx, symbolic")


def pairs() -> list[Any]:
    chosen = [
        (row, stack)
        for row in ROWS
        for stack in STACKS.values()
        if not (stack.cost or stack.needs)
        or ROWS[row].everywhere
        or (stack.name in SAMPLE and row != "None and nondiff")
    ]
    return [pytest.param(ROWS[name], stack, id=f"{name} – {stack.name}") for name, stack in chosen]


def first_of(row: Row) -> Any:
    """The gradient by the row's formulas."""

    def first(setting: Setting, tensors: Tensors) -> Tensors:
        found = row.first(tensors, setting.cotangents)
        return [torch.zeros_like(t) if g is None else g for t, g in zip(tensors, found, strict=True)]

    return first


@pytest.mark.parametrize(("row", "stack"), pairs())
def test_the_rules_are_used_or_it_is_loud(row: Row, stack: Stack) -> None:
    if stack.missing():
        pytest.skip(stack.missing())
    setting = row.setting()
    if stack.expectation() == "loud":
        with pytest.raises(Exception, match=r".+"):
            stack.run(setting)
        return
    assert_gradients(stack.run(setting), expected(setting, stack.gives, first_of(row)))


def test_what_is_loud_says_why() -> None:
    assert [s.name for s in STACKS.values() if {s.newest, s.floor} != {"right"} and not s.why] == []


# ---- the table rejects what it should


class Dropped(torch.autograd.Function):
    """The rule of ``tell`` as most people write it: stacks that look into forward drop it."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return torch.tanh(x * w) * 2

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return 6 * g * w, 5 * g * x


@pytest.mark.parametrize("name", ["make_fx", "export, then train"])
def test_a_dropped_rule_shows(name: str) -> None:
    setting = ROWS["two arguments"].setting()
    dropped = Setting(lambda x, w: Dropped.apply(x, w), setting.tensors, setting.cotangents, setting.directions)
    assert_gradients(STACKS["eager"].run(dropped), expected(setting, "gradient"))
    with pytest.raises(AssertionError):
        assert_gradients(STACKS[name].run(dropped), expected(setting, "gradient"))


@pytest.mark.parametrize("name", ["func.grad", "vmap", "func.jvp"])
def test_a_refusal_shows(name: str) -> None:
    setting = ROWS["two arguments"].setting()
    with pytest.raises(RuntimeError):
        STACKS[name].run(Setting(Dropped.apply, setting.tensors, setting.cotangents, setting.directions))
