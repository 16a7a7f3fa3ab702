"""Settings that would make a gradient wrong without a word: refused where they are plain numbers.

Of tensors nothing is asked, which would wait for the device; modules keep those of theirs above the bound.
"""

from __future__ import annotations

from typing import Any

import torch

from pullback.errors import UsageError


def positive(who: str, name: str, value: Any) -> None:
    """Refuse a number that is not above 0."""
    if not isinstance(value, torch.Tensor) and not value > 0:
        raise UsageError(who, f"{name} is above 0", repr(value), "give a positive number")


def not_negative(who: str, name: str, value: Any) -> None:
    """Refuse a number below 0."""
    if not isinstance(value, torch.Tensor) and not value >= 0:
        raise UsageError(who, f"{name} is 0 or above", repr(value), "give such a number")
