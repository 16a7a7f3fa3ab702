"""Another tensor was saved than the formula needs."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch

from pullback.check import context, state
from pullback.check.arguments import Arguments
from pullback.check.samples import Sample
from pullback.check.trouble import Cause, Trouble


def nth(position: int, change: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[torch.Tensor], torch.Tensor]:
    """A change of the kept tensor at one position alone."""
    counter = itertools.count()

    def changed(tensor: torch.Tensor) -> torch.Tensor:
        return change(tensor) if next(counter) == position else tensor

    return changed


def kept_count(t: Trouble) -> int:
    """How many tensors a call keeps."""
    return len(_kept(t, t.samples[0].arguments))


def _kept(t: Trouble, arguments: Arguments) -> list[torch.Tensor]:
    if t.case.target.plain is None or t.case.target.backward is None:
        return []
    state.seed()
    ctx = context.Context(arguments.needs())
    with torch.no_grad():
        t.case.target.plain(ctx, *arguments.constant())
    kept = [*ctx.saved_tensors, *context.attributes(ctx).values()]
    return [x for x in kept if isinstance(x, torch.Tensor)]


def exchanged(t: Trouble) -> Cause | None:
    """One kept tensor stands where another belongs."""
    for a, b in itertools.permutations(range(kept_count(t)), 2):

        def exchanged(sample: Sample, a: int = a, b: int = b) -> torch.Tensor | None:
            pool = _kept(t, sample.arguments)
            if pool[a].shape != pool[b].shape:
                return None
            return t.replay(sample, change=nth(a, lambda _: pool[b]))

        if t.mends(exchanged):
            return Cause(
                "wrong-derivative",
                f"the gradient of {t.name!r} is right with another saved tensor in the "
                f"place of the {a + 1}. one (the {b + 1}.)",
                "use the other saved tensor",
            )
    return _input_for_output(t)


def _input_for_output(t: Trouble) -> Cause | None:
    for position in range(kept_count(t)):
        for source, pick in (("output", _outputs), ("input", _inputs)):
            for index in range(len(pick(t.samples[0]))):

                def given(sample: Sample, p: int = position, i: int = index, pick: Any = pick) -> torch.Tensor | None:
                    return t.replay(sample, change=nth(p, lambda kept: _if_fits(kept, pick(sample)[i])))

                if t.mends(given):
                    return Cause(
                        "wrong-derivative",
                        f"the gradient of {t.name!r} is right with an {source} in the "
                        f"place of the {position + 1}. saved tensor",
                        f"save that {source} instead",
                    )
    return None


def _outputs(sample: Sample) -> list[torch.Tensor]:
    return [out.detach() for out in sample.outputs]


def _inputs(sample: Sample) -> list[torch.Tensor]:
    return sample.arguments.differentiable


def _if_fits(kept: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    if kept.shape != other.shape or kept.dtype != other.dtype:
        raise LookupError("does not fit")
    return other
