"""vmap of a Function is a Function: forward and rules run under vmap, and what is not batched is summed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from pullback._torch import VmapInfo
from pullback.define.call import Call, Flat, Residuals
from pullback.define.rng import RandomState

Dims = Sequence[int | None]


class BatchedCall(Call):
    """The call ``base`` with a batch dimension over it; ``in_dims`` tells where it is in each argument's tensor."""

    def __init__(self, base: Call, in_dims: Dims, info: VmapInfo) -> None:
        self.__dict__.update(base.__dict__)
        self.base, self.in_dims, self.info = base, tuple(in_dims), info

    def forward(self, tensors: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """The forward over the batch; the batch dimension of every result is the first."""
        result = self._map(lambda *ts: tuple(self.base.forward(ts)), self.in_dims, tensors)
        self.learn(self.base)
        return tuple(result)

    def gradients(self, mask: Sequence[bool], res: Residuals, cotangents: Flat) -> list[torch.Tensor | None]:
        """The rules over the batch."""
        return self._pulled(lambda r, g: self.base.gradients(mask, r, g), res, cotangents, [0] * len(cotangents))

    def kept_gradients(self, mask: Sequence[bool], res: Residuals, cotangents: Flat) -> list[torch.Tensor | None]:
        """The derivative of kept values over the batch."""
        return self._pulled(lambda r, g: self.base.kept_gradients(mask, r, g), res, cotangents, [0] * len(cotangents))

    def note_random(self, state: RandomState) -> None:
        """Note the generators' state for this call and the one that it batches."""
        self.rng = state
        self.base.note_random(state)

    def _pulled(self, pull: Callable[..., Any], res: Residuals, cotangents: Flat, dims: Dims) -> list[Any]:
        flat = [*res.arguments, *res.outputs, *res.kept, *cotangents]
        places = [*self.in_dims, *[0] * (len(res.outputs) + len(res.kept)), *dims]
        present = [i for i, t in enumerate(flat) if t is not None]
        returned: list[int] = []

        def one(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
            full: list[Any] = [None] * len(flat)
            for i, t in zip(present, tensors, strict=True):
                full[i] = t
            split = len(flat) - len(cotangents)
            results = pull(Residuals.cut(self.base, full[:split]), full[split:])
            returned[:] = [i for i, r in enumerate(results) if r is not None]
            return tuple(r for r in results if r is not None)

        found = self._map(one, [places[i] for i in present], [flat[i] for i in present])
        results: list[Any] = [None] * len(self.in_dims)
        for i, value in zip(returned, found, strict=True):
            dim = self.in_dims[i]
            results[i] = value.sum(0) if dim is None else value.movedim(0, dim)
        return results

    def _map(self, fn: Callable[..., Any], dims: Dims, tensors: Sequence[Any]) -> tuple[torch.Tensor, ...]:
        if not any(d is not None for d in dims):  # nothing batched reaches it: the same for each
            return tuple(t.unsqueeze(0).expand(self.info.batch_size, *t.shape) for t in fn(*tensors))
        return torch.vmap(fn, tuple(dims), 0, randomness=self.info.randomness)(*tensors)  # type: ignore[no-any-return]
