"""``f.describe(…)``: what a Function is, and what a call with given inputs keeps for backward."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from pullback import _describe
from pullback.define.call import Call
from pullback.define.derivative import Derived, differentiable
from pullback.define.eager import shape_of, unsuitable
from pullback.define.function import Function
from pullback.define.rule import Rule
from pullback.define.ways import TELLERS, Account
from pullback.errors import MissingRuleError


@dataclass(frozen=True)
class KeptTensor:
    """One tensor that stays alive between forward and backward."""

    name: str
    source: str  # "argument", "output" or "kept"; "bits" where conditions are packed
    shape: tuple[int, ...]
    dtype: torch.dtype
    bytes: int
    rules: tuple[str, ...]  # the arguments whose rules name it

    def __str__(self) -> str:
        like = _describe.like(self.shape, self.dtype, torch.device("cpu"))
        return f"{self.name:12} {like:22} {self.bytes:>12,} bytes  {self.source}, for {_describe.names(self.rules)}"


@dataclass(frozen=True)
class Description:
    """A Function described; ``print`` it.

    Attributes:
        name: The Function's name.
        signature: Its signature, as text.
        where: ``file:line`` of its forward.
        rules: One line for each rule.
        kept: The tensors kept for backward, if inputs were given.
        path: ``"generated"``, ``"general"`` or ``"planned"``: the code that serves plain eager calls.
        reason: Why it is that one.
        plan: What else could be kept, and why it is not.
        kernels: The text in C of the kernels that serve such calls: forward, then backward.
    """

    name: str
    signature: str
    where: str
    rules: tuple[str, ...]
    inputs: tuple[str, ...] = ()
    kept: tuple[KeptTensor, ...] = ()
    path: str = ""
    reason: str = ""
    needed: tuple[str, ...] = field(default=())
    plan: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        """The bytes kept for backward in all; a tensor that several rules name counts once."""
        return sum(k.bytes for k in self.kept)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"{self.name}{self.signature}  ({self.where})"
        yield "rules"
        yield from (f"  {line}" for line in self.rules)
        if not self.inputs:
            return
        yield f"with {', '.join(self.inputs)}"
        yield f"  gradients for {_describe.names(self.needed)}"
        yield f"  kept for backward: {self.bytes:,} bytes"
        yield from (f"    {kept}" for kept in self.kept)
        yield f"  path: {self.path} ({self.reason})"
        yield from (f"  {line}" for line in self.plan)

    __repr__ = __str__


def describe(function: Function[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Description:
    """The description of a Function and, if there are inputs, of a call with them.

    The forward is run once on the inputs, without recording a gradient. Gradients are taken to be needed by the
    inputs that require one; if none does, by all that have a rule.
    """
    base = Description(function.name, str(function.arguments.signature), function.where, tuple(_rules(function)))
    if not args and not keywords:
        return base
    bound = function.arguments.signature.bind(*args, **keywords)
    bound.apply_defaults()
    call = Call(function, bound.arguments.values())
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        flat = call.forward([t.detach().clone() if function.inplace else t.detach() for t in call.tensors])
    needed = _needed(call)
    types = tuple(type(v) for v in bound.arguments.values())
    reason = unsuitable(function, types) or ("" if shape_of(call) else "its output or what it keeps has a structure")
    described = Description(
        base.name, base.signature, base.where, base.rules,
        inputs=tuple(f"{n}={_describe.value(v)}" for n, v in bound.arguments.items()),
        kept=tuple(_kept(call, [*call.tensors, *flat], needed)),
        path="general" if reason else "generated",
        reason=reason or "plain tensors: an autograd.Function written for these types",
        needed=needed,
    )  # fmt: skip
    accounts = [] if reason else [tell(function, needed, tuple(bound.arguments.values())) for tell in TELLERS]
    return _with_accounts(described, accounts)


def _with_accounts(described: Description, accounts: list[Account]) -> Description:
    """The description with what other ways have to say."""
    for account in accounts:
        lines = (*described.plan, *account.lines)
        if account.path:
            kept = tuple(KeptTensor(*fields) for fields in account.kept)
            described = replace(described, path=account.path, reason=account.reason, kept=kept, plan=lines,
                                kernels=account.kernels)  # fmt: skip
        else:
            described = replace(described, plan=lines)
    return described


def _rules(function: Function[..., Any]) -> Iterator[str]:
    derived, nondiff = function.opted_out()
    for rule in function.all_rules():
        yield f"{', '.join(rule.args):12} {_kind(rule)}({', '.join(('g', *rule.wants))})  {rule.where}"
    yield from (f"{name:12} derived from the forward" for name in sorted(derived))
    yield from (f"{name:12} not differentiable" for name in sorted(nondiff))
    if function.all_rules():
        bare = [n for n in function.params if not _has_rule(function, n)]
        yield from (f"{name:12} no rule: a tensor that requires a gradient is an error" for name in bare)
    if not function.all_rules() and not derived:
        yield f"{'all':12} derived from the forward; its inputs are kept and it runs again in backward"


def _kind(rule: Rule) -> str:
    if isinstance(rule, Derived):
        return "the gradient of a smooth function, "
    of = f" of {rule.of}" if rule.of else ""
    return f"{rule.kind} rule{of} "


def _needed(call: Call) -> tuple[str, ...]:
    possible = [differentiable(t) and _has_rule(call.function, a) for t, a in zip(call.tensors, call.args.owners)]
    wanting = [p and t.requires_grad for p, t in zip(possible, call.tensors)]
    return call.needed(wanting if any(wanting) else possible)


def _has_rule(function: Function[..., Any], arg: str) -> bool:
    try:
        return function.rule(arg) is not None
    except MissingRuleError:
        return False


def _kept(call: Call, tensors: list[torch.Tensor], needed: tuple[str, ...]) -> Iterator[KeptTensor]:
    a, o = len(call.args.owners), len(call.out.owners)
    owners = (*call.args.owners, *call.out.owners, *call.kept_owners)
    for i, (wanted, owner, tensor) in enumerate(zip(call.wanted(needed), owners, tensors, strict=True)):
        if wanted:
            source = "argument" if i < a else "output" if i < a + o else "kept"
            rules = tuple(n for rule, _, args in call.function.plan(needed) if owner in rule.wants for n in args)
            rules = rules or needed  # kept under another name, which a rule names
            size = tensor.numel() * tensor.element_size()
            yield KeptTensor(owner, source, tuple(tensor.shape), tensor.dtype, size, rules)
