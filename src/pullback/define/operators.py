"""Opaque Functions: forward and rules as operators of the dispatcher, whose code no stack ever looks into.

A tracer (torch.compile, export, fake tensors) sees the operators' names and asks only what their results look like:
for the forward `Function.fake` says so, and a gradient looks like its argument. Everything that is no tensor travels
in the operators' first argument, as text.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import json
import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch

from pullback import _describe
from pullback._torch import grad_enabled, in_transform
from pullback.define import running, written
from pullback.define.captures import captures, refuse_trainable
from pullback.define.fit import Like
from pullback.define.keep import Kept, run_forward
from pullback.define.rule import Rule
from pullback.define.split import Split, split
from pullback.errors import DefinitionError, ForwardResultError, StackError

if TYPE_CHECKING:
    from pullback.define.call import Call
    from pullback.define.function import Function

SCHEMA = "(str arguments, Tensor[] tensors, Scalar[] sizes) -> Tensor[]"
RESERVED = {"aten", "prims", "prim", "quantized", "pullback", "inductor", "higher_order", "profiler"}
REMEMBERED = 256  # structures of results, by the text of the arguments

Tensors = Sequence[torch.Tensor]
_owners: dict[str, tuple[str, str]] = {}  # operator -> whose it is, by module and by file


class Operator:
    """One operator with a batching rule: it runs once for each row."""

    def __init__(self, name: str, kernel: Callable[..., list[torch.Tensor]], fake: Callable[..., Any]) -> None:
        made = torch.library.custom_op(name, _owning(kernel), mutates_args=(), schema=SCHEMA)
        made.register_fake(fake)
        made.register_vmap(self._vmap)
        self.name, self.call = name, made._opoverload

    def __call__(self, text: str, tensors: Tensors, sizes: Sequence[Any]) -> list[torch.Tensor]:
        """The results."""
        return self.call(text, list(tensors), list(sizes))  # type: ignore[no-any-return]

    def _vmap(self, info: Any, in_dims: Any, text: str, tensors: Tensors, sizes: Sequence[Any]) -> Any:
        dims = in_dims[1]
        rows = [
            self(text, [t if d is None else t.select(d, i) for t, d in zip(tensors, dims, strict=True)], sizes)
            for i in range(info.batch_size)
        ]
        if not rows:
            one = [t if d is None else t.new_zeros(_without(t.shape, d)) for t, d in zip(tensors, dims, strict=True)]
            rows = [self(text, one, sizes)]
            results = [torch.stack(column)[:0] for column in zip(*rows, strict=True)]
            return results, [0] * len(results)
        results = [torch.stack(column) for column in zip(*rows, strict=True)]
        return results, [0] * len(results)


def _without(shape: torch.Size, dim: int) -> list[int]:
    return [n for i, n in enumerate(shape) if i != dim % len(shape)]


def _owning(kernel: Callable[..., list[torch.Tensor]]) -> Callable[..., list[torch.Tensor]]:
    """``kernel`` with results that share no memory with its arguments or each other, as the dispatcher demands."""

    def run(text: str, tensors: Tensors, sizes: Sequence[int]) -> list[torch.Tensor]:
        taken = {t.untyped_storage().data_ptr() for t in tensors}
        results = []
        for result in kernel(text, tensors, sizes):
            place = result.untyped_storage().data_ptr()
            results.append(result.clone() if place in taken and result.numel() else result)
            taken.add(place)
        return results

    return run


# ---- the forward


class Forward:
    """The forward of an opaque Function: called in its place, it calls the operator."""

    def __init__(self, function: Function[..., Any], name: str) -> None:
        _check(function, name)
        self.function, self.name, self.code = function, name, function.fn
        functools.update_wrapper(self, function.fn)
        self.fake: Callable[..., Any] | None = None
        self.rules: dict[Rule, Gradient] = {}
        self._known: dict[Any, tuple[Split, Split]] = {}
        self._compared: set[Any] = set()
        self.operator = Operator(name, self._kernel, self._fake)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """What the forward returns, with what it keeps."""
        signature = self.function.arguments.signature
        bound = signature.bind(*args, **keywords)
        bound.apply_defaults()
        values, tensors = split(self.function.params, bound.arguments.values())
        sizes: list[Any] = []
        data = written.write(values, sizes)
        try:
            text = written.dumps(self.function.name, data, values)
        except StackError:
            if not _plainly_eager(tensors):
                raise
            return run_forward(self.code, args, keywords)
        flat = self.operator(text, tensors, sizes)
        out, kept = self._known[text, _kinds(tensors)]
        n = len(out.owners)
        result = out.join(flat[:n])["out"]
        return Kept(result, kept.join(flat[n:])) if kept.names else result

    def _kernel(self, text: str, tensors: Tensors, sizes: Sequence[int]) -> list[torch.Tensor]:
        refuse_trainable(captures([self.code]), f"{self.function.name} ({self.function.where})")
        flat = self._run(self.code, text, tensors, sizes)
        key = text, _kinds(tensors), tuple(t.shape for t in tensors)
        if self.fake is not None and key not in self._compared:
            self._compare(self.fake, text, tensors, sizes, flat)
            self._compared.add(key) if len(self._compared) < REMEMBERED else self._compared.clear()
        return flat

    def _run(self, fn: Any, text: str, tensors: Tensors, sizes: Sequence[Any]) -> list[torch.Tensor]:
        values = written.read(json.loads(text), sizes).join(tensors)
        args, keywords = self.function.arguments.call(values)
        result = run_forward(fn, args, keywords)
        named = result.named if type(result) is Kept else {}
        out, outputs = split(("out",), [result.out if type(result) is Kept else result])
        kept, saved = split(tuple(named), named.values())
        odd = [n for n in kept.names if kept.rest(n)]
        if odd or any(leaf is not None for leaf in out.rest("out")):
            raise ForwardResultError(
                f"{self.function.name} ({self.function.where})",
                "an operator returns and keeps tensors only",
                f"something else in {_describe.names(odd) if odd else 'the output'}",
                "convert it to a tensor: torch.as_tensor(value)",
            )
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        self._known[text, _kinds(tensors)] = out, kept
        return [*outputs, *saved]

    def _fake(self, text: str, tensors: Tensors, sizes: Sequence[Any]) -> list[torch.Tensor]:
        if self.fake is None:
            raise StackError(
                f"{self.function.name} ({self.function.where})",
                "a tracer (torch.compile, export, fake tensors) needs to know what an opaque forward returns",
                f"no @{self.function.name}.fake",
                f"attach one: @{self.function.name}.fake, a function of the same arguments that returns empty tensors "
                "of the right shapes and dtypes",
            )
        return self._imagine(self.fake, text, tensors, sizes)

    def _imagine(self, fake: Any, text: str, tensors: Tensors, sizes: Sequence[Any]) -> list[torch.Tensor]:
        meta = any(t.device.type == "meta" for t in tensors)
        with torch.device("meta") if meta else nullcontext():  # where the author's code makes tensors from sizes
            return self._run(fake, text, tensors, sizes)

    def _compare(self, fake: Any, text: str, tensors: Tensors, sizes: Sequence[int], flat: Tensors) -> None:
        structure = self._known[text, _kinds(tensors)]
        with torch.no_grad():
            said = self._imagine(fake, text, [torch.empty_like(t, device="meta") for t in tensors], sizes)
        same = [s.names for s in structure] == [s.names for s in self._known[text, _kinds(tensors)]]
        self._known[text, _kinds(tensors)] = structure
        if not same or [(t.shape, t.dtype) for t in said] != [(t.shape, t.dtype) for t in flat]:
            raise ForwardResultError(
                f"{self.function.name}, fake ({_describe.place(fake)})",
                f"must return what the forward returns and keeps: {', '.join(map(_describe.tensor, flat))}",
                ", ".join(_describe.like(t.shape, t.dtype, torch.device("cpu")) for t in said),
                "make shapes, dtypes and what pb.keep names the same",
            )

    def take_fake(self, fake: Any) -> None:
        """Take the function that says what results look like, after checking it."""
        wanted, got = self.function.params, tuple(inspect.signature(fake).parameters)
        if wanted != got or self.fake is not None:
            raise DefinitionError(
                f"{self.function.name}.fake",
                "one function with the parameters of the forward",
                f"parameters {', '.join(got)}" if wanted != got else "a second one",
                f"def _({', '.join(wanted)}): return torch.empty_like(…)",
            )
        self.fake = fake

    def take_rule(self, rule: Rule) -> Rule:
        """The rule as one that is never looked into, with its operator registered."""
        rule = dataclasses.replace(rule, opaque=True)
        self.rules[rule] = Gradient(self.function, rule, self.name)
        return rule


def _plainly_eager(tensors: Tensors) -> bool:
    """Whether real data are at hand and nobody records: there hyperparameters may be any objects."""
    return not in_transform() and all(type(t) in (torch.Tensor, torch.nn.Parameter) for t in tensors)


def _kinds(tensors: Tensors) -> tuple[torch.dtype, ...]:
    return tuple(t.dtype for t in tensors)


# ---- a rule


class Gradient:
    """A rule of an opaque Function as an operator; its results look like the arguments."""

    def __init__(self, function: Function[..., Any], rule: Rule, forward: str) -> None:
        of = f"_of_{rule.of}" if rule.of else ""
        name = f"{forward}_grad_{'_'.join(rule.args)}{of}"
        _claim(function, name)
        self.function, self.rule = function, rule
        self.operator = Operator(name, self._kernel, self._fake)

    def __call__(self, call: Call, g: Any, values: Sequence[Any]) -> dict[str, list[torch.Tensor | None]]:
        """The gradients of the rule's arguments, by argument."""
        rule = self.rule
        given, tensors = split(("", *rule.wants), (g, *values))
        targets = Split.of_rows([row for row in call.args.rows() if row[0] in rule.args])
        likes = [w for w, owner in zip(call.like, call.args.owners, strict=True) if owner in rule.args]
        sizes: list[Any] = []
        data = {"given": written.write(given, sizes), "targets": written.write(targets, sizes)}
        data["likes"] = [[len(w.shape), str(w.dtype).removeprefix("torch."), str(w.device)] for w in likes]
        start = len(sizes)
        try:
            text = written.dumps(self.function.name, {**data, "start": start}, given)
        except StackError:
            if grad_enabled() or not _plainly_eager(tensors):
                raise
            results = running.run(self.function, rule, rule.fn, rule.args, g, values)
            return {a: call.fitted(rule, a, r) for a, r in zip(rule.args, results, strict=True)}
        flat = self._flat(text, tensors, [*sizes, *(n for w in likes for n in w.shape)])
        return {a: [t for t, owner in zip(flat, targets.owners, strict=True) if owner == a] for a in targets.names}

    def _flat(self, text: str, tensors: Tensors, sizes: list[Any]) -> Sequence[Any]:
        def run(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return tuple(self.operator(text, tensors, sizes))

        if not (grad_enabled() or in_transform()):
            return run(*tensors)
        who = self.rule.who(self.function.name)
        return running.closed(who, f"the operator {self.operator.name}", run, tensors)  # type: ignore[no-any-return]

    def _kernel(self, text: str, tensors: Tensors, sizes: Sequence[int]) -> list[torch.Tensor]:
        from pullback.define.call import Call

        data, likes, targets = self._read(text, sizes)
        values = written.read(data["given"], sizes).join(tensors)
        g = values.pop("")
        results = running.run(self.function, self.rule, self.rule.fn, self.rule.args, g, list(values.values()))
        call = Call.bare(self.function, targets, likes)
        by_name = dict(zip(self.rule.args, results, strict=True))
        flat = [t for name in targets.names for t in call.fitted(self.rule, name, by_name[name])]
        return [_empty(w, torch.zeros) if t is None else t for t, w in zip(flat, likes, strict=True)]

    def _fake(self, text: str, tensors: Tensors, sizes: Sequence[Any]) -> list[torch.Tensor]:
        return [_empty(w, torch.empty) for w in self._read(text, sizes)[1]]

    def _read(self, text: str, sizes: Sequence[Any]) -> tuple[Any, list[Like], Split]:
        data = json.loads(text)
        supply, likes = iter(sizes[data["start"] :]), []
        for ndim, dtype, device in data["likes"]:
            shape: Any = [next(supply) for _ in range(ndim)]
            likes.append(Like(shape, getattr(torch, dtype), torch.device(device)))
        if all(isinstance(n, int) for n in sizes):
            likes = [Like(torch.Size(w.shape), w.dtype, w.device) for w in likes]
        return data, likes, written.read(data["targets"], sizes)


def _empty(wanted: Like, make: Any) -> torch.Tensor:
    return make(list(wanted.shape), dtype=wanted.dtype, device=wanted.device)  # type: ignore[no-any-return]


# ---- names


def _check(function: Function[..., Any], name: Any) -> None:
    who = f"{function.name} ({function.where})"
    good = isinstance(name, str) and re.fullmatch(r"[A-Za-z_]\w*::[A-Za-z_]\w*", name)
    if not good or name.partition("::")[0] in RESERVED:
        raise DefinitionError(
            who,
            'opaque= is a name for the operator, "namespace::name", in a namespace of your own',
            f"opaque={name!r}",
            f'opaque="mylib::{function.name if function.name.isidentifier() else "name"}"',
        )
    if function.inplace is not None:
        raise DefinitionError(
            who, "an operator changes none of its arguments", f"inplace={function.inplace!r}", "return a new tensor"
        )
    _claim(function, name)


def _claim(function: Function[..., Any], name: str) -> None:
    """Note whose a name is; the same Function may define it again.

    The same is one of the same module (a cell of a notebook that runs again), or of the same file (a script that is
    imported, too, and has another module name there).
    """
    module = function.token.partition("#")[0]
    mine = (module, f"{function.where.rpartition(':')[0]}:{module.partition(':')[2]}")
    namespace, _, short = name.partition("::")
    taken = name not in _owners and hasattr(getattr(torch.ops, namespace), short)
    if taken or not set(mine) & set(_owners.get(name, mine)):
        raise DefinitionError(
            f"{function.name} ({function.where})",
            "the name of an operator is free",
            f"{name!r}, which is {_owners[name][0] if name in _owners else 'an operator already'}",
            "choose another name",
        )
    _owners[name] = mine
