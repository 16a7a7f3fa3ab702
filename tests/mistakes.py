"""Mistakes in declaring a Function: one row each, with the error that it must raise; see `test_bad_input`."""

from __future__ import annotations

import _thread
import inspect
import queue
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import pytest
import torch

import pullback as pb
from pullback.errors import (
    DefinitionError,
    PullbackError,
    UsageError,
)


def place(code: CodeType) -> str:
    """Where code stands, as messages say it."""
    return f"{code.co_filename}:{code.co_firstlineno}"


@dataclass
class Scene:
    """One mistake being made: what is called how, which tensors are about, and what the message must say."""

    name: str
    shape: tuple[int, ...]
    expected: list[str] = field(default_factory=list)
    tensors: list[tuple[torch.Tensor, torch.Tensor]] = field(default_factory=list)

    def tensor(self, *, grad: bool = True) -> torch.Tensor:
        """A tensor of the user's, remembered."""
        made = torch.rand(self.shape) + 0.5
        self.tensors.append((made, made.clone()))
        return made.requires_grad_(grad)

    def named(self, forward: Callable[..., Any]) -> Callable[..., Any]:
        """A forward under the scene's name."""
        forward.__name__ = forward.__qualname__ = self.name
        return forward

    def function(self, forward: Callable[..., Any] | None = None, **options: Any) -> Any:
        """A Function under the scene's name; ``x * w`` if no forward is given."""
        return pb.function(**options)(self.named(forward or (lambda x, w=1.0: x * w)))

    def says(self, *what: Any) -> None:
        """The message must contain this: texts, or the places of functions."""
        self.expected += [
            w if isinstance(w, str) else f"{w.__code__.co_filename}:{w.__code__.co_firstlineno}" for w in what
        ]


ROWS: list[Any] = []


def mistake(error: type[PullbackError], text: str, *, changes: bool = False) -> Any:
    """Put a row into the table; ``changes`` if the mistake itself changes a tensor."""

    def add(row: Callable[[Scene], Any]) -> Any:
        ROWS.append(pytest.param(error, row, changes, id=text))
        return row

    return add


# ---- declarations


@mistake(DefinitionError, "a rule that names what does not exist")
def _(scene: Scene) -> None:
    def rule(g, width):
        return g * width

    scene.says(rule, "'width'", "'x'", "'w'", "'out'")
    scene.function().grad("x")(rule)


@mistake(DefinitionError, "a rule that names what the forward turns out not to keep")
def _(scene: Scene) -> None:
    f = scene.function(lambda x: pb.keep(x * 2, mask=x > 0))

    def rule(g, musk):
        return g * musk

    scene.says(rule, "'musk'", "'mask'")
    f.grad("x")(rule)
    f(scene.tensor())


@mistake(DefinitionError, "a rule for what is no argument")
def _(scene: Scene) -> None:
    scene.says("'y'", "'x' and 'w'")
    scene.function().grad("y")(lambda g: g)


@mistake(DefinitionError, "a rule for no argument")
def _(scene: Scene) -> None:
    scene.says(f'@{scene.name}.grad("x")')
    scene.function().grad()(lambda g: g)


@mistake(DefinitionError, "a rule attached without parentheses")
def _(scene: Scene) -> None:
    scene.says(f'@{scene.name}.grad("x")')
    scene.function().grad(lambda g: g)


@mistake(DefinitionError, "two rules for one argument")
def _(scene: Scene) -> None:
    f = scene.function()
    first = f.grad("x")(lambda g: g)
    scene.says(first, "'x'")
    f.grad("w", "x")(lambda g: (g, g))


@mistake(DefinitionError, "two forward-mode rules for one argument")
def _(scene: Scene) -> None:
    f = scene.function()
    first = f.jvp("x")(lambda t: t)
    scene.says(first, "'x'")
    f.jvp("x")(lambda t: t)


@mistake(DefinitionError, "a rule that never reads its cotangent")
def _(scene: Scene) -> None:
    def rule(g, x):
        return 2 * x

    scene.says(rule, "'g'", "constant=True")
    scene.function().grad("x")(rule)


@mistake(DefinitionError, "a cotangent with the name of an argument")
def _(scene: Scene) -> None:
    def rule(x):
        return 2 * x

    scene.says(rule, "'x'", "put the cotangent first")
    scene.function().grad("x")(rule)


@mistake(DefinitionError, "a cotangent called out")
def _(scene: Scene) -> None:
    def rule(out):
        return 2 * out

    scene.says(rule, "'out'")
    scene.function().grad("x")(rule)


@mistake(DefinitionError, "an argument called out")
def _(scene: Scene) -> None:
    def forward(x, out):
        return x + out

    scene.says(forward, "'out'")
    scene.function(forward)


@mistake(DefinitionError, "a rule without parameters")
def _(scene: Scene) -> None:
    def rule():
        return None

    scene.says(rule, "the cotangent first")
    scene.function().grad("x")(rule)


@mistake(DefinitionError, "a rule with *args")
def _(scene: Scene) -> None:
    def rule(g, *rest):
        return g

    scene.says(rule, "*rest")
    scene.function().grad("x")(rule)


@mistake(DefinitionError, "a rule without a signature")
def _(scene: Scene) -> None:
    scene.says("'x'")
    scene.function().grad("x")(max)


@mistake(DefinitionError, "a default that hides an argument")
def _(scene: Scene) -> None:
    def rule(g, w=2.0):
        return g * w

    scene.says(rule, "'w'", "remove the default")
    scene.function().grad("x")(rule)


@mistake(DefinitionError, "derive after a rule")
def _(scene: Scene) -> None:
    f = scene.function()
    scene.says(f.grad("x")(lambda g: g), "'x'")
    f.derive("x")


@mistake(DefinitionError, "nondiff after derive")
def _(scene: Scene) -> None:
    scene.says("'w'", f'{scene.name}.derive("w")')
    scene.function().derive("w").nondiff("w")


@mistake(DefinitionError, "a rule after nondiff")
def _(scene: Scene) -> None:
    scene.says("'w'", f'{scene.name}.nondiff("w")')
    scene.function().nondiff("w").grad("w")(lambda g: g)


@mistake(DefinitionError, "grad_like with a function of other arguments")
def _(scene: Scene) -> None:
    scene.says("'x'", "(y)")
    scene.function().grad_like("x", lambda y: y)


@mistake(DefinitionError, "of= with what is not kept")
def _(scene: Scene) -> None:
    def rule(g, x):
        return g * x

    scene.says(rule, "of='w'")
    scene.function().grad("x", of="w")(rule)


@mistake(DefinitionError, "f.grad of a tensor")
def _(scene: Scene) -> None:
    scene.says(f"torch.func.grad({scene.name})", f"float32[{', '.join(map(str, scene.shape))}]")
    scene.function().grad(scene.tensor())


@mistake(DefinitionError, "a Function in a class body")
def _(scene: Scene) -> None:
    def forward(self, x):
        return x

    forward.__name__, forward.__qualname__ = scene.name, f"Layer.{scene.name}"
    scene.says(forward, "Layer", f"def {scene.name}_function(x, weight)")
    pb.function(forward)


@mistake(DefinitionError, "a Function of a Function")
def _(scene: Scene) -> None:
    scene.says("remove one")
    pb.function(scene.function())


@mistake(DefinitionError, "a Function of an autograd.Function")
def _(scene: Scene) -> None:
    scene.says(f"pb.from_autograd({scene.name})")
    pb.function(type(scene.name, (torch.autograd.Function,), {}))


@mistake(DefinitionError, "a Function of a generator")
def _(scene: Scene) -> None:
    def forward(x):
        yield x

    scene.says(forward)
    scene.function(forward)


@mistake(DefinitionError, "a Function of a callable object")
def _(scene: Scene) -> None:
    class Thing:
        __name__ = scene.name

        def __call__(self, x):
            return x

    scene.says("Thing")
    pb.function(Thing())


@mistake(DefinitionError, "inplace= with what is no argument")
def _(scene: Scene) -> None:
    scene.says("inplace='y'", "'x'")
    scene.function(inplace="y")


@mistake(DefinitionError, "an unknown autocast policy")
def _(scene: Scene) -> None:
    scene.says("'half'", "'float32'")
    scene.function(autocast="half")


@mistake(DefinitionError, "an unknown way of keeping")
def _(scene: Scene) -> None:
    scene.says("'least'", "'lossless'", "'small'")
    scene.function(keep="least")


@mistake(DefinitionError, "a rule that names what is changed in place")
def _(scene: Scene) -> None:
    def rule(g, x):
        return g * x

    scene.says(rule, "'x'", "'out'")
    scene.function(lambda x: x.mul_(2), inplace="x").grad("x")(rule)


@mistake(DefinitionError, "a kept value with the name of an argument")
def _(scene: Scene) -> None:
    def forward(x):
        return pb.keep(x * 2, x=x > 0)

    scene.says(forward, "'x'")
    scene.function(forward)(scene.tensor())


@mistake(DefinitionError, "a kept value called out")
def _(scene: Scene) -> None:
    scene.says("'out'")
    scene.function(lambda x: pb.keep(x * 2, out=x))(scene.tensor())


@mistake(UsageError, "pb.keep outside of a Function")
def _(scene: Scene) -> None:
    line = inspect.currentframe().f_lineno + 2  # type: ignore[union-attr]
    scene.says("pullback.keep", f"{__file__}:{line}")
    pb.keep(scene.tensor(), mask=1)


@mistake(UsageError, "pb.keep in a function that nothing called")
def _(scene: Scene) -> None:
    scene.says("pullback.keep", "may only be called while the forward")
    raised: queue.Queue[BaseException] = queue.Queue()

    def bottom() -> None:
        try:
            pb.keep(scene.tensor(), mask=1)
        except BaseException as error:
            raised.put(error)

    _thread.start_new_thread(bottom, ())
    raise raised.get(timeout=60)


@mistake(UsageError, "pb.keep of nothing")
def _(scene: Scene) -> None:
    scene.says("pullback.keep")
    scene.function(lambda x: pb.keep(x * 2))(scene.tensor())
