"""Conditions eight to a byte."""

from __future__ import annotations

from functools import cache

import torch

_GATHER = 0x0102040810204080  # times a word of eight bytes, each 0 or 1: its last byte holds their eight bits


def pack(mask: torch.Tensor) -> torch.Tensor:
    """A boolean tensor, flattened, as bytes of eight elements each; the last one is filled with zeros.

    >>> pack(torch.tensor([True, False, True]))
    tensor([5], dtype=torch.uint8)
    """
    flat = mask.reshape(-1)
    missing = -flat.numel() % 8
    flat = torch.nn.functional.pad(flat, (0, missing)) if missing else flat.contiguous()
    words = flat.view(torch.int64)
    return ((words * _GATHER) >> 56).to(torch.uint8)


def unpack(bits: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    """The boolean tensor of this shape that was packed.

    >>> unpack(torch.tensor([5], dtype=torch.uint8), torch.Size([3]))
    tensor([ True, False,  True])
    """
    words = _table(bits.device).index_select(0, bits.to(torch.int32))
    return words.view(torch.bool)[: shape.numel()].view(shape)


def packed(mask: torch.Tensor) -> torch.Tensor:
    """As `pack`, in operations that become part of the kernel that makes the mask."""
    flat = torch.nn.functional.pad(mask.reshape(-1).to(torch.int32), (0, -mask.numel() % 8))
    return (flat.view(-1, 8) << torch.arange(8, dtype=torch.int32, device=mask.device)).sum(1).to(torch.uint8)


def unpacked(bits: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    """The mask again, in operations that become part of the kernel that uses it."""
    each = (bits[:, None].to(torch.int32) >> torch.arange(8, dtype=torch.int32, device=bits.device)) & 1
    return each.reshape(-1)[: shape.numel()].view(shape).to(torch.bool)


@cache
def _table(device: torch.device) -> torch.Tensor:
    """The eight truth values of each byte, as one word."""
    bits = (torch.arange(256)[:, None] >> torch.arange(8)) & 1
    return bits.to(torch.uint8).view(torch.int64).view(-1).to(device)
