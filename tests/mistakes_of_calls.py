"""Mistakes that show when a Function is called or differentiated: one row each; see `test_bad_input`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
import torch
from mistakes import Scene, mistake

import pullback as pb
from pullback.errors import (
    CapturedTensorError,
    DefinitionError,
    DoubleBackwardError,
    ForwardModeError,
    ForwardResultError,
    GradientMismatchError,
    KernelError,
    MissingRuleError,
    MutationError,
    RuleResultError,
    StackError,
)


@mistake(ForwardResultError, "a forward that returns no tensor")
def _(scene: Scene) -> None:
    def forward(x):
        return [x.shape[0], None]

    scene.says(forward, f"int {scene.shape[0]}", "None")
    scene.function(forward)(scene.tensor())


@mistake(ForwardResultError, "a mask comes out where there is a rule")
def _(scene: Scene) -> None:
    def forward(x):
        return x > 0

    f = scene.function(forward)
    f.grad("x")(lambda g, x: g * x)
    f(scene.tensor().detach())  # nothing asks for a gradient
    scene.says(forward, "'x'", "bool")
    f(scene.tensor())


@mistake(MissingRuleError, "an argument without a rule that requires a gradient")
def _(scene: Scene) -> None:
    f = scene.function()
    f.grad("x")(lambda g, w: g * w)
    scene.says("'w'", "'x'", f'@{scene.name}.grad("w")', f'{scene.name}.derive("w")', f'{scene.name}.nondiff("w")')
    f(scene.tensor(grad=False), scene.tensor(grad=False))
    f(scene.tensor(), scene.tensor())


@mistake(MissingRuleError, "a forward that autograd cannot differentiate")
def _(scene: Scene) -> None:
    f = scene.function(lambda x: torch.round(x.detach()))
    f(scene.tensor()).sum().backward()


@mistake(MissingRuleError, "in place, without a rule")
def _(scene: Scene) -> None:
    scene.says(f'@{scene.name}.grad("x")')
    scene.function(lambda x: x.mul_(2), inplace="x")(scene.tensor() * 1).sum().backward()


@mistake(CapturedTensorError, "a tensor in a closure")
def _(scene: Scene) -> None:
    w = scene.tensor()

    def forward(x):
        return x * w

    scene.says(forward, "closure")
    scene.function(forward)(scene.tensor())


@mistake(CapturedTensorError, "a tensor in a closure, when nothing else needs a gradient")
def _(scene: Scene) -> None:
    w = scene.tensor()
    f = scene.function(lambda x: x * w)
    f.grad("x")(lambda g: g)
    f(scene.tensor(grad=False))


@mistake(CapturedTensorError, "a closure that comes to hold a tensor later")
def _(scene: Scene) -> None:
    w: Any = 2.0
    f = scene.function(lambda x: x * w)
    f.grad("x")(lambda g: g * w)
    f(scene.tensor())
    f(scene.tensor())
    w = scene.tensor()
    f(scene.tensor())


@mistake(CapturedTensorError, "an object that comes to hold a tensor later")
def _(scene: Scene) -> None:
    class Settings:
        w: Any = torch.ones(scene.shape)

    f = scene.function(lambda x, settings: x * settings.w)
    f.grad("x")(lambda g, settings: g * settings.w)
    settings = Settings()
    f(scene.tensor(), settings)
    settings.w = scene.tensor()
    f(scene.tensor(), settings)


@mistake(CapturedTensorError, "a module in a closure")
def _(scene: Scene) -> None:
    module = torch.nn.Linear(scene.shape[-1], 2)
    scene.function(lambda x: module(x))(scene.tensor())


@mistake(CapturedTensorError, "a module as an argument")
def _(scene: Scene) -> None:
    scene.says("'module'", "Linear")
    scene.function(lambda x, module: module(x))(scene.tensor(), torch.nn.Linear(scene.shape[-1], 2))


@mistake(CapturedTensorError, "a tensor in a closure under torch.func")
def _(scene: Scene) -> None:
    x = scene.tensor(grad=False)

    def loss(w: torch.Tensor) -> torch.Tensor:
        f = scene.function(lambda x: x * w)
        f.grad("x")(lambda g: g)
        return f(x).sum()

    torch.func.grad(loss)(scene.tensor(grad=False))


@mistake(MutationError, "a forward that changes an argument", changes=True)
def _(scene: Scene) -> None:
    def forward(x):
        return x.mul_(2)

    f = scene.function(forward)
    f.grad("x")(lambda g: 2 * g)
    scene.says(forward, 'inplace="x"')
    f(scene.tensor(grad=False))


@mistake(MutationError, "a forward that changes an argument only later", changes=True)
def _(scene: Scene) -> None:
    f = scene.function(lambda x, bad: (x.add_(1) if bad else x) * 2)
    f.grad("x")(lambda g: 2 * g)
    f(scene.tensor() * 1, False)
    f(scene.tensor() * 1, False)
    f(scene.tensor() * 1, True)


@mistake(MutationError, "in place, another argument", changes=True)
def _(scene: Scene) -> None:
    def forward(x, w):
        w.add_(1)
        return x.mul_(2)

    f = scene.function(forward, inplace="x")
    f.grad("x")(lambda g: 2 * g)
    scene.says(forward)
    f(scene.tensor() * 1, scene.tensor(grad=False))


@mistake(MutationError, "in place, without returning it", changes=True)
def _(scene: Scene) -> None:
    def forward(x):
        x.mul_(2)
        return x + 1

    f = scene.function(forward, inplace="x")
    f.grad("x")(lambda g: 2 * g)
    scene.says(forward, "return x")
    f(scene.tensor() * 1)


@mistake(MutationError, "a rule that changes its cotangent")
def _(scene: Scene) -> None:
    def rule(g):
        return g.mul_(2)

    f = scene.function()
    f.grad("x")(rule)
    scene.says(rule, "mul_")
    f(scene.tensor()).backward(torch.ones(scene.shape))


@mistake(MutationError, "a rule that changes a residual", changes=True)
def _(scene: Scene) -> None:
    def rule(g, w):
        return g * w.neg_()

    f = scene.function()
    f.grad("x")(rule)
    scene.says(rule)
    f(scene.tensor(), scene.tensor(grad=False)).sum().backward()


@mistake(DoubleBackwardError, "a second derivative of a NumPy rule")
def _(scene: Scene) -> None:
    def rule(g, x):
        return g * torch.from_numpy(x.detach().numpy() * 2)

    f = scene.function(lambda x: x * x)
    f.grad("x")(rule)
    scene.says(rule, "numpy")
    x = scene.tensor()
    (gradient,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
    gradient.sum().backward()


@mistake(DoubleBackwardError, "a second derivative through a kept value whose inputs are not kept")
def _(scene: Scene) -> None:
    f = scene.function(lambda x: pb.keep(x.sin(), c=x.cos()))
    f.grad("x")(lambda g, c: g * c)
    scene.says("'c'", "'x'", f'@{scene.name}.grad(…, of="c")')
    x = scene.tensor()
    (gradient,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
    gradient.sum().backward()


@mistake(DoubleBackwardError, "a second derivative through a random kept value")
def _(scene: Scene) -> None:
    def forward(x):
        noise = torch.rand_like(x) * x
        return pb.keep(x * noise, noise=noise)

    f = scene.function(forward)
    f.grad("x")(lambda g, x, noise: g * (noise + 0 * x))
    scene.says("'noise'", "random")
    x = scene.tensor()
    (gradient,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
    gradient.sum().backward()


@mistake(ForwardModeError, "forward mode of a rule that is not linear")
def _(scene: Scene) -> None:
    f = scene.function()
    f.grad("x")(lambda g: g.clamp(-1, 1))
    scene.says(f"@{scene.name}.jvp", "linear")
    x = scene.tensor(grad=False)
    torch.func.jvp(f, (x,), (x,))


@mistake(StackError, "a closure that torch.compile cannot guard")
def _(scene: Scene) -> None:
    table = torch.ones(scene.shape)
    f = scene.function(lambda x: x * table)
    f.grad("x")(lambda g: g)
    scene.says("table", "Tensor")
    pb.define.compiled.Outside(f.__pullback__).prepare()


@mistake(GradientMismatchError, "a rule that is not the derivative, with PULLBACK_CHECK=first")
def _(scene: Scene) -> None:
    def rule(g, x):
        return g * x

    f = scene.function(lambda x: x * x)
    f.grad("x")(rule)
    scene.says(rule, "grad_like")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PULLBACK_CHECK", "first")
        f(scene.tensor())


@mistake(DefinitionError, "from_autograd of what is no class")
def _(scene: Scene) -> None:
    scene.name = "from_autograd"
    pb.from_autograd(lambda x: x)


@mistake(DefinitionError, "from_autograd of methods that are not static")
def _(scene: Scene) -> None:
    scene.says("@staticmethod")
    methods = {"forward": lambda ctx, x: x, "backward": lambda ctx, g: g}
    pb.from_autograd(type(scene.name, (torch.autograd.Function,), methods))


@mistake(DefinitionError, "a surrogate of what is no function")
def _(scene: Scene) -> None:
    scene.name = "surrogate"
    pb.surrogate(3, like=torch.sigmoid)


# ---- the results of rules, in each way that a rule can run

WRONG: dict[str, tuple[Callable[..., Any], str]] = {
    "a wrong shape": (lambda g: torch.cat([g, g], -1), "shape"),
    "a smaller shape": (lambda g: g.sum(), "shape ()"),
    "an integer": (lambda g: (g > 0).long(), "int64"),
    "a boolean": (lambda g: g > 0, "bool"),
    "another device": (lambda g: g.to("meta"), "meta"),
    "a number": (lambda g: (g * 0, 2.5)[1], "float 2.5"),
    "a tuple": (lambda g: (g,), "float32"),
}


def _eager(f: Any, scene: Scene) -> None:
    f(scene.tensor()).sum().backward()


def _func(f: Any, scene: Scene) -> None:
    torch.func.grad(lambda x: f(x).sum())(scene.tensor(grad=False))


def _again(f: Any, scene: Scene) -> None:
    x = scene.tensor()
    torch.autograd.grad(f(x).sum(), x, create_graph=True)


def _rule_results() -> None:
    for what, (wrong, text) in WRONG.items():
        for how in (_eager, _func, _again):
            for later in (False, True):
                _rule_result(what, wrong, text, how, later)


def _rule_result(what: str, wrong: Callable[..., Any], text: str, how: Any, later: bool) -> None:
    @mistake(RuleResultError, f"a rule that returns {what}, {how.__name__[1:]}, {'later' if later else 'first'} call")
    def _(scene: Scene) -> None:
        right = later

        def rule(g, w):
            return g * w if right else wrong(g)

        f = scene.function(lambda x, w=2.0: x * w)
        f.grad("x")(rule)
        scene.says(rule, "'x'", text)
        if later:
            _eager(f, scene)
        right = False
        how(f, scene)


_rule_results()


@mistake(RuleResultError, "a rule that returns too few results")
def _(scene: Scene) -> None:
    def rule(g):
        return (g,)

    f = scene.function()
    f.grad("x", "w")(rule)
    scene.says(rule, "2 results", "'x' and 'w'", "1 results")
    f(scene.tensor(), scene.tensor()).sum().backward()


@mistake(RuleResultError, "a rule that returns a tensor for two arguments")
def _(scene: Scene) -> None:
    def rule(g):
        return torch.stack([g, g])

    f = scene.function()
    f.grad("x", "w")(rule)
    scene.says(rule, "2 results", f"[{', '.join(map(str, (2, *scene.shape)))}]")
    f(scene.tensor(), scene.tensor()).sum().backward()


@mistake(RuleResultError, "a rule that returns another structure")
def _(scene: Scene) -> None:
    def rule(g):
        return {"b": g}

    f = scene.function(lambda ws: ws["a"] * 2)
    f.grad("ws")(rule)
    scene.says(rule, "structure of 'ws'")
    f({"a": scene.tensor()}).sum().backward()


@mistake(RuleResultError, "a forward-mode rule that returns a wrong shape")
def _(scene: Scene) -> None:
    def rule(t):
        return t.sum()

    f = scene.function(lambda x: 2 * x)
    f.jvp("x")(rule)
    scene.says(rule, "jvp rule", "shape")
    x = scene.tensor(grad=False)
    torch.func.jvp(f, (x,), (x,))


@mistake(KernelError, "a kernel is required where none can serve")
def _(scene: Scene) -> None:
    scene.says("PULLBACK_FUSE", "cumsum")
    with mock.patch.dict(os.environ, {"PULLBACK_FUSE": "require"}):
        scene.function(lambda x: torch.cumsum(x, 0))(scene.tensor())
