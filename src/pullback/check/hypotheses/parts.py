"""Parts of forward that backward takes for constants, and random numbers drawn again."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import torch

from pullback._torch import TorchFunctionMode
from pullback.check import context, state, tree
from pullback.check.case import pull
from pullback.check.samples import Sample
from pullback.check.trouble import Cause, Trouble, filled

REDUCTIONS = (
    "mean", "sum", "std", "var", "norm", "amax", "amin", "max", "min", "logsumexp", "prod", "median", "vector_norm",
    "std_mean", "var_mean", "cumsum", "aminmax",
)  # fmt: skip


class _Detached(TorchFunctionMode):
    """Detaches the results of chosen calls while a forward runs."""

    def __init__(self, chosen: Callable[[int, str], bool]) -> None:
        super().__init__()
        self.chosen = chosen
        self.calls: list[str] = []
        self.count = itertools.count()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if not any(t.requires_grad for t in tree.tensors(result)):
            return result
        name = getattr(func, "__name__", "")
        index = next(self.count)
        self.calls.append(name)
        return tree.transform(_detach, result) if self.chosen(index, name) else result


def _detach(leaf: Any) -> Any:
    return leaf.detach() if isinstance(leaf, torch.Tensor) else leaf


def _without(t: Trouble, sample: Sample, chosen: Callable[[int, str], bool]) -> tuple[torch.Tensor | None, list[str]]:
    plain = t.case.target.plain
    if plain is None:
        raise LookupError("no forward to run")
    state.seed()
    leaves, passed = sample.arguments.fresh()
    mode = _Detached(chosen)
    with mode:
        result = plain(context.Context((True,) * len(passed)), *passed)
    grads = pull(tree.tensors(result), leaves, filled(sample, sample.incoming))
    grad = grads[t.leaf]
    return (torch.zeros_like(leaves[t.leaf]) if grad is None else grad), mode.calls


def calls(t: Trouble, sample: Sample) -> list[str]:
    """The names of the operations of forward that a gradient passes."""
    return _without(t, sample, lambda i, n: False)[1]


def constant_part(t: Trouble) -> Cause | None:
    """Right, but for the terms through one call in forward (or through all its statistics)."""
    try:
        names = calls(t, t.wrong[0])
    except Exception:
        return None
    everything = [lambda i, n: n in REDUCTIONS] if any(c in REDUCTIONS for c in names) else []
    if everything and t.mimics(lambda s: _without(t, s, everything[0])[0]):
        return _statistic(t, "its statistics")
    for index, name in enumerate(names[:60]):
        if t.mimics(functools.partial(_without_call, t, index)):
            statistic = name in REDUCTIONS or any(c in REDUCTIONS for c in _feeding(names, index))
            if statistic and not _elementwise(t):
                return _statistic(t, f"`{name}`")
            return Cause(
                "wrong-derivative",
                f"backward treats the result of `{name}` in forward as a constant: its "
                f"term is missing in the gradient of {t.name!r}",
                f"add the term that comes through `{name}`",
            )
    return None


def _without_call(t: Trouble, index: int, sample: Sample) -> torch.Tensor | None:
    return _without(t, sample, lambda i, n: i == index)[0]


def _feeding(names: list[str], index: int) -> list[str]:
    return names[max(0, index - 4) : index]


def _elementwise(t: Trouble) -> bool:
    sample = t.samples[0]
    return not any(name in REDUCTIONS for name in calls(t, sample))


def _statistic(t: Trouble, what: str) -> Cause:
    return Cause(
        "statistic-treated-constant",
        f"backward treats {what} as a constant, but forward computes it from {t.name!r}",
        f"add the terms that come through {what}",
    )


def drawn_again(t: Trouble) -> Cause | None:
    """Right with the random numbers of forward."""
    if _draws(t) and t.mends(lambda s: t.replay(s, rng="before")):
        return Cause(
            "rng-not-saved",
            "backward draws new random numbers instead of those that forward used",
            "save what forward drew with ctx.save_for_backward, or its generator state",
        )
    return None


def _draws(t: Trouble) -> bool:
    """Whether backward moves the generator on."""
    state.seed()
    fresh = torch.get_rng_state()
    t.replay(t.wrong[0], rng="before")
    return not torch.equal(fresh, torch.get_rng_state())
