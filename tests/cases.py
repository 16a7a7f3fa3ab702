"""The one table of Functions that every suite of the define layer runs over.

A `Case` is a Function with sample inputs and a reference: ``plain`` gives the values; ``smooth`` gives the declared
gradient, as a formula that PyTorch differentiates by itself. Where the gradient of each argument is that of another
formula (learned-step rounding, say), ``smooth`` has one formula per argument. Sizes differ on purpose, so that a sum
over the wrong axis shows.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import functions as fns
import torch
from torch.utils import _pytree as pytree

Tensors = Sequence[torch.Tensor]


class Make:
    """Makes sample tensors: the same ones for the same seed, in one dtype."""

    def __init__(self, dtype: torch.dtype = torch.float64, seed: int = 0) -> None:
        self.dtype, self.generator = dtype, torch.Generator().manual_seed(seed)

    def __call__(self, *shape: int) -> torch.Tensor:
        """Normal numbers."""
        return torch.randn(shape, generator=self.generator, dtype=torch.float64).to(self.dtype)

    def positive(self, *shape: int) -> torch.Tensor:
        """Numbers between 1/2 and 3/2."""
        return (torch.rand(shape, generator=self.generator, dtype=torch.float64) + 0.5).to(self.dtype)

    def complex(self, *shape: int) -> torch.Tensor:
        """Complex normal numbers."""
        return torch.complex(self(*shape), self(*shape))


@dataclass(frozen=True)
class Sample:
    """Arguments for one call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)


def call(*args: Any, **kwargs: Any) -> Sample:
    """A sample, written as the call."""
    return Sample(args, kwargs)


@dataclass(frozen=True)
class Case:
    """One row of the table.

    Attributes:
        name: Also the test's id.
        fn: The Function.
        sample: Makes the arguments.
        plain: The forward as a plain function.
        smooth: The function whose derivative is the declared gradient, or one for each argument; else ``plain``.
        keeps: For each argument, the names of what its rules need; ``None`` where the whole call is derived.
        kept: How to compute what the forward keeps, by name, from the arguments.
        without: Properties that cannot hold, each with the reason.
    """

    name: str
    fn: Any
    sample: Callable[[Make], Sample]
    plain: Callable[..., Any]
    smooth: Callable[..., Any] | Mapping[str, Callable[..., Any]] | None = None
    keeps: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    kept: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    without: Mapping[str, str] = field(default_factory=dict)

    def smooth_for(self, name: str) -> Callable[..., Any]:
        """The formula whose derivative is the declared gradient of an argument."""
        if isinstance(self.smooth, Mapping):
            return self.smooth[name]
        return self.smooth or self.plain

    def inputs(self, dtype: torch.dtype = torch.float64, seed: int = 0) -> Inputs:
        """The sample taken apart into its differentiable tensors."""
        return Inputs(self, self.sample(Make(dtype, seed)))


class Inputs:
    """A sample's differentiable tensors, with the argument that each belongs to."""

    def __init__(self, case: Case, sample: Sample) -> None:
        bound = inspect.signature(case.fn).bind(*sample.args, **sample.kwargs)
        bound.apply_defaults()
        self.case, self.bound = case, bound
        self.leaves, self.spec = pytree.tree_flatten(dict(bound.arguments))
        self.places = [i for i, leaf in enumerate(self.leaves) if differentiable(leaf)]
        owners = [name for name, value in bound.arguments.items() for _ in pytree.tree_leaves(value)]
        self.owners = [owners[i] for i in self.places]

    @property
    def tensors(self) -> list[torch.Tensor]:
        """The differentiable tensors, in order."""
        return [self.leaves[i] for i in self.places]

    def values(self, tensors: Tensors) -> dict[str, Any]:
        """The arguments by name, with ``tensors`` in place of the sample's."""
        leaves = list(self.leaves)
        for i, t in zip(self.places, tensors, strict=True):
            leaves[i] = t
        return pytree.tree_unflatten(leaves, self.spec)  # type: ignore[no-any-return]

    def run(self, fn: Callable[..., Any], tensors: Tensors) -> Any:
        """``fn`` called as the sample says, with ``tensors``."""
        bound = inspect.signature(self.case.fn).bind(*self.bound.args, **self.bound.kwargs)
        bound.arguments.update(self.values(tensors))
        return fn(*bound.args, **bound.kwargs)

    def flat(self, fn: Callable[..., Any]) -> Callable[..., tuple[torch.Tensor, ...]]:
        """``fn`` as a function of the differentiable tensors alone, with its differentiable outputs as a tuple."""

        def flattened(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
            if fn is self.case.fn and "copies its input" in self.case.without:
                tensors = tuple(t.clone() for t in tensors)
            return tuple(o for o in pytree.tree_leaves(self.run(fn, tensors)) if differentiable(o))

        return flattened


def differentiable(value: Any) -> bool:
    """Whether a value is a tensor that can carry a gradient."""
    return isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex())


def having(prop: str) -> list[Case]:
    """The cases that a property is claimed for."""
    return [case for case in CASES if prop not in case.without]


NOT_REAL = {"half precision": "complex numbers are not cast by autocast"}

CASES = [
    Case("one rule", fns.square, lambda m: call(m(3, 4)), lambda x: x * x, keeps={"x": ("x",)}),
    Case("0-d", fns.square, lambda m: call(m()), lambda x: x * x, keeps={"x": ("x",)}),
    Case("empty", fns.square, lambda m: call(m(0, 4)), lambda x: x * x, keeps={"x": ("x",)}),
    Case(
        "not the derivative",
        fns.triple,
        lambda m: call(m(5)),
        lambda x: 2 * x,
        lambda x: 3 * x,
        keeps={"x": ()},
    ),
    Case(
        "two rules",
        fns.quantize,
        lambda m: call(m(3, 4), m.positive(1)),
        lambda x, step: torch.round(x / step) * step,
        {
            "x": lambda x, step: x + 0 * step,
            "step": lambda x, step: torch.round(x / step).detach() * step - x * step.log(),
        },
        keeps={"x": (), "step": ("x", "step")},
    ),
    Case(
        "a rule for two arguments",
        fns.clamp,
        lambda m: call(m(3, 5), m(1) - 1.0, m(1) + 1.0, scale=0.5),
        lambda x, low, high, scale=1.0: torch.minimum(torch.maximum(x, low), high) * scale,
        keeps={"x": ("x", "low", "high"), "low": ("x", "low", "high"), "high": ("x", "low", "high")},
    ),
    Case("the output", fns.exponential, lambda m: call(m(2, 3)), torch.exp, keeps={"x": ("out",)}),
    Case(
        "a kept mask",
        fns.relu,
        lambda m: call(m(4, 3)),
        torch.relu,
        keeps={"x": ("positive",)},
        kept={"positive": lambda x: x > 0},
    ),
    Case(
        "a kept float",
        fns.swish,
        lambda m: call(m(4, 3)),
        lambda x: x * torch.sigmoid(x),
        keeps={"x": ("x", "s")},
        kept={"s": torch.sigmoid},
    ),
    Case(
        "a kept float with a rule of its own",
        fns.swish_of,
        lambda m: call(m(4, 3)),
        lambda x: x * torch.sigmoid(x),
        keeps={"x": ("x", "s")},
        kept={"s": torch.sigmoid},
    ),
    Case(
        "two kept floats, two arguments",
        fns.gated,
        lambda m: call(m(4, 3), m(3)),
        lambda x, w: torch.tanh(x) * torch.sigmoid(w),
        keeps={"x": ("x", "w", "t", "s"), "w": ("x", "w", "t", "s")},
        kept={"t": lambda x, w: torch.tanh(x), "s": lambda x, w: torch.sigmoid(w)},
    ),
    Case(
        "kept containers and objects",
        fns.leaky,
        lambda m: call(m(4, 3)),
        lambda x: torch.where(x > 0, x, 0.1 * x) * 2,
        keeps={"x": ("masks",)},
        kept={"masks": lambda x: {"positive": x > 0, "rest": [x <= 0]}},
    ),
    Case(
        "some rules, the rest derived",
        fns.softplus,
        lambda m: call(m(3, 4), m.positive(4)),
        lambda x, beta: torch.log1p(torch.exp(beta * x)) / beta,
        keeps={"x": ("x", "beta"), "beta": ("x", "beta")},
    ),
    Case(
        "no rules",
        fns.mish,
        lambda m: call(m(3, 4), m.positive(3, 1)),
        lambda x, w: x * torch.tanh(torch.nn.functional.softplus(w * x)),
        keeps={"x": ("x", "w"), "w": ("x", "w")},
    ),
    Case(
        "an argument without gradient",
        fns.weighted,
        lambda m: call(m(3, 4), m(4)),
        lambda x, weight: x * weight,
        {"x": lambda x, weight: x * weight, "weight": lambda x, weight: x * weight.detach()},
        keeps={"x": ("weight",), "weight": ()},
    ),
    Case(
        "an integer argument",
        fns.pick,
        lambda m: call(m(5, 3), torch.tensor([4, 1, 1, 0])),
        lambda table, index: table[index],
        keeps={"table": ("table", "index")},
    ),
    Case(
        "the gradient of another function",
        fns.heaviside,
        lambda m: call(m(6)),
        lambda x: (x > 0).to(x.dtype),
        lambda x: torch.sigmoid(4 * x),
        keeps={"x": ("x",)},
    ),
    Case(
        "a surrogate with a learned slope",
        fns.spike,
        lambda m: call(m(6), m.positive(1)),
        lambda x, slope: (x > 0).to(x.dtype),
        lambda x, slope: torch.sigmoid(slope * x),
        keeps={"x": ("x", "slope"), "slope": ("x", "slope")},
    ),
    Case(
        "straight through",
        fns.rounded,
        lambda m: call(m(3, 4) * 3),
        torch.round,
        lambda x: 1 * x,
        keeps={fns.rounded.__pullback__.params[0]: ()},
    ),
    Case(
        "in place",
        fns.double_,
        lambda m: call(m(3, 4), m(4)),
        lambda x, w: x * 2 + w,
        keeps={"x": (), "w": ()},
        without={
            "copies its input": "it changes its first argument",
            "identity": "it returns the tensor it was given",
        },
    ),
    Case(
        "in place, with a kept value",
        fns.square_,
        lambda m: call(m(3, 4)),
        lambda x: x * x,
        keeps={"x": ("was",)},
        kept={"was": lambda x: x},
        without={
            "copies its input": "it changes its argument",
            "identity": "it returns the tensor it was given",
            "second": "the kept copy of an argument changed in place has no derivative unless a rule says so",
            "forward": "as for the second derivative",
        },
    ),
    Case(
        "a tuple of outputs",
        fns.sincos,
        lambda m: call(m(3, 4)),
        lambda x: (torch.sin(x), torch.cos(x)),
        keeps={"x": ("out",)},
    ),
    Case(
        "a dict of outputs",
        fns.powers,
        lambda m: call(m(3, 4)),
        lambda x: {"two": x**2, "rest": [x**3, x.sum()]},
        keeps={"x": ("x",)},
    ),
    Case(
        "a named tuple of outputs",
        fns.polar,
        lambda m: call(m.positive(3), m(3)),
        lambda r, angle: fns.Point(r * torch.cos(angle), r * torch.sin(angle)),
        keeps={"r": ("r", "angle"), "angle": ("r", "angle")},
    ),
    Case(
        "an integer output",
        fns.largest,
        lambda m: call(m(4, 3)),
        lambda x: tuple(x.max(dim=1)),
        keeps={"x": ("x", "index")},
        kept={"index": lambda x: x.argmax(dim=1)},
    ),
    Case(
        "hyperparameters of every kind",
        fns.affine,
        lambda m: call(m(3, 4), 3.0, mode="add", shift=0.25),
        lambda x, factor, /, *, mode="mul", shift=1.0: x * factor + shift,
        keeps={"x": ("factor",)},
    ),
    Case(
        "hyperparameters by default",
        fns.power,
        lambda m: call(m.positive(3, 4)),
        lambda x, n=3: x**n,
        keeps={"x": ("x", "n")},
    ),
    Case(
        "any number of tensors",
        fns.product,
        lambda m: call(m(3, 4), m(4), m(3, 1)),
        lambda *xs: xs[0] * xs[1] * xs[2],
        keeps={"xs": ("xs",)},
    ),
    Case(
        "any keywords",
        fns.combine,
        lambda m: call(m(3, 4), a=m(4), b=m(1)),
        lambda x, **ws: x * ws["a"] + ws["b"],
        keeps={"x": ("ws",), "ws": ("x", "ws")},
    ),
    Case(
        "containers in and out",
        fns.linear,
        lambda m: call(m(5, 3), {"weight": m(2, 3), "bias": [m(2), None]}),
        lambda x, params: {"y": (x @ params["weight"].T + params["bias"][0],)},
        keeps={"x": ("params",), "params": ("x", "params")},
    ),
    Case(
        "complex numbers",
        fns.complex_square,
        lambda m: call(m.complex(3, 2)),
        lambda z: z * z,
        keeps={"z": ("z",)},
        without=NOT_REAL,
    ),
    Case(
        "complex in, real out",
        fns.energy,
        lambda m: call(m.complex(3, 2)),
        lambda z: z.real**2 + z.imag**2,
        keeps={"z": ("z",)},
        without=NOT_REAL,
    ),
    Case(
        "a real argument of a complex function",
        fns.rotated,
        lambda m: call(m.complex(3, 2), m(2)),
        lambda z, angle: z * torch.polar(torch.ones_like(angle), angle),
        keeps={"z": ("angle",), "angle": ("angle", "out")},
        without=NOT_REAL,
    ),
    Case(
        "broadcast arguments",
        fns.multiply,
        lambda m: call(m(3, 4), m(2, 1, 1)),
        lambda x, w: x * w,
        keeps={"x": ("x", "w"), "w": ("x", "w")},
    ),
    Case(
        "a broadcast scalar",
        fns.multiply,
        lambda m: call(m(), m(3, 4)),
        lambda x, w: x * w,
        keeps={"x": ("x", "w"), "w": ("x", "w")},
    ),
    Case(
        "a default bound in a rule",
        fns.root,
        lambda m: call(m.positive(5)),
        torch.sqrt,
        lambda x: torch.sqrt(x + 1e-3),
        keeps={"x": ("x",)},
    ),
    Case(
        "a forward-mode rule",
        fns.cube,
        lambda m: call(m(3, 4)),
        lambda x: x**3,
        keeps={"x": ("x",)},
    ),
    Case(
        "a forward-mode rule beside a derived one",
        fns.scale_shift,
        lambda m: call(m(3, 4), m(4), m(1)),
        lambda x, w, b: x * w + b,
        keeps={"x": ("w",), "w": ("x",), "b": ()},
    ),
    Case(
        "a reduction",
        fns.mean_square,
        lambda m: call(m(3, 4)),
        lambda x: (x * x).mean(),
        keeps={"x": ("x",)},
    ),
    Case(
        "a matrix product",
        fns.matmul,
        lambda m: call(m(3, 4), m(4, 2)),
        lambda a, b: a @ b,
        keeps={"a": ("b",), "b": ("a",)},
    ),
]


def nonempty(names: Iterable[str]) -> list[tuple[str, ...]]:
    """All choices of at least one of the names."""
    names = list(names)
    return [choice for size in range(1, len(names) + 1) for choice in itertools.combinations(names, size)]


def subsets() -> list[tuple[Case, tuple[str, ...]]]:
    """Each case with each choice of arguments that need a gradient."""
    return [(case, needed) for case in CASES for needed in nonempty(dict.fromkeys(case.inputs().owners))]
