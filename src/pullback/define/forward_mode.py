"""Tangents: by the Function's own forward-mode rules, else by transposing its reverse rules.

A reverse rule is a linear map of the cotangent, ``g -> J^T g``. Its vector-Jacobian product, taken at any ``g`` and
pulled on the tangent ``t``, is ``J t``. A rule that is not linear (clipping, say) has no transpose: that is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from pullback import _describe
from pullback._torch import outside_all_stacks
from pullback.define.call import Call, Flat, Residuals, add, zero
from pullback.define.derivative import differentiable
from pullback.define.fit import Like
from pullback.define.vmapped import BatchedCall
from pullback.errors import ForwardModeError, PullbackError, RuleResultError


def wanted(call: Call, output: Sequence[torch.Tensor]) -> list[bool]:
    """Which tensors (arguments, outputs, kept) forward mode may need: what any rule names, and more for kept floats."""
    if any(map(differentiable, output[len(call.out.owners) :])):
        return [True] * (len(call.args.owners) + len(output))
    names = {w for rule in call.function.all_rules() for w in rule.wants}
    if call.function.reruns():
        names.update(call.function.params)
    return call.named(names)


def tangents(call: Call, res: Residuals, given: Flat, likes: Sequence[Like]) -> tuple[Any, ...]:
    """The tangents of outputs and kept values for the ``given`` tangents of the arguments."""
    n = len(call.out.owners)
    by_jvp = [t is not None and call.function.jvp_rule(a) is not None for t, a in zip(given, call.args.owners)]
    total: list[Any] = [None] * n
    if any(by_jvp):
        total = _by_jvp_rules(call, res, [t if m else None for t, m in zip(given, by_jvp)], likes[:n])
    if any(t is not None and not m for t, m in zip(given, by_jvp)):
        rest = [None if m else t for t, m in zip(given, by_jvp)]
        total = add(total, _transposed(call, res, rest, likes[:n]))
    return (*total, *_kept(call, res, given, likes[n:]))


def _by_jvp_rules(call: Call, res: Residuals, given: Flat, likes: Sequence[Like]) -> list[Any]:
    env = call.environment(res)
    tangent = call.args.join(zero(call.like[i]) if t is None else t for i, t in enumerate(given))
    moved = call.needed([t is not None for t in given])
    total: list[Any] = [None] * len(call.out.owners)
    for rule in dict.fromkeys(r for a in moved if (r := call.function.jvp_rule(a))):
        result = rule.fn(*[tangent[a] for a in rule.args], *[env[w] for w in rule.wants])
        parts = call.out.parts("out", result)
        if parts is None or any(p is not None and p.shape != w.shape for p, w in zip(parts, likes, strict=True)):
            raise RuleResultError(
                rule.who(call.function.name),
                "must return the tangent of the output, in its structure and shape",
                _describe.value(result),
                f"return something like {', '.join(map(str, likes))}",
            )
        total = add(total, [p if p is None or p.dtype is w.dtype else p.to(w.dtype) for p, w in zip(parts, likes)])
    return total


def _transposed(call: Call, res: Residuals, given: Flat, likes: Sequence[Like]) -> list[Any]:
    mask = [t is not None for t in given]
    opaque = [rule for rule, *_ in call.function.plan(call.needed(mask)) if rule.opaque]
    if opaque:
        raise ForwardModeError(
            opaque[0].who(call.function.name),
            "forward mode comes from transposing the reverse rules, into which one can look",
            "an opaque rule",
            f"attach a forward-mode rule: @{call.function.name}.jvp",
        )
    if not call.function.plan(call.needed(mask)):  # what moves is declared as not differentiable
        return [torch.zeros(w.shape, dtype=w.dtype, device=w.device) for w in likes]
    smooth = [w.dtype.is_floating_point or w.dtype.is_complex for w in likes]
    chosen: list[int] = []

    def pull(*cotangents: torch.Tensor) -> tuple[torch.Tensor, ...]:
        supply = iter(cotangents)
        full = [next(supply) if s else zero(w) for s, w in zip(smooth, likes, strict=True)]
        results = call.gradients(mask, res, full)
        chosen[:] = [i for i, r in enumerate(results) if r is not None]
        return tuple(r for r in results if r is not None)

    start = [torch.zeros(w.shape, dtype=w.dtype, device=w.device) for w, s in zip(likes, smooth, strict=True) if s]
    transpose = _transpose(pull, start)
    require_linear(call)
    supply = iter(transpose(lambda: [given[i] for i in chosen]))
    return [next(supply) if s else None for s in smooth]


def _transpose(pull: Callable[..., tuple[torch.Tensor, ...]], start: Sequence[torch.Tensor]) -> Callable[..., Any]:
    """The transpose of a linear map that may map to nothing at all; it takes a function that gives its argument."""
    if not start:
        return lambda given: ()
    back = torch.func.vjp(lambda *gs: pull(*gs) or (gs[0],), *start)[1]
    return lambda given: back(tuple(given()) or (torch.zeros_like(start[0]),))


def _kept(call: Call, res: Residuals, given: Flat, likes: Sequence[Like]) -> list[Any]:
    positions = [i for i, w in enumerate(likes) if w.dtype.is_floating_point or w.dtype.is_complex]
    moving = [i for i, t in enumerate(given) if t is not None]
    if not positions or not moving:
        return [None] * len(likes)
    moved = {call.args.owners[i] for i in moving}
    own = [i for i in positions if any(call.function.declared(a, call.kept_owners[i]) for a in moved)]
    found = {i: _by_own_rule(call, res, given, likes, i) for i in own}
    rest = [i for i in positions if i not in own]
    if rest:
        found |= dict(zip(rest, _by_rerun(call, res, given, moving, rest), strict=True))
    return [found.get(i) for i in range(len(likes))]


def _by_own_rule(call: Call, res: Residuals, given: Flat, likes: Sequence[Like], which: int) -> torch.Tensor:
    mask = [t is not None for t in given]
    chosen: list[int] = []

    def pull(cotangent: torch.Tensor) -> tuple[torch.Tensor, ...]:
        results = call.kept_gradients(mask, res, [cotangent if i == which else None for i in range(len(likes))])
        chosen[:] = [i for i, r in enumerate(results) if r is not None]
        return tuple(r for r in results if r is not None)

    like = likes[which]
    transpose = _transpose(pull, [torch.zeros(like.shape, dtype=like.dtype, device=like.device)])
    (tangent,) = transpose(lambda: [given[i] for i in chosen])
    return tangent  # type: ignore[no-any-return]


def _by_rerun(call: Call, res: Residuals, given: Flat, moving: list[int], positions: list[int]) -> tuple[Any, ...]:
    again = call.rerun(call.kept_owners[positions[0]], res, moving, positions)
    # torch.func.jvp cannot nest in a dual level: two vjps make a jvp
    values, pull = torch.func.vjp(lambda *ts: tuple(again(*ts)), *[res.arguments[i] for i in moving])[:2]
    transpose = torch.func.vjp(lambda *gs: pull(tuple(gs)), *[torch.zeros_like(v) for v in values])[1]
    return transpose(tuple(given[i] for i in moving))  # type: ignore[no-any-return]


def into_place(call: Call, given: Flat, results: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same tangents: PyTorch wants that of what is changed in place changed in place, too."""
    tangent = given[call.args.owners.index(call.function.inplace or "")]
    if tangent is None or results[0] is None:
        return results
    return (tangent.copy_(results[0]), *results[1:])


def require_linear(call: Call) -> None:
    """Raise unless the rules are linear in the cotangent; tried once per Function, on made-up data."""
    function = call.function
    while isinstance(call, BatchedCall):
        call = call.base
    if function.linear is None:
        function.linear = _is_linear(call)
    if not function.linear:
        raise ForwardModeError(
            function.name,
            "forward mode comes from transposing the reverse rules, which must be linear in the cotangent",
            "a rule that is not (it clips, takes a sign, or the like)",
            f"attach a forward-mode rule: @{function.name}.jvp",
        )


def _is_linear(call: Call) -> bool:
    with outside_all_stacks():
        generator = torch.Generator().manual_seed(0)
        made = [_made(w, generator) for w in call.like]
        try:
            trial = Call(call.function, _values(call, made))
            flat = trial.forward(made)
            res = Residuals.cut(trial, [*made, *flat])
            mask = [
                m and trial.function.declared(a) is not None
                for m, a in zip(map(differentiable, made), trial.args.owners)
            ]
            cotangents = [
                _made(Like(o.shape, o.dtype, o.device), generator, 1e3) for o in flat[: len(trial.out.owners)]
            ]
            one = trial.gradients(mask, res, cotangents)
            others = [(k, trial.gradients(mask, res, [k * g for g in cotangents])) for k in (-3, 1e-3, 1e-5)]
        except PullbackError:
            raise
        except Exception:  # the made-up data did not suit the rules: nothing is known, and nothing refused
            return True
        return all(_scaled(k, one, other) for k, other in others)


def _scaled(k: float, one: Flat, other: Flat) -> bool:
    pairs = [(a, b) for a, b in zip(one, other, strict=True) if a is not None and b is not None]
    return all(torch.allclose(k * a, b, rtol=1e-2, atol=1e-3, equal_nan=True) for a, b in pairs)


def _values(call: Call, tensors: Sequence[torch.Tensor]) -> list[Any]:
    return list(call.args.join(tensors).values())


def _made(wanted: Like, generator: torch.Generator, scale: float = 1.0) -> torch.Tensor:
    if not (wanted.dtype.is_floating_point or wanted.dtype.is_complex):
        return torch.zeros([int(n) for n in wanted.shape], dtype=wanted.dtype)  # an index that exists, a mask
    wide = torch.complex128 if wanted.dtype.is_complex else torch.float64
    shape = [int(n) for n in wanted.shape]
    return (torch.randn(shape, dtype=wide, generator=generator) * scale).to(wanted.dtype)
