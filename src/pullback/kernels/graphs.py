"""Kernels on CUDA: the graphs of a plan, forward and backward, compiled by Inductor.

Numbers are arguments of the graphs, so that a new value compiles nothing anew; conditions are packed and unpacked in
the same kernels that make and use them. ``PULLBACK_GRAPHS=cpu`` sends tensors on the CPU the same way, to test it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch

from pullback._torch import AutogradFunction, bare_apply, compiler_errors, grad_enabled, is_plain
from pullback.define.eager import Shape
from pullback.define.function import Function
from pullback.define.source import compiled, prefix
from pullback.define.ways import WAYS
from pullback.graph.execute import output_names
from pullback.graph.packing import packed, unpack, unpacked
from pullback.kernels.compile import Misfit
from pullback.kernels.node import sizes
from pullback.kernels.way import Choice, Variant, mode, unsuitable

Entry = Callable[..., Any]
BACKEND = "inductor"


def devices() -> set[str]:
    """The kinds of devices whose calls go this way."""
    asked = os.environ.get("PULLBACK_GRAPHS", "")
    return {asked} - {""} | ({"cuda"} if torch.cuda.is_available() else set())


def graphed(function: Function[..., Any], shape: Shape, needed: tuple[str, ...], eager: Entry) -> Entry:
    """The way of Inductor, before that of kernels for the CPU."""
    found = devices()
    if not found or mode(function) == "off" or unsuitable(function, shape, needed):
        return eager
    return GraphChoice(function, shape, needed, eager).entry()


class GraphChoice(Choice):
    """The variants of one Function on such devices."""

    fields = "{0}.dtype, {0}.shape, {0}.device"

    def register(self) -> None:
        """Found by those who ask about graphs."""
        self.function.graphs[self.needed] = self

    @staticmethod
    def plain(tensor: torch.Tensor) -> bool:
        """Whether a tensor is what it seems, on a device that is served."""
        return tensor.device.type in devices() and is_plain(tensor)

    def foreign(self, *values: Any) -> Any:
        """Calls on other devices are not ours."""
        return self.eager(*values)

    def _of(self, name: str, values: Sequence[Any]) -> tuple[Any, ...]:
        return (*super()._of(name, values), self._value(name, values).device)

    def _key(self, values: Sequence[Any]) -> Any:
        return (*super()._key(values), *(v.device for v in values if isinstance(v, torch.Tensor)))

    def read(self, variant: Variant, values: Sequence[Any]) -> None:
        """Inductor takes any graph; what it is tried on must be like what it will get."""
        variant.example = [torch.empty_like(v) if isinstance(v, torch.Tensor) else v for v in values]

    def make(self, variant: Variant) -> Entry:
        """The compiled graphs, tried once: nobody waits for the compiler in a real call."""
        assert variant.plan is not None
        graphs = Graphs(self.function, variant)
        graphs.attempt(variant.example)
        variant.example = []
        return graphs.entry()


class Graphs:
    """What serves the calls of one plan.

    Args:
        function: The Function.
        variant: What is known about them.
    """

    def __init__(self, function: Function[..., Any], variant: Variant) -> None:
        assert variant.plan is not None
        assert variant.shape is not None
        plan, self.single = variant.plan, variant.shape.single
        self.function, self.plan, self.lengths = function, plan, sizes(plan)
        self.by_operations: Entry = variant.again
        self.results = [*output_names(plan), *(r.name for r in plan.made if r.source != "size")]
        self.kept = [r for r in plan.residuals if r.source != "size"]
        p = prefix(function, "out")
        names = {"f": plan.forward, "b": plan.backward, "pack": packed, "unpack": unpacked}
        space = compiled(function, p, self._text(p), names)
        self.forward, self.backward = (self._built(space[f"{p}{name}"]) for name in ("forward", "backward"))

    def _text(self, p: str) -> Iterator[str]:
        """Both graphs with the packing: functions of their own, for torch.compile counts what it makes of each."""
        given = [f"{p}a{i}" for i in range(len(self.plan.arguments) + len(self.plan.numbers))]
        outputs = [f"{p}o{i}" for i in range(self.plan.outputs)]
        made = [f"{p}m{i}" for i in range(len(self.plan.made))]
        packed = [f"{p}pack({m})" if r.source == "bits" else m for r, m in zip(self.plan.made, made, strict=True)]
        kept = [m for r, m in zip(self.plan.made, packed, strict=True) if r.source != "size"]
        yield f"def {p}forward({', '.join(given)}):"
        yield f" {''.join(f'{n}, ' for n in (*outputs, *made))}= {p}f({', '.join(given)})"
        yield f" return {''.join(f'{n}, ' for n in (*outputs, *kept))}"
        residuals = [f"{p}r{i}" for i in range(len(self.plan.residuals))]
        given = [*residuals, *(f"{p}g{i}" for i in range(self.plan.outputs)), *given[len(self.plan.arguments) :]]
        yield f"def {p}backward({p}whole, {', '.join(given)}):"
        for r, name in zip(self.plan.residuals, residuals, strict=True):
            if r.source == "bits":
                yield f" {name} = {p}unpack({name}, {p}whole)"
        yield f" return {p}b({', '.join(given)})"

    def _built(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        return torch.compile(fn, backend=BACKEND, fullgraph=True, dynamic=True)

    def _residuals(self, shapes: Sequence[torch.Size], values: Sequence[Any]) -> list[Any]:
        """What is kept in the order of the plan, with sizes, then all the rest."""
        rest, found = iter(values), []
        for r in self.plan.residuals:
            argument, dim = self.lengths.get(r.name, ("", 0))
            found.append(shapes[self.plan.arguments.index(argument)][dim] if r.source == "size" else next(rest))
        return [*found, *rest]

    def attempt(self, example: Sequence[Any]) -> None:
        """Compile both graphs for values like these."""
        given = dict(zip(self.function.params, example, strict=True))
        tensors = [given[n] for n in self.plan.arguments]
        numbers = [given[n] for n in self.plan.numbers]
        with torch.no_grad():
            results = self.forward(*tensors, *numbers)
            if self.plan.needed:
                gs = [torch.empty_like(out) for out in results[: self.plan.outputs]]
                values = [*self._kept(given, results), *gs, *numbers]
                self.backward(gs[0].shape, *self._residuals([t.shape for t in tensors], values))

    def _kept(self, given: dict[str, Any], results: Sequence[Any]) -> list[torch.Tensor]:
        known = {**given, **dict(zip(self.results, results, strict=True))}
        return [known[r.name] for r in self.kept]

    def _returned(self, results: Sequence[torch.Tensor]) -> Any:
        return results[0] if self.single else tuple(results[: self.plan.outputs])

    # ---- calls

    def entry(self) -> Entry:
        """The autograd.Function, or where nothing needs a gradient forward alone."""
        if not self.plan.needed:
            return lambda *values: self._returned(self._run(dict(zip(self.function.params, values, strict=True))))
        body = {"forward": staticmethod(self._enter), "backward": staticmethod(self._leave)}
        named = {"__module__": self.function.fn.__module__, "__pullback__": self.function}
        return bare_apply(type(self.function.name, (AutogradFunction,), {**body, **named}))

    def _run(self, given: dict[str, Any]) -> Any:
        try:
            return self.forward(*_bare(given[n] for n in (*self.plan.arguments, *self.plan.numbers)))
        except compiler_errors() as error:
            raise Misfit(str(error)) from error

    def _enter(self, ctx: Any, *values: Any) -> Any:
        given = dict(zip(self.function.params, values, strict=True))
        results = self._run(given)
        ctx.save_for_backward(*self._kept(given, results))
        ctx.shapes = tuple(given[n].shape for n in self.plan.arguments)
        ctx.numbers = [given[n] for n in self.plan.numbers]
        return self._returned(results)

    def _leave(self, ctx: Any, *cotangents: torch.Tensor) -> tuple[Any, ...]:
        gs = [g.contiguous() if 0 in g.stride() else g for g in cotangents]  # another layout would be compiled anew
        values = self._residuals(ctx.shapes, [*ctx.saved_tensors, *gs, *ctx.numbers])
        if grad_enabled() or not all(is_plain(t) for t in (*ctx.saved_tensors, *gs)):
            return self._again(gs[0], values)
        try:
            return self._by_params(self.backward(gs[0].shape, *_bare(values)))
        except compiler_errors():
            return self._again(gs[0], values)

    def _again(self, g: torch.Tensor, values: Sequence[Any]) -> tuple[Any, ...]:
        """Backward in PyTorch's own operations: for second derivatives."""
        bits = [r.source == "bits" for r in self.plan.residuals] + [False] * len(values)
        whole = [unpack(v, g.shape) if packed else v for v, packed in zip(values, bits, strict=False)]
        return self._by_params(self.by_operations(*whole))

    def _by_params(self, gradients: Sequence[Any]) -> tuple[Any, ...]:
        found = dict(zip(self.plan.needed, gradients, strict=True))
        return tuple(found.get(n) for n in self.function.params)


def _bare(values: Iterable[Any]) -> list[Any]:
    """Tensors that need no gradient: what they need is looked at anew, and compiled for."""
    return [v.detach() if isinstance(v, torch.Tensor) else v for v in values]


WAYS.append(graphed)
