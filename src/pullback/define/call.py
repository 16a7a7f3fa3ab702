"""One call of a Function, whatever the stack: its values taken apart, its forward, its rules.

The autograd.Functions in `autograd` handle tensors only, as flat sequences; a `Call` gives them meaning. For its
gradients a call has three groups of tensors: those in its arguments, in its output, and in what the forward keeps.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import torch

from pullback import _describe
from pullback._tolerances import gradient_tolerance
from pullback._torch import VmapInfo, in_transform, tracing_graph
from pullback.define import checks, leaving, running
from pullback.define.derivative import differentiable, vjp
from pullback.define.fit import Like, fit, like
from pullback.define.function import Function
from pullback.define.keep import Kept, run_forward
from pullback.define.rng import RandomState
from pullback.define.rule import Rule
from pullback.define.split import Split, split
from pullback.errors import DefinitionError, DoubleBackwardError, ForwardResultError, PullbackError, RuleResultError

Flat = Sequence[torch.Tensor | None]


class Residuals(NamedTuple):
    """The tensors that a gradient may need; ``None`` in the places of those that were not kept."""

    arguments: Flat
    outputs: Flat
    kept: Flat

    @classmethod
    def cut(cls, call: Call, flat: Sequence[Any]) -> Residuals:
        """Three groups out of one sequence."""
        a, o = len(call.args.owners), len(call.args.owners) + len(call.out.owners)
        return cls(flat[:a], flat[a:o], flat[o:])


class Call:
    """One call of ``function`` with ``values``, one for each of its parameters."""

    out: Split  # set by forward
    kept: Split
    aliases: list[int | None]  # for each kept tensor: which argument's or output's tensor it is, if any
    kept_owners: list[str]  # the names of the kept tensors that are neither
    transformed = False  # called under torch.func, whose innermost level forward no longer sees
    kept_dtypes: list[torch.dtype]  # of these
    smooth = True  # whether an output can carry a gradient

    def __init__(self, function: Function[..., Any], values: Iterable[Any]) -> None:
        self.function = function
        self.args, self.tensors = split(function.params, values)
        self.like = [like(t) for t in self.tensors]
        self.autocast: list[Any] = []  # the autocast state of forward, which rules run under
        self.rng: RandomState | None = None  # the state before a forward that used random numbers
        self.operator: Any = None  # what records the call, where forward is to be recorded instead of run
        self.ready: Any = None  # a result that the fast way already has; forward is never run twice

    @classmethod
    def restored(
        cls, function: Function[..., Any], args: Split, likes: Sequence[Like], out: Split, kept: Split
    ) -> Call:
        """A call that has run already, for its rules alone."""
        call = cls.bare(function, args, likes)
        call.out, call.kept = out, kept
        call.kept_owners, call.aliases = kept.owners, [None] * len(kept.owners)
        return call

    @classmethod
    def bare(cls, function: Function[..., Any], args: Split, likes: Sequence[Like]) -> Call:
        """A call without its tensors, which come with forward."""
        call = cls(function, [None] * len(function.params))
        call.args, call.like = args, list(likes)
        return call

    def learn(self, other: Call) -> None:
        """Take over what a run of ``other``, the same call, has shown about its results."""
        for name in ("out", "kept", "aliases", "kept_owners", "kept_dtypes", "smooth"):
            setattr(self, name, getattr(other, name))

    # ---- forward

    def forward(self, tensors: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """Run the forward on ``tensors``: the tensors of its output, then of what it keeps."""
        result, self.ready = self.ready if self.ready is not None else self._run(tensors), None
        out, named = (result.out, result.named) if type(result) is Kept else (result, {})
        self.out, outputs = split(("out",), [out])
        self.kept, kept = split(tuple(named), named.values())
        self._find_aliases(kept, (*tensors, *outputs))
        kept = _fresh([t for t, alias in zip(kept, self.aliases, strict=True) if alias is None], ())
        self.kept_dtypes = [t.dtype for t in kept]
        if not outputs:
            raise ForwardResultError(
                f"{self.function.name} ({self.function.where})",
                "a forward must return at least one tensor",
                _describe.value(out),
                "return a tensor, or a tuple, list or dict with tensors",
            )
        self.function.learn_kept(tuple(named))
        self.smooth = any(map(differentiable, outputs))
        return (*(outputs if self.function.inplace else _fresh(outputs, (*tensors, *self.tensors))), *kept)

    def _find_aliases(self, kept: list[torch.Tensor], others: Sequence[torch.Tensor]) -> None:
        places = {id(t): i for i, t in enumerate(others)} | {id(t): i for i, t in enumerate(self.tensors)}
        self.aliases = [places.get(id(t)) for t in kept]
        self.kept_owners = [o for o, alias in zip(self.kept.owners, self.aliases, strict=True) if alias is None]

    def forget(self, needed: tuple[str, ...]) -> None:
        """Let go of what no rule for ``needed`` names: from here on autograd keeps the tensors."""
        self.tensors = []
        self.kept.forget(self.function.wanted(needed))

    def _run(self, tensors: Sequence[torch.Tensor]) -> Any:
        args, keywords = self.function.arguments.call(self.args.join(tensors))
        try:
            return run_forward(self.function.fn, args, keywords)
        except Exception as error:
            where = f"{self.function.name} ({self.function.where})"
            leaving.explain(error, where, self.function.name, self.function.fn, tensors)
            checks.mistyped(self.function, self.args.join(tensors), error)
            if not isinstance(error, PullbackError):
                error.add_note(f"while running the forward of {self.function.name} ({self.function.where})")
            raise

    def result(self, outputs: Iterable[Any]) -> Any:
        """The output's structure with ``outputs`` in it."""
        return self.out.join(outputs)["out"]

    # ---- who needs what

    def needed(self, mask: Sequence[bool]) -> tuple[str, ...]:
        """The arguments that hold any of the tensors in ``mask``."""
        return tuple(dict.fromkeys(a for a, m in zip(self.args.owners, mask, strict=True) if m))

    def check_smooth(self, needed: tuple[str, ...], results: Sequence[torch.Tensor]) -> None:
        """Raise if a rule was written for ``needed``, and no output is of a dtype that carries a gradient to it."""
        ruled = [name for name in needed if self.function.declared(name)]
        outputs = results[: len(self.out.owners)]
        if ruled and not self.function.code and not any(map(differentiable, outputs)):
            raise ForwardResultError(
                f"{self.function.name} ({self.function.where})",
                f"a tensor of a floating dtype comes out, as there is a rule for {ruled[0]!r}",
                f"{_describe.value(outputs[0])}, which no gradient can come back through",
                f"cast it: return (…).to({ruled[0]}.dtype)",
            )

    def wanted(self, needed: tuple[str, ...]) -> list[bool]:
        """Which tensors (arguments, outputs, kept) the rules for ``needed`` name."""
        return self.named(self.function.wanted(needed))

    def named(self, names: set[str]) -> list[bool]:
        """Which tensors (arguments, outputs, kept) belong to any of ``names``."""
        mask = [owner in names for owner in (*self.args.owners, *self.out.owners, *self.kept_owners)]
        for alias, owner in zip(self.aliases, self.kept.owners, strict=True):
            if alias is not None and owner in names:
                mask[alias] = True
        return mask

    # ---- backward

    def gradients(self, mask: Sequence[bool], res: Residuals, cotangents: Flat) -> list[torch.Tensor | None]:
        """The gradient of each argument's tensor in ``mask`` by the rules; ``None`` for the others."""
        return self._by_rules(mask, self.result(cotangents), self.environment(res))

    def environment(self, res: Residuals) -> dict[str, Any]:
        """Everything that a rule can name."""
        both, own = (*res.arguments, *res.outputs), iter(res.kept)
        kept = [next(own) if alias is None else both[alias] for alias in self.aliases]
        return {**self.args.join(res.arguments), "out": self.result(res.outputs), **self.kept.join(kept)}

    def _by_rules(
        self, mask: Sequence[bool], g: Any, env: dict[str, Any], of: str | None = None
    ) -> list[torch.Tensor | None]:
        found: dict[str, list[torch.Tensor | None]] = {}
        for rule, fn, args in self.function.plan(self.needed(mask), of):
            operator = self.function.operator_of(rule)
            if operator is not None:
                found |= operator(self, g, [self._found(rule, env, w) for w in rule.wants])
                continue
            replay = self.rng.replay() if self.rng and self.function.is_own(rule) else nullcontext()
            with replay:
                results = running.run(self.function, rule, fn, args, g, [self._found(rule, env, w) for w in rule.wants])
            for arg, result in zip(args, results, strict=True):
                found[arg] = self.fitted(rule, arg, result)
        supply = {arg: iter(results) for arg, results in found.items()}
        pairs = [(next(supply[a]) if a in supply else None, m) for a, m in zip(self.args.owners, mask, strict=True)]
        return [result if m else None for result, m in pairs]

    def _found(self, rule: Rule, env: dict[str, Any], want: str) -> Any:
        if want not in env:
            raise DefinitionError(
                rule.who(self.function.name),
                f"needs {want!r}, which the forward kept in other calls",
                f"a call that kept {_describe.names(self.kept.names)}",
                f"keep it in every call: pb.keep(out, {want}=None) where there is none",
            )
        return env[want]

    def fitted(self, rule: Rule, arg: str, result: Any) -> list[torch.Tensor | None]:
        """A rule's result for one argument as a gradient for each of the argument's tensors."""
        wanted = [w for w, owner in zip(self.like, self.args.owners, strict=True) if owner == arg]
        parts = self.args.parts(arg, result)
        if parts is None:
            raise RuleResultError(
                rule.who(self.function.name, [arg]),
                f"must return the structure of {arg!r}",
                _describe.value(result),
                "return the same containers with a gradient, or None, in the place of each tensor",
            )
        return [fit(lambda: rule.who(self.function.name, [arg]), p, w) for p, w in zip(parts, wanted, strict=True)]

    # ---- the derivative of kept values, for second derivatives

    def kept_gradients(self, mask: Sequence[bool], res: Residuals, cotangents: Flat) -> list[torch.Tensor | None]:
        """What the cotangents of kept values give to the arguments: by their own rules, else by a rerun of forward."""
        total: list[torch.Tensor | None] = [None] * len(mask)
        for name in self.kept.names:
            mine = [g if owner == name else None for g, owner in zip(cotangents, self.kept_owners, strict=True)]
            if any(g is not None for g in mine):
                total = add(total, self._kept_gradient(name, mask, res, mine))
        return total

    def _kept_gradient(self, name: str, mask: Sequence[bool], res: Residuals, mine: Flat) -> list[torch.Tensor | None]:
        needed = self.needed(mask)
        if any(self.function.declared(a, name) for a in needed):
            own = iter(zeros_for(mine, res.kept))
            g = self.kept.join(next(own) if alias is None else None for alias in self.aliases)[name]
            return self._by_rules(mask, g, self.environment(res), of=name)
        positions = [i for i, g in enumerate(mine) if g is not None]
        chosen = [i for i, m in enumerate(mask) if m]
        grads = vjp(
            self.rerun(name, res, chosen, positions),
            [res.arguments[i] for i in chosen],  # type: ignore[misc]
            [mine[i] for i in positions],
            self.function.name,
        )
        found = dict(zip(chosen, grads, strict=True))
        return [found.get(i) for i in range(len(mask))]

    def rerun(self, name: str, res: Residuals, chosen: Sequence[int], positions: Sequence[int]) -> Any:
        """A function of the chosen arguments' tensors that runs forward again and returns the kept ones at positions.

        Raises:
            DoubleBackwardError: If what it would need was not kept, or forward does not give the same again.
        """
        missing = sorted({a for a, t in zip(self.args.owners, res.arguments, strict=True) if t is None})
        if missing:
            raise self._no_second(name, f"{_describe.names(missing)} not kept, so forward cannot be run again",
                                  f"name {_describe.names(missing)} in a rule")  # fmt: skip
        random = self._no_second(name, "a forward that draws random numbers", "draw the numbers outside")
        if self.rng is not None:
            raise random

        def again(*tensors: torch.Tensor) -> list[torch.Tensor]:
            full: list[Any] = list(res.arguments)
            for i, t in zip(chosen, tensors, strict=True):
                full[i] = t
            flat = copy.copy(self).forward(full)[len(self.out.owners) :]
            if not (in_transform() or tracing_graph()) and any(_differs(flat[i], res.kept[i]) for i in positions):
                raise random
            return [flat[i] for i in positions]

        return again

    def _no_second(self, name: str, got: str, do: str) -> DoubleBackwardError:
        return DoubleBackwardError(
            self.function.name,
            f"a second derivative needs the derivative of the kept value {name!r}",
            got,
            "save its inputs with save_for_backward instead of intermediates"
            if self.function.code
            else f'attach @{self.function.name}.grad(…, of="{name}"), or {do}',
        )

    def note_random(self, state: RandomState) -> None:
        """Note the generators' state before a forward that drew random numbers."""
        self.rng = state

    # ---- vmap

    def vmapped(self, in_dims: Sequence[int | None], info: VmapInfo) -> Call:
        """This call with a batch dimension over it."""
        from pullback.define.vmapped import BatchedCall

        return BatchedCall(self, in_dims, info)


def _fresh(outputs: list[torch.Tensor], inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """No output is an input itself, and none comes twice: autograd would confuse them."""
    seen = {id(t) for t in inputs}
    fresh = []
    for out in outputs:
        fresh.append(out.view_as(out) if id(out) in seen else out)
        seen.add(id(out))
    return fresh


def _differs(again: torch.Tensor, saved: torch.Tensor | None) -> bool:
    """Whether a value came out otherwise than the first time, by more than rounding."""
    if saved is None or again.shape != saved.shape:
        return saved is not None
    tolerance = gradient_tolerance(saved.dtype)
    return not torch.allclose(again.detach(), saved.detach(), *tolerance, equal_nan=True)


def zero(wanted: Like) -> torch.Tensor:
    """A zero cotangent that takes no memory."""
    return torch.zeros((), dtype=wanted.dtype, device=wanted.device).expand(wanted.shape)


def zeros_for(gradients: Flat, tensors: Flat) -> list[Any]:
    """``gradients`` with zeros, like ``tensors``, in the places of those that did not come."""
    return [
        zero(like(t)) if g is None and isinstance(t, torch.Tensor) else g
        for g, t in zip(gradients, tensors, strict=True)
    ]


def filled(gradients: Flat, wanted: Sequence[Like]) -> list[torch.Tensor]:
    """``gradients`` with zeros in the places of those that did not come."""
    return [zero(w) if g is None else g for g, w in zip(gradients, wanted, strict=True)]


def add(first: Flat, second: Flat) -> list[torch.Tensor | None]:
    """Two sequences of gradients added up, where ``None`` is zero."""
    return [b if a is None else a if b is None else a + b for a, b in zip(first, second, strict=True)]
