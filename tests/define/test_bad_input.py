"""Every mistake raises its class of error, which names the Function and the rule and says what to do.

Each row makes one mistake, for a Function of the given name and tensors of the given shape, and says what its message
must contain; each runs for two names and shapes. Afterwards PyTorch and the tensors are as they were.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch

import pullback as pb
from pullback import errors
from pullback.errors import (
    CapturedTensorError,
    DefinitionError,
    DoubleBackwardError,
    ForwardModeError,
    ForwardResultError,
    GradientMismatchError,
    MissingRuleError,
    MutationError,
    PullbackError,
    RuleResultError,
    StackError,
    UsageError,
)


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
        self.expected += [w if isinstance(w, str) else f"{__file__}:{w.__code__.co_firstlineno}" for w in what]


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
    scene.says(forward, "Layer", f"def {scene.name}(x, …)")
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


@mistake(UsageError, "pb.keep of nothing")
def _(scene: Scene) -> None:
    scene.says("pullback.keep")
    scene.function(lambda x: pb.keep(x * 2))(scene.tensor())


# ---- calls


@mistake(ForwardResultError, "a forward that returns no tensor")
def _(scene: Scene) -> None:
    def forward(x):
        return [x.shape[0], None]

    scene.says(forward, f"int {scene.shape[0]}", "None")
    scene.function(forward)(scene.tensor())


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


# ---- the tests

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
    assert classes - {PullbackError} == {row.values[0] for row in ROWS}


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
