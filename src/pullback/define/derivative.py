"""The derivative of a function, by PyTorch's own autograd, as a rule like any other.

`Derived` serves three laws: a Function without rules, ``f.derive("x")``, and ``f.grad_like("x", smooth)``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from pullback._torch import grad_enabled, in_transform
from pullback.define.captures import captures, refuse_trainable
from pullback.define.keep import run_forward, without_kept
from pullback.define.rule import Rule
from pullback.define.split import Split, split
from pullback.errors import MissingRuleError

Tensors = Sequence[torch.Tensor]


@dataclass(frozen=True, eq=False)
class Derived(Rule):
    """A rule that differentiates ``fn``, which takes what the rule names.

    ``smooth`` tells whether ``fn`` is another function than the forward (``grad_like``).
    """

    smooth: bool = False
    name: str = ""

    def bind(self, needed: Sequence[str]) -> tuple[Callable[..., Any], tuple[str, ...]]:
        """The vector-Jacobian product of ``fn`` with respect to the needed arguments only."""
        needed = tuple(n for n in self.args if n in needed)
        return functools.partial(self._pull, needed), needed

    def _pull(self, needed: tuple[str, ...], g: Any, *values: Any) -> Any:
        named = dict(zip(self.wants, values, strict=True))
        inner, tensors = split(needed, [named[n] for n in needed])
        who = f"{self.name}, derivative of {'a smooth function' if self.smooth else 'the forward'} ({self.where})"
        if self.smooth:
            refuse_trainable(captures([self.fn]), who)
        gradients = vjp(lambda *ts: self.fn(**{**named, **inner.join(ts)}), tensors, g, who)
        results = inner.join(gradients)
        return results[needed[0]] if len(needed) == 1 else tuple(results[n] for n in needed)


def differentiable(tensor: torch.Tensor) -> bool:
    """Whether a tensor's dtype can carry a gradient."""
    return tensor.is_floating_point() or tensor.is_complex()


def flat_outputs(result: Any) -> tuple[Split, list[torch.Tensor]]:
    """A forward's result, without what it keeps, as flat tensors."""
    return split(("out",), [without_kept(result)])


def vjp(fn: Callable[..., Any], tensors: Tensors, g: Any, who: str) -> list[torch.Tensor | None]:
    """The gradients of ``fn`` at ``tensors`` for the cotangent ``g``, which has the structure of its output.

    Differentiable again where gradients are being recorded. ``None`` where ``fn`` does not use a tensor.

    Raises:
        MissingRuleError: If autograd finds no way from any of the tensors to the output.
    """

    def outputs(*ts: torch.Tensor) -> list[torch.Tensor]:
        try:
            return flat_outputs(run_forward(fn, ts, {}))[1]
        except RuntimeError as error:
            if "numpy()" in str(error):
                raise no_derivative(who) from None
            raise

    cotangents = split(("out",), [g])[1]
    pull = _transformed if in_transform() else _plain
    return pull(outputs, tensors, cotangents, who)


def _plain(fn: Callable[..., Any], tensors: Tensors, cotangents: Tensors, who: str) -> list[torch.Tensor | None]:
    again = grad_enabled()
    with torch.enable_grad():
        leaves = [_leaf(t, again) for t in tensors]
        outputs = fn(*leaves)
    pairs = [(o, g) for o, g in zip(outputs, cotangents, strict=True) if o.requires_grad]
    if not pairs:
        raise no_derivative(who)
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    outs, gs = zip(*pairs, strict=True)
    supply = iter(torch.autograd.grad(outs, wanted, gs, create_graph=again, allow_unused=True))
    return [next(supply) if leaf.requires_grad else None for leaf in leaves]


def _leaf(tensor: torch.Tensor, again: bool) -> torch.Tensor:
    """A tensor to differentiate at: still in its graph when the gradient may be differentiated again."""
    if not differentiable(tensor):
        return tensor
    return tensor.view_as(tensor) if again and tensor.requires_grad else tensor.detach().requires_grad_()


def _transformed(fn: Callable[..., Any], tensors: Tensors, cotangents: Tensors, who: str) -> list[torch.Tensor | None]:
    chosen = [i for i, t in enumerate(tensors) if differentiable(t)]

    def outputs(*leaves: torch.Tensor) -> tuple[torch.Tensor, ...]:
        full = list(tensors)
        for i, leaf in zip(chosen, leaves, strict=True):
            full[i] = leaf
        return tuple(o for o in fn(*full) if differentiable(o))

    pull = torch.func.vjp(outputs, *[tensors[i] for i in chosen])[1]
    found = dict(zip(chosen, pull(tuple(g for g in cotangents if differentiable(g))), strict=True))
    return [found.get(i) for i in range(len(tensors))]


def no_derivative(who: str) -> MissingRuleError:
    """The error of a function that autograd cannot differentiate."""
    return MissingRuleError(
        who,
        "needs a forward that autograd can differentiate",
        "an output without a graph: the forward is piecewise constant, or leaves PyTorch (NumPy, detach, data)",
        'attach a rule with @f.grad("x"), or borrow a derivative with f.grad_like("x", smooth)',
    )
