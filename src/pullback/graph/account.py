"""What ``describe`` says about plans: what could be kept, what each would cost, and why the winner won."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from pullback.define.function import Function
from pullback.define.ways import TELLERS, Account
from pullback.graph.closed import open_because
from pullback.graph.plan import Plan
from pullback.graph.planned import LIMIT, choose, named_bits


def account(function: Function[..., Any], needed: tuple[str, ...], values: Sequence[Any]) -> Account:
    """The account of the plan for calls with values like these."""
    large = any(isinstance(v, torch.Tensor) and v.numel() > LIMIT for v in values)
    if not needed or function.keep == "named":
        why = 'keep="named"' if needed else "no argument can get a gradient"
        return Account("", why, lines=(f"plan: none ({why})",))
    reason = open_because(function)
    choice = None if reason else choose(function, needed, values)
    if choice is None or choice.plan is None:
        reason = reason or (choice.reason if choice else "")
        lines = () if choice is None or choice.rejected is None else tuple(_candidates(function, choice.rejected, None))
        return Account("", reason, lines=(f"plan: what the rules name ({reason})", *lines))
    plan = choice.plan
    size = f"in calls with more than {LIMIT:,} elements"
    why = _why(plan)
    head = f"plan: {_words(plan)}, {plan.bits:.4g} bits an element, {size} ({why})"
    lines = (head, *_candidates(function, plan, plan))
    return Account("planned" if large else "", why, tuple(_kept(plan)) if large else (), lines)


def _why(plan: Plan) -> str:
    """Why this plan won."""
    if plan.keep == "small":
        return 'keep="small": the next operation often keeps the output anyway'
    if plan.kind == "output":
        return "the output will do, and the next operation often keeps it anyway"
    return "fewer bits than the rules name"


def _words(plan: Plan) -> str:
    return " + ".join(f"{r.name} ({r.source})" for r in plan.residuals if r.bits) or "nothing"


def _candidates(function: Function[..., Any], plan: Plan, chosen: Plan | None) -> Iterator[str]:
    """A line for each way of keeping: bits, work, error."""
    named = named_bits(function, plan.needed, plan)
    yield f"  {'keeping':24} {'bits':>7}  {'extra work':24} error"
    yield _line("what the rules name", named, "none", "none", chosen is None)
    lossless = chosen if chosen is not None and chosen.keep != "small" else None
    for candidate in plan.candidates:
        work = f"{candidate.work} operations again" if candidate.work else "none"
        won = lossless is not None and candidate.what == lossless.kind
        bits = lossless.bits if won and lossless is not None else candidate.bits
        yield _line(candidate.what, bits, work if bits is not None else "", "none" if bits is not None else "", won)
    if plan.keep == "small":
        yield _line("output and side", plan.bits, "a table look-up", f"{plan.error:.1e} of the slope", True)
    elif plan.refused:
        yield f"  {'output and side':24} {'refused':>7}  {plan.refused}"


def _line(what: str, bits: float | None, work: str, error: str, won: bool) -> str:
    amount = "cannot" if bits is None else f"{bits:.4g}"
    return f"  {what:24} {amount:>7}  {work:24} {error}{'  <- kept' if won else ''}".rstrip()


def _kept(plan: Plan) -> Iterator[Any]:
    """What is kept, as it lies in memory."""
    for r in plan.residuals:
        count = math.prod(r.shape)
        if r.source == "bits":
            yield r.name, "bits", (-(-count // 8),), torch.uint8, -(-count // 8), r.rules
        elif r.dtype is not None:
            yield r.name, r.source, r.shape, r.dtype, count * r.dtype.itemsize, r.rules


TELLERS.append(account)
