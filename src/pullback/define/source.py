"""The text of generated code: the eager autograd.Function of one Function, and the ways into it.

Generated names begin with a prefix that no argument has. The text is known to `linecache`, so tracebacks show it.
"""

from __future__ import annotations

import itertools
import linecache
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from pullback._torch import AutogradFunction, grad_enabled
from pullback.define import running
from pullback.define.autograd import captured, changed_input, not_returned
from pullback.define.call import zero
from pullback.define.fit import Like, fit
from pullback.define.function import Function
from pullback.define.keep import MARK, Kept
from pullback.define.purity import changes_nothing
from pullback.define.rule import Rule

if TYPE_CHECKING:
    from pullback.define.eager import Shape

LIKE, HYPER, OUTPUTS = "_like_", "_value_", "_outputs"  # attributes of ctx; no name of the user's follows `ctx._`
BUILTINS = (tuple, len, isinstance, RuntimeError, KeyError, Exception)
_serial = itertools.count()


def prefix(function: Function[..., Any], *more: str) -> str:
    """A beginning that no name of the user's has."""
    start = "_"
    while any(name.startswith(start) for name in (function.name, *function.params, *more)):
        start += "_"
    return start


def compiled(function: Function[..., Any], p: str, lines: Iterable[str], names: dict[str, Any]) -> dict[str, Any]:
    """The namespace after running generated code, in which ``names`` and some built-ins have the prefix ``p``."""
    text = "\n".join(lines) + "\n"
    file = f"<pullback {function.name} {next(_serial)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    weakref.finalize(function, linecache.cache.pop, file, None)
    space = {MARK: True, **{p + k: v for k, v in names.items()}, **{p + b.__name__: b for b in BUILTINS}}
    exec(compile(text, file, "exec"), space)
    return space


def way_in(function: Function[..., Any], shape: Shape, **helpers: Any) -> Callable[..., Any]:
    """The function that picks the class for the arguments that need a gradient, or none."""
    p = prefix(function)
    _, nondiff = function.opted_out()
    pure = function.inplace is not None or (not shape.opaque and changes_nothing([function.fn]))
    bits = " | ".join(f"{n}.requires_grad << {i}" for i, n in enumerate(shape.tensors) if n not in nondiff) or "0"
    values = ", ".join(function.params)
    lines = [
        f"def {p}enter({values}):",
        f" {p}bits = {bits}",
        f" if {p}bits and {p}grad_enabled():",
        "  try:",
        f"   return ({p}get({p}bits) or {p}missing({p}bits))({values}){_visible(shape)}",
        f"  except {p}OtherWay as {p}way:",
        f"   {p}found = {p}way",
        f"  return {p}other({p}found, {values})",
        *([] if pure else _versions(p, shape.tensors)),
        f" {p}r = {p}forward({_passing(function, _detached(nondiff & {*shape.tensors}))})",
        *([] if pure else _unchanged(p, shape.tensors, f"{p}changed_input({p}function)")),
        *([f" if {p}r.__class__ is {p}Kept: {p}r = {p}r.out"] if shape.kept else []),
        f" if {p}r.__class__ is not {p}Tensor:" if shape.single else _not_a_tuple(p, shape),
        f"  return {p}odd({p}r)",
        f" if {_any_requires_grad(p, shape)} and {p}grad_enabled():",
        f"  raise {p}captured({p}function)",
        f" return {p}r",
    ]
    names = {
        "grad_enabled": grad_enabled, "Tensor": torch.Tensor, "captured": captured,
        "function": function, "Kept": Kept, "changed_input": changed_input, **helpers,
    }  # fmt: skip
    return compiled(function, p, lines, names)[f"{p}enter"]  # type: ignore[no-any-return]


def autograd_class(
    function: Function[..., Any], shape: Shape, needed: tuple[str, ...], watched: bool, **helpers: Any
) -> type[AutogradFunction]:
    """The autograd.Function for the arguments in ``needed``; ``watched`` if its forward might capture a tensor."""
    writer = _Writer(function, shape, needed, watched)
    names = {
        "forward": function.fn, "Tensor": torch.Tensor, "Kept": Kept, "function": function, "fit": fit, "Like": Like,
        "zero": zero, "grad_enabled": grad_enabled, "captured": captured, "changed_input": changed_input,
        "not_returned": not_returned, "changed": running.changed, "count": running.count, "noted": running.noted,
        "enable_grad": torch.enable_grad, **helpers, **writer.rules,
        **{f"dtype_{n}": dtype for n, dtype in shape.constant.items()},
    }  # fmt: skip
    p = writer.p
    space = compiled(function, p, (*writer.forward(), *writer.backward()), names)
    methods = {n: staticmethod(space[f"{p}{n}"]) for n in ("forward_", "backward_")}
    body = {"forward": methods["forward_"], "backward": methods["backward_"], "__module__": function.fn.__module__}
    body["__pullback__"] = function
    return type(function.name, (AutogradFunction,), body)


def outputs_of(shape: Shape, out: Any) -> Sequence[Any]:
    """The output's tensors, or as many ``None`` if it was not kept."""
    if out is None:
        return [None] * shape.outputs
    return [out] if shape.single else list(out)


def _tuple(names: Iterable[str]) -> str:
    return f"({''.join(name + ', ' for name in names)})"


def _detached(names: Iterable[str]) -> Callable[[str], str]:
    return lambda name: f"{name}.detach()" if name in names else name


def _versions(p: str, names: Sequence[str]) -> list[str]:
    """Note the versions of tensors; those made in inference mode have none."""
    return [
        " try: " + "; ".join(f"{p}v{i} = {n}._version" for i, n in enumerate(names)),
        f" except {p}RuntimeError: {p}v0 = None",
    ]


def _unchanged(p: str, names: Sequence[str], error: str) -> list[str]:
    changed = " or ".join(f"{n}._version != {p}v{i}" for i, n in enumerate(names))
    return [f" if {p}v0 is not None and ({changed}): raise {error}"]


def _not_a_tuple(p: str, shape: Shape) -> str:
    return f" if {p}r.__class__ is not {p}tuple or {p}len({p}r) != {shape.outputs}:"


def _any_requires_grad(p: str, shape: Shape) -> str:
    if shape.single:
        return f"{p}r.requires_grad"
    return f"True in [{p}t.requires_grad for {p}t in {p}r if {p}t.__class__ is {p}Tensor]"


def _visible(shape: Shape) -> str:
    """What callers see of the flat results of apply."""
    if not shape.hidden:
        return ""
    return "[0]" if shape.single else f"[:{shape.outputs}]"


def _passing(function: Function[..., Any], change: Callable[[str], str] = str) -> str:
    kinds = {n: q.kind.name for n, q in function.arguments.signature.parameters.items()}
    return ", ".join(f"{n}={change(n)}" if k == "KEYWORD_ONLY" else change(n) for n, k in kinds.items())


class _Writer:
    """Writes forward and backward of one class."""

    def __init__(self, function: Function[..., Any], shape: Shape, needed: tuple[str, ...], watched: bool) -> None:
        self.function, self.shape, self.needed = function, shape, needed
        self.watched = watched and function.inplace is None
        self.p = prefix(function, *shape.kept, "out")
        self.plan = function.plan(needed)
        wanted = function.wanted(needed)
        self.outs = ["out"] if shape.single else [f"{self.p}o{i}" for i in range(shape.outputs)]
        tensors = [n for n in (*shape.tensors, *shape.kept) if n in wanted and n not in shape.objects]
        self.saved = tensors + (self.outs if "out" in wanted else [])
        reruns = bool(shape.hidden)  # a derivative of kept values may run forward again, with every plain argument
        self.values = [n for n in (*shape.plain, *shape.objects) if n in wanted or (reruns and n in shape.plain)]
        self.unsaved = [n for n in needed if n not in self.saved]
        self.out_wanted = "out" in wanted
        self.pure = not shape.opaque and changes_nothing([function.fn])
        self.whole = [n for n in shape.tensors if n != function.inplace]  # what forward must not change
        self.pure |= not self.whole
        self.rules: dict[str, Any] = {}
        for i, (rule, fn, _) in enumerate(self.plan):
            self.rules |= {f"call{i}": fn, f"rule{i}": rule, f"needed{i}": self.plan[i][2]}
            self.rules |= {f"who{i}_{a}": _who(function, rule, a) for a in rule.args}

    # ---- forward

    def forward(self) -> list[str]:
        p = self.p
        return [
            f"def {p}forward_({p}ctx, {', '.join(self.function.params)}):",
            *([] if self.pure else _versions(p, self.whole)),
            *self._run(),
            *self._unpack(),
            *([] if self.pure else _unchanged(p, self.whole, f"{p}changed_input({p}function)")),
            *self._alias(),
            *self._keep(),
            f" return {', '.join((*self.outs, *self.shape.hidden))}{'' if self._one else ','}",
        ]

    @property
    def _one(self) -> bool:
        return self.shape.single and not self.shape.hidden

    def _run(self) -> list[str]:
        p, function = self.p, self.function
        random = function.reruns()
        tensors = self.shape.tensors
        lines = [f" {p}state = {p}RandomState(({', '.join(function.params)},))"] if random else []
        if self.watched:
            lines += [f" with {p}enable_grad(): {p}r = {p}forward({_passing(function, _detached(tensors))})"]
        else:
            lines += [f" {p}r = {p}forward({_passing(function)})"]
        return lines + ([f" if {p}state.moved(): raise {p}OtherWay({p}r, {p}state)"] if random else [])

    def _unpack(self) -> list[str]:
        p, shape = self.p, self.shape
        lines = [f" {p}all = {p}r"]
        if shape.kept:
            lines += [
                f" if {p}r.__class__ is not {p}Kept: raise {p}OtherWay({p}all)",
                f" {p}k = {p}r.named; {p}r = {p}r.out",
                f" if {p}len({p}k) != {len(shape.kept)}: raise {p}OtherWay({p}all)",
                " try: " + "; ".join(f"{n} = {p}k[{n!r}]" for n in shape.kept),
                f" except {p}KeyError: raise {p}OtherWay({p}all) from None",
            ]
        if shape.single:
            lines += [" out = " + f"{p}r"]
        else:
            lines += [_not_a_tuple(p, shape), f"  raise {p}OtherWay({p}all)", f" {', '.join(self.outs)}, = {p}r"]
        lines += [f" if {' or '.join(self._misfits())}: raise {p}OtherWay({p}all)"]
        if self.watched:
            lines += [f" if {' or '.join(f'{n}.requires_grad' for n in self.outs)}: raise {p}captured({p}function)"]
        return lines

    def _misfits(self) -> list[str]:
        """Conditions under which a result is not what the class was written for."""
        p, shape = self.p, self.shape
        tensors = [k for k in shape.kept if k not in shape.objects]
        misfits = [f"{n}.__class__ is not {p}Tensor" for n in (*self.outs, *tensors)]
        misfits += [f"{p}isinstance({n}, {p}Tensor)" for n in shape.objects]
        misfits += [f"not {n}.is_floating_point() and not {n}.is_complex()" for n in shape.hidden]
        misfits += [f"{n}.dtype is not {p}dtype_{n}" for n in shape.constant]
        for i, hidden in enumerate(shape.hidden):
            misfits += [f"{hidden} is {n}" for n in (*shape.tensors, *self.outs, *shape.hidden[:i])]
        return misfits

    def _alias(self) -> list[str]:
        """No output is an input, and none comes twice; one is what forward works on in place."""
        lines = []
        if self.function.inplace is not None:
            p, x = self.p, self.function.inplace
            lines += [f" if {' and '.join(f'{out} is not {x}' for out in self.outs)}:"]
            lines += [f"  raise {p}not_returned({p}function, ({', '.join(self.outs)},))", f" {p}ctx.mark_dirty({x})"]
        for i, out in enumerate(self.outs):
            others = [*self.whole, *self.outs[:i]]
            same = " or ".join(f"{out} is {n}" for n in others)
            lines += [f" if {same}: {out} = {out}.view_as({out})"] if same else []
        return lines

    def _keep(self) -> list[str]:
        c = f" {self.p}ctx."
        lines = [f"{c}save_for_backward({', '.join(self.saved)})"] if self.saved else []
        lines += [f"{c}{HYPER}{n} = {n}" for n in self.values]
        lines += [f"{c}{LIKE}{n} = {n}.shape, {n}.dtype, {n}.device" for n in self.unsaved]
        if not self._one:
            lines += [f"{c}set_materialize_grads(False)"]
        if not self.shape.single:
            likes = "".join(f"({o}.shape, {o}.dtype, {o}.device), " for o in self.outs)
            lines += [f"{c}{OUTPUTS} = ({likes})"]
        return lines

    # ---- backward

    def backward(self) -> list[str]:
        p, shape = self.p, self.shape
        gs = [f"{p}g{i}" for i in range(shape.outputs)]
        hidden = [f"{p}h{i}" for i in range(len(shape.hidden))]
        return [
            f"def {p}backward_({p}ctx, {', '.join((*gs, *hidden))}):",
            *([f" {''.join(n + ', ' for n in self.saved)}= {p}ctx.saved_tensors"] if self.saved else []),
            f" if {' or '.join((f'{p}grad_enabled()', *(f'{h} is not None' for h in hidden)))}:",
            f"  return {p}again({p}ctx, {self._everything()}, {_tuple(gs)}, {_tuple(hidden)})",
            *self._cotangent(gs),
            *[line for i in range(len(self.plan)) for line in self._rule(i)],
            f" return {', '.join(self._results())}",
        ]

    def _everything(self) -> str:
        pairs = [f"{n!r}: {n}" for n in self.saved if n not in self.outs]
        pairs += [f"{n!r}: {self.p}ctx.{HYPER}{n}" for n in self.values]
        if self.out_wanted:
            pairs += [f"'out': {self._output()}"]
        return "{" + ", ".join(pairs) + "}"

    def _output(self) -> str:
        return "out" if self.shape.single else f"({', '.join(self.outs)},)"

    def _cotangent(self, gs: list[str]) -> list[str]:
        p = self.p
        g = f" {p}g = {gs[0]}" if self.shape.single else f" {p}g = ({''.join(g + ', ' for g in gs)})"
        if self._one:
            return [g]
        nothing = ", ".join(["None"] * len(self.function.params))
        lines = [f" if {' and '.join(f'{g} is None' for g in gs)}: return {nothing}"]
        if not self.shape.single:
            lines += [f" if {g} is None: {g} = {p}zero({p}Like(*{p}ctx.{OUTPUTS}[{i}]))" for i, g in enumerate(gs)]
        return [*lines, g]

    def _rule(self, i: int) -> list[str]:
        p = self.p
        rule, _, args = self.plan[i]
        residuals = [n for w in rule.wants for n in (self.outs if w == "out" else [w]) if n in self.saved]
        pure = not self.shape.opaque and changes_nothing([rule.fn])
        guarded = [] if pure else [*[f"{p}g{j}" for j in range(self.shape.outputs)], *dict.fromkeys(residuals)]
        lines = [
            *([] if pure else _versions(p, guarded)),
            f" try: {p}r = {p}call{i}({p}g, {', '.join(self._value(w) for w in rule.wants)})",
            f" except {p}Exception as {p}e:",
            f"  {p}noted({p}e, {p}function, {p}rule{i})",
            "  raise",
            *([] if pure else _unchanged(p, guarded, f"{p}changed({p}function, {p}rule{i})")),
        ]
        if len(args) == 1:
            return [*lines, *self._fit(i, args[0], f"{p}r")]
        lines += [f" {p}r = {p}count({p}function, {p}rule{i}, {p}needed{i}, {p}r)"]
        return [
            *lines,
            *[line for j, a in enumerate(args) if a in self.needed for line in self._fit(i, a, f"{p}r[{j}]")],
        ]

    def _value(self, want: str) -> str:
        if want == "out":
            return self._output()
        return f"{self.p}ctx.{HYPER}{want}" if want in self.values else want

    def _fit(self, i: int, arg: str, result: str) -> list[str]:
        p = self.p
        known, x = arg in self.saved, f"{p}x_{arg}"
        like = [f"{arg}.{field}" if known else f"{p}{field}" for field in Like._fields]
        refit = f"{x} = {p}fit({p}who{i}_{arg}, {x}, {p}Like({', '.join(like)}))"
        return [
            f" {x} = {result}",
            *([] if known else [f" {', '.join(like)} = {p}ctx.{LIKE}{arg}"]),
            f" if {x}.__class__ is not {p}Tensor or {x}.dtype is not {like[1]} or {x}.device != {like[2]}: {refit}",
            f" elif {x}.shape != {like[0]}:",
            f"  try: {x} = {x}.sum_to_size({like[0]})",
            f"  except {p}RuntimeError: {refit}",
        ]

    def _results(self) -> list[str]:
        served = {a for _, _, args in self.plan for a in args}
        return [f"{self.p}x_{n}" if n in self.needed and n in served else "None" for n in self.function.params]


def _who(function: Function[..., Any], rule: Rule, arg: str) -> Callable[[], str]:
    return lambda: rule.who(function.name, [arg])
