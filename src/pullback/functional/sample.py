"""Sample arguments of an entry, from its record: what the tests, the listing and the pictures call it with."""

from __future__ import annotations

from typing import Any

import torch

from pullback.functional.record import Parameter, Record


def sample(
    record: Record, *shape: int, dtype: torch.dtype = torch.float64, seed: int = 0, channels: bool = False
) -> dict[str, Any]:
    """Arguments by name: data from the entry's domain, and parameters near their initial values.

    Args:
        record: The entry.
        *shape: The shape of the data.
        dtype: The dtype of all tensors.
        seed: Of the random numbers.
        channels: Whether parameters have one value for each element of the data's last dimension.
    """
    generator = torch.Generator().manual_seed(seed)
    low, high = record.domain
    found = {
        name: (low + (high - low) * torch.rand(shape, generator=generator, dtype=torch.float64)).to(dtype)
        for name in record.tensors
    }
    width = shape[-1:] if channels else ()
    return found | {n: start(p, width if p.channels else (), generator, dtype) for n, p in record.parameters.items()}


def start(parameter: Parameter, width: tuple[int, ...], generator: torch.Generator, dtype: torch.dtype) -> torch.Tensor:
    """The initial value of a parameter, moved a little."""
    value = torch.tensor(parameter.initial, dtype=torch.float64)
    value = value if value.dim() else value.expand(width)
    return (value * (1 + 0.1 * torch.rand(value.shape, generator=generator, dtype=torch.float64))).to(dtype)


def kept_bits(record: Record, dtype: torch.dtype = torch.float32, size: int = 64) -> float:
    """How many bits per element of the input wait for backward, when all arguments need a gradient."""
    values = {n: v.requires_grad_() for n, v in sample(record, size, dtype=dtype).items()}
    return saved_bits(lambda: record.function(**values), size)


def saved_bits(call: Any, size: int) -> float:
    """How many bits per element a call saves for backward; scalars aside, and what is saved twice once."""
    seen: dict[int, int] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        seen[tensor.untyped_storage().data_ptr()] = 8 * tensor.nbytes if tensor.numel() >= size else 0
        return tensor

    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        out = call()
    del out
    return sum(seen.values()) / size
