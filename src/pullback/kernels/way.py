"""Which calls kernels serve: closed pointwise code on plain CPU tensors, once the kernel is there and worth it.

A call is served by a *variant*, made for its dtypes, for which sizes are one or equal, and for the values of what is
neither a tensor nor a float. Until its variant is compiled, and wherever there is none, the eager way serves.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from pullback._torch import autocast_enabled, function_modes, is_plain_cpu, saved_tensor_hooks
from pullback.define.eager import Shape
from pullback.define.function import Function
from pullback.define.source import compiled, prefix
from pullback.define.strict import reraise
from pullback.define.ways import FORESIGHT, TELLERS, WAYS
from pullback.errors import KernelError, PullbackError
from pullback.graph import account  # noqa: F401 - plans speak before kernels, which are asked last
from pullback.graph.closed import holds, open_because, scalars
from pullback.graph.planned import few_elements, shown
from pullback.kernels import again, background, native, report
from pullback.kernels.compile import CompileError, Misfit, Unsupported, log
from pullback.kernels.front import Front

if TYPE_CHECKING:  # these import SymPy, which takes half a second
    from pullback.graph.plan import Plan
    from pullback.kernels.launch import Kernel
    from pullback.kernels.program import Program

Entry = Callable[..., Any]
EAGER, PENDING, READY, REFUSED = "eager", "pending", report.READY, report.REFUSED
WARM = 8
"""Work after which a kernel is begun: one for a call, and for every 512 elements."""
VARIANTS = 8
"""Combinations of dtypes, patterns of sizes and whole numbers that one Function gets kernels for."""
SMALL = 1024
"""Elements up to which calls stay as they are without the node: the call of a kernel may cost more than it saves."""
FEW = 1 / 4
"""The work of a call with so few elements."""
OUTSIDES = 2
"""Values of globals and the like that it gets kernels for: what changes more often is read by the eager rules."""


_HELD: list[None] = []


@contextmanager
def held() -> Iterator[None]:
    """No kernel serves inside: what runs twice is to give the same bits twice, also while a kernel becomes ready."""
    _HELD.append(None)
    try:
        yield
    finally:
        _HELD.pop()


def mode(function: Function[..., Any]) -> str:
    """What is asked for: ``off``, ``auto`` (in the background), ``on`` (waited for), ``require`` (or an error)."""
    said = os.environ.get("PULLBACK_FUSE", "")
    named = {"0": "off", "1": "on", "require": "require"}.get(said)
    own = "off" if function.fuse is False else "on" if function.fuse is True else None
    return "off" if "off" in (named, own) else named or own or "auto"


def fused(function: Function[..., Any], shape: Shape, needed: tuple[str, ...], eager: Entry) -> Entry:
    """The way of kernels."""
    how = mode(function)
    if how == "off":
        return eager
    reason = unsuitable(function, shape, needed)
    if reason:
        return _refused(function, how, reason, eager)
    return Choice(function, shape, needed, eager).entry()


def foresee(function: Function[..., Any], values: Sequence[Any]) -> Shape | None:
    """What a first call will show, where kernels are waited for and shall serve it too."""
    how = mode(function)
    reason = open_because(function) if how in ("on", "require") else ""
    if reason and how == "require":
        raise _required(function, reason)
    waited = how in ("on", "require") and not reason and not function_modes()  # a mode would see the run
    return shown(function, values) if waited else None


def unsuitable(function: Function[..., Any], shape: Shape, needed: tuple[str, ...]) -> str:
    """Why no call of this shape can be served; empty if some can."""
    if shape.hidden or any(rule.of is not None for rule in function.all_rules()):
        return "what its forward keeps has a rule of its own, or is a float"
    if shape.objects or shape.opaque:
        return "it keeps or is given an object"
    if not needed and shape.kept:
        return "it keeps something, and nothing needs a gradient"
    if needed and function.keep == "named":
        return 'keep="named" keeps what the rules name'
    return open_because(function)


def _passing(function: Function[..., Any]) -> str:
    kinds = {n: q.kind.name for n, q in function.arguments.signature.parameters.items()}
    return ", ".join(f"{n}={n}" if kind == "KEYWORD_ONLY" else n for n, kind in kinds.items())


def _refused(function: Function[..., Any], how: str, reason: str, eager: Entry) -> Entry:
    log.info("%s runs eagerly: %s", function.name, reason)
    if how != "require":
        return eager

    def refuse(*values: Any, **keywords: Any) -> Any:
        raise _required(function, reason)

    return refuse


def _required(function: Function[..., Any], reason: str) -> KernelError:
    return KernelError(
        f"{function.name} ({function.where})",
        "PULLBACK_FUSE=require asks for a kernel",
        reason,
        "let it run eagerly with PULLBACK_FUSE unset, or change what stands in the way",
    )


@dataclass
class Variant:
    """The kernels for one kind of call."""

    state: str = EAGER
    reason: str = "it has not been called often enough yet"
    entry: Entry | None = None
    plan: Plan | None = None
    shape: Shape | None = None
    programs: tuple[Program, ...] = ()
    kernels: tuple[Kernel, ...] = ()
    outside: tuple[Any, ...] = ()
    work: float = 0.0
    again: Any = None  # backward in PyTorch's operations
    recipes: dict[bool, Any] = field(default_factory=dict)
    example: list[Any] = field(default_factory=list)


class Choice:
    """The variants of one Function for one set of needed arguments."""

    plain = staticmethod(is_plain_cpu)
    fields = "{0}.dtype, {0}.shape"

    def __init__(self, function: Function[..., Any], shape: Shape, needed: tuple[str, ...], eager: Entry) -> None:
        self.function, self.shape, self.needed, self.eager = function, shape, needed, eager
        self.how = mode(function)
        self.outside = scalars(function)
        self.guarded = bool(self.outside())
        self.variants: dict[Any, Variant] = {}
        self.ways: dict[Any, Entry] = {}
        self.register()

    def register(self) -> None:
        """Let it be found by those who ask about the Function."""
        self.function.kernels[self.needed] = self
        outside = self.outside if self.guarded else None
        Front.of(self.function, self.shape, held=_HELD, outside=outside).take(self)

    def entry(self) -> Entry:
        """The function that looks up what serves a call by dtypes, sizes and what is baked in."""
        function = self.function
        p = prefix(function)
        counted = self.how == "auto" and bool(self.needed)  # what is kept must not change under a checkpoint
        small = " and ".join(f"{n}.numel() <= {SMALL}" for n in self.shape.tensors)
        forward = self._bare() or not self.needed
        few = f"{p}forward({_passing(function)})" if forward else f"{p}few({', '.join(function.params)})"
        lines = [
            f"def {p}call({', '.join(function.params)}):",
            *([f" if {small} and not {p}node: return {few}"] if self.how == "auto" else []),
            f" if {p}held or {p}modes() or {p}autocast(){f' or {p}hooks()' if counted else ''}:",
            f"  return {p}eager({', '.join(function.params)})",
            f" {p}way = {p}get(({', '.join(self._fields())},)) if {self._plain(p)} else {p}eager",
            f" return ({p}way or {p}missing({', '.join(function.params)}))({', '.join(function.params)})",
        ]
        names: dict[str, Any] = {
            "get": self.ways.get,
            "plain": self.plain,
            "missing": self.missing,
            "eager": self.foreign,
        }
        names |= {"modes": function_modes, "autocast": autocast_enabled, "hooks": saved_tensor_hooks}
        names["forward"], names["node"] = function.fn, native.LOADED
        if self.guarded:
            lines[-2] = lines[-2].replace("get((", "get((*" + f"{p}outside(), ")
            names["outside"] = self.outside
        return compiled(function, p, lines, {**names, "held": _HELD, "few": few_elements(self.eager)})[f"{p}call"]  # type: ignore[no-any-return]

    def _bare(self) -> bool:
        """Whether forward under plain autograd may serve: nothing is declared about it."""
        return self.function.plain and not self.function.all_rules()

    def _fields(self) -> list[str]:
        tensors = [self.fields.format(n) for n in self.shape.tensors]
        return tensors + [f"None if {n}.__class__ is float else ({n}.__class__, {n})" for n in self.shape.plain]

    def _plain(self, p: str) -> str:
        return " and ".join(f"{p}plain({n})" for n in self.shape.tensors)

    def foreign(self, *values: Any) -> Any:
        """Serve a call with tensors that no kernel takes."""
        if self.how == "require":
            raise _required(self.function, "a tensor that is not plain and on the CPU")
        return self.eager(*values)

    # ---- finding a variant

    def variant(self, values: Sequence[Any]) -> Variant | None:
        """What is known about calls like one with these values."""
        return self.variants.get(self._key(values))

    def missing(self, *values: Any) -> Entry:
        """What serves a call whose sizes have not been seen, or whose variant is not ready."""
        key = self._key(values)
        variant = self.variants.get(key)
        if variant is None:
            variant = Variant(outside=self.outside())
            if len(self.variants) >= VARIANTS or len({v.outside for v in self.variants.values()}) > OUTSIDES:
                self._refuse(variant, "too many kinds of calls, or a value that changes from call to call")
                return self._no_kernel(variant)
            self.variants[key] = variant
            self._check(variant, values)
        if variant.state == EAGER:
            self._begin(variant, values)
        if variant.state == PENDING and self.how != "auto":
            background.wait()
        if variant.state == READY and variant.entry is not None:
            return self._remember(values, variant.entry)
        if variant.state == REFUSED:
            return self._remember(values, self._no_kernel(variant))
        return self.eager

    def _remember(self, values: Sequence[Any], way: Entry) -> Entry:
        if len(self.ways) > 1024:
            self.ways.clear()
        outside = self.outside() if self.guarded else ()
        tensors = [v for n in self.shape.tensors for v in self._of(n, values)]
        plain = [None if type(v) is float else (type(v), v) for v in (self._value(n, values) for n in self.shape.plain)]
        self.ways[(*outside, *tensors, *plain)] = way
        return way

    def _value(self, name: str, values: Sequence[Any]) -> Any:
        return values[self.function.params.index(name)]

    def _of(self, name: str, values: Sequence[Any]) -> tuple[Any, Any]:
        tensor = self._value(name, values)
        return tensor.dtype, tensor.shape

    def _key(self, values: Sequence[Any]) -> Any:
        places: dict[int, int] = {1: -1}
        key: list[Any] = list(self.outside()) if self.guarded else []
        for value in values:
            if isinstance(value, torch.Tensor):
                key.append((value.dtype, tuple(places.setdefault(n, len(places)) for n in value.shape)))
            else:
                key.append(None if type(value) is float else (type(value), value))
        return tuple(key)

    def _check(self, variant: Variant, values: Sequence[Any]) -> None:
        tensors = [v for v in values if isinstance(v, torch.Tensor)]
        if any(t.numel() == 0 for t in tensors):
            self._refuse(variant, "no elements")

    # ---- making a variant

    def _begin(self, variant: Variant, values: Sequence[Any]) -> None:
        elements = max(v.numel() for v in values if isinstance(v, torch.Tensor))
        variant.work += FEW if elements <= SMALL else 1 + elements / 512
        if self.how == "auto" and (variant.work < WARM or not background.ready_to_trace()):
            return
        try:
            self._trace(variant, values)
        except (PullbackError, Unsupported) as error:
            self._refuse(variant, getattr(error, "got", "") or str(error))
        except Exception as error:  # whatever tracing meets: the eager rules serve
            reraise(error)
            self._refuse(variant, f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")
        else:
            variant.state, variant.reason = PENDING, "its kernel is being compiled"
            background.submit(lambda: self._compile(variant))

    def _trace(self, variant: Variant, values: Sequence[Any]) -> None:
        from pullback.graph.plan import plan

        variant.shape = shown(self.function, values)  # a whole number may change the output's structure
        reason = unsuitable(self.function, variant.shape, self.needed) if variant.shape else "it returns a container"
        if reason:
            raise Unsupported(reason)
        given = [v.detach() if isinstance(v, torch.Tensor) else v for v in values]
        with torch.no_grad():
            variant.plan = plan(self.function, self.needed, given, self.function.keep)
        if variant.plan.keep == "small":
            raise Unsupported('keep="small" reads the slope off the output, which no kernel does')
        if any(r.source == "value" for r in variant.plan.residuals):
            raise Unsupported("an intermediate would have to be kept, through which no second derivative goes")
        fixed = {n: self._value(n, values) for n in self.shape.plain}
        variant.again = again.backward(self.function, variant.plan, self.eager, fixed)
        self.read(variant, values)

    def read(self, variant: Variant, values: Sequence[Any]) -> None:
        """Look at the graphs of a variant, as kernels need them.

        Raises:
            Unsupported: If they hold what has no kernels.
        """
        from pullback.kernels import node
        from pullback.kernels.program import read

        assert variant.plan is not None
        (end,) = variant.plan.forward.graph.find_nodes(op="output")
        if any(n.op == "placeholder" for n in end.args[0][: variant.plan.outputs]):
            raise Unsupported("it returns an argument as it is, of which a kernel would make a copy")
        graphs = [variant.plan.forward, *([variant.plan.backward] if self.needed else [])]
        variant.programs = tuple(map(read, graphs))
        node.mark_packed(variant.plan, *variant.programs)
        slow = sorted({name for program in variant.programs for name in program.slow})
        if slow and self.how == "auto":
            raise Unsupported(f"PyTorch is faster at {', '.join(slow)} in float64")

    def _compile(self, variant: Variant) -> None:
        try:
            variant.entry = self._guarded(variant, self.make(variant))
            variant.state, variant.reason = READY, ""
        except Exception as error:
            self._refuse(variant, str(error))
            if not isinstance(error, (CompileError, Unsupported)):
                log.info("%s: %r", self.function.name, error)

    def make(self, variant: Variant) -> Entry:
        """What serves the calls of a variant that has been traced; the node in C++ follows in its own time."""
        from pullback.kernels import node
        from pullback.kernels.launch import Kernel

        assert variant.plan is not None
        assert variant.shape is not None
        variant.kernels = tuple(map(Kernel, variant.programs))
        native.begin()
        made = (self.function, variant.shape, variant.plan)
        if not self.needed:
            return node.plain_entry(*made, *variant.kernels)
        forward, backward = variant.kernels
        return node.entry(*made, forward, backward, variant.again)

    def _guarded(self, variant: Variant, run: Entry) -> Entry:
        """The kernels for calls for which what was decided about numbers holds, the eager way for others."""
        made, eager = variant.plan, self.eager
        assert made is not None
        held = holds(made.guards, made.numbers)
        places = [self.function.params.index(n) for n in made.numbers]

        def guarded(*values: Any) -> Any:
            if not held(*(values[i] for i in places)):
                return eager(*values)
            return served(*values)

        def served(*values: Any) -> Any:
            try:
                return run(*values)
            except Misfit:
                return eager(*values)

        return guarded if made.guards else served

    def _refuse(self, variant: Variant, reason: str) -> None:
        variant.state, variant.reason = REFUSED, reason
        log.info("%s runs eagerly: %s", self.function.name, reason)

    def _no_kernel(self, variant: Variant) -> Entry:
        if self.how == "require":
            return self._refuse_call(variant)
        return self._forward_if_few if self._bare() and self.needed else self.eager

    def _refuse_call(self, variant: Variant) -> Entry:
        def refuse(*values: Any) -> Any:
            raise _required(self.function, variant.reason)

        return refuse

    def _forward_if_few(self, *values: Any) -> Any:
        """Nothing is faster for few elements of a plain formula than PyTorch; many keep less the eager way."""
        if any(v.numel() > SMALL for v in values if isinstance(v, torch.Tensor)):
            return self.eager(*values)
        args, keywords = self.function.arguments.call(dict(zip(self.function.params, values, strict=True)))
        return self.function.fn(*args, **keywords)


FORESIGHT.append(foresee)
TELLERS.append(report.account)
WAYS.append(fused)
