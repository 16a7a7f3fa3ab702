"""Modules with more state than their parameters: a schedule, a step that is taken from data."""

from __future__ import annotations

import math
from typing import Any

import torch

from pullback.errors import UsageError
from pullback.nn.module import Entry


def rising(progress: float, gamma: float = 10.0) -> float:
    """The strength of Ganin and Lempitsky: from 0 at first to almost 1.

    Args:
        progress: From 0 to 1, how much of the training is done.
        gamma: How fast it rises.

    Example:
        >>> rising(0.0), round(rising(0.5), 4)
        (0.0, 0.9866)
    """
    return math.tanh(gamma * progress / 2)


class ReversedEntry(Entry):
    """``ReverseGradient``: its ``strength`` is a number, or a function of ``progress`` such as `rising`.

    Attributes:
        progress: From 0 to 1, how much of the training is done: set it as training goes on.
    """

    progress = 0.0

    def settings(self) -> dict[str, Any]:
        """The strength, now."""
        strength: Any = self.strength
        return {"strength": strength(self.progress) if callable(strength) else strength}


class SteppedEntry(Entry):
    """``LSQ``: its step can be taken from data."""

    hint = "give low and high: -8 and 7 for four bits with a sign, 0 and 15 without"

    def bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """What the module is made with, if its levels are in order."""
        given = super().bound(args, kwargs)
        if not given["low"] < given["high"]:
            got = f"low={given['low']!r}, high={given['high']!r}"
            raise UsageError(type(self).__name__, "low is less than high", got, self.hint)
        return given

    def calibrate(self, x: torch.Tensor) -> None:
        """Set the step to 2·mean(|x|)/√high, as its authors do: from weights, or from a batch of activations.

        With several processes, before the model is wrapped: that hands the first one's step to all.
        """
        count, high = self.num_parameters, self.given["high"]
        sizes = x.detach().abs()
        if count > 1:
            sizes = sizes.movedim(self.given["channel_dim"], 0).flatten(1).mean(1)
        self.assign("step", self.record.parameters["step"], 2 * (sizes if count > 1 else sizes.mean()) / high**0.5)
