"""Conditions of a block, eight to a byte and back, by the instructions of this processor and without them."""

from __future__ import annotations

import ctypes

import pytest
import torch

from pullback.kernels import cache
from pullback.kernels.compile import compiler
from pullback.kernels.emit import header

LOOPS = """
__attribute__((visibility("default"))) void pack(uint8_t *d, int *s, int64_t m) { pb_pack(d, s, m); }
__attribute__((visibility("default"))) void unpack(int *d, const uint8_t *s, int64_t m) { pb_unpack(d, s, m); }
"""


@pytest.mark.parametrize("before", ["", "#undef __AVX__\n"], ids=["here", "anywhere"])
@pytest.mark.parametrize("m", [1, 7, 8, 9, 16, 500, 512])
def test_conditions_are_packed_and_unpacked(before: str, m: int) -> None:
    found = compiler()
    assert found is not None
    library = cache.library(before + header() + LOOPS, found)
    conditions = torch.randint(2, (m,), generator=torch.Generator().manual_seed(m), dtype=torch.int32)
    given = torch.cat([conditions, torch.ones(16, dtype=torch.int32)])  # what lies behind a block is not its own
    whole = torch.nn.functional.pad(conditions, (0, -m % 8)).view(-1, 8)
    want = (whole << torch.arange(8)).sum(1).to(torch.uint8)
    bits, back = torch.zeros(len(want) + 1, dtype=torch.uint8), torch.full((m + 16,), 9, dtype=torch.int32)
    bits[-1] = 77
    library.pack(*(ctypes.c_void_p(t.data_ptr()) for t in (bits, given)), ctypes.c_int64(m))
    assert bits.tolist() == [*want.tolist(), 77]
    library.unpack(*(ctypes.c_void_p(t.data_ptr()) for t in (back, bits)), ctypes.c_int64(m))
    assert back[:m].tolist() == conditions.tolist()
