"""A module around a function: its first tensor is the input, the others are parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from pullback.check.stacks.table import Setting


class Layer(torch.nn.Module):
    """A module that calls the setting's function."""

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        self.fn = setting.fn
        self.weights = torch.nn.ParameterList([torch.nn.Parameter(t.detach().clone()) for t in setting.tensors[1:]])
        self.replaced: Sequence[torch.Tensor] | None = None

    def forward(self, x: torch.Tensor) -> Any:
        """The function of the input and the parameters."""
        weights = list(self.weights) if self.replaced is None else self.replaced
        return self.fn(x, *weights)

    def named(self, tensors: Sequence[torch.Tensor]) -> dict[str, torch.Tensor]:
        """Tensors by the names of the parameters whose places they take."""
        return dict(zip(dict(self.named_parameters()), tensors, strict=True))
