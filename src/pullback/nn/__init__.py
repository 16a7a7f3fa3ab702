"""Modules of the catalogue: the entries of `pullback.functional` with their parameters, and `replace`.

The classes are made from the records: one for each entry that has parameters, hyperparameters or a module of the same
name in PyTorch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from pullback.functional.record import RECORDS
from pullback.nn import exchange
from pullback.nn.module import Entry as Entry
from pullback.nn.module import module_class
from pullback.nn.special import ReversedEntry, SteppedEntry
from pullback.nn.special import rising as rising

BASES = {"LSQ": SteppedEntry, "ReverseGradient": ReversedEntry}
CLASSES = {r.module: module_class(r, BASES.get(r.module)) for r in RECORDS.values() if r.module}
globals().update(CLASSES)

if TYPE_CHECKING:

    def __getattr__(name: str) -> type[Entry]: ...


def counterparts() -> dict[type[torch.nn.Module], type[Entry]]:
    """PyTorch's modules that the catalogue has with accurate values and gradients, by class.

    Example:
        >>> counterparts()[torch.nn.GELU]
        <class 'pullback.nn.GELU'>
    """
    return {getattr(torch.nn, name): made for name, made in CLASSES.items() if made.record.torch}


def replace(model: torch.nn.Module, what: Any = None, by: Any = None) -> torch.nn.Module:
    """The model with other activations: every module of a class, in place.

    ``replace(model, nn.GELU, pb.nn.Swish)`` or ``replace(model, {nn.GELU: pb.nn.Swish, nn.ReLU: pb.nn.SquaredReLU})``.
    Without more than a model, every activation of PyTorch that the catalogue has is replaced by that of the same name,
    with its settings, parameters and hooks: values and gradients stay the same, but for rounding. These compute in
    float64 for float32, which takes longer: docs/accuracy.md says how much. Functions that a model calls, such as
    ``F.gelu``, are no modules and stay.

    New parameters (those of a `Swish`, say) are unknown to an optimizer that was made before: make it afterwards.

    Args:
        model: Any module; changed in place.
        what: A class of modules (subclasses are not meant), a path such as ``"blocks.*.act"``, several of these, or a
            dict from them to what takes their place.
        by: A class, which is called without arguments; a module, which is copied; or a function of the old module.

    Returns:
        The model; what takes its place, if the model itself is replaced.

    Raises:
        UsageError: If the model has no such module, if it is wrapped for several processes and new parameters would
            come into it, or if the arguments have another form.

    Example:
        >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.GELU())
        >>> replace(model, torch.nn.GELU, Swish)
        Sequential(
          (0): Linear(in_features=2, out_features=2, bias=True)
          (1): Swish()
        )
    """
    return exchange.replace(model, exchange.pairs(what, by, counterparts()), default=what is None)


__all__ = sorted([*CLASSES, "Entry", "counterparts", "replace", "rising"])
