"""Memory of large results is used again, never while anything can still see it, and given back."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from kernel_rows import mish

import pullback as pb
from pullback.kernels import memory

SIZE = memory.LARGE // 4
pytestmark = pytest.mark.skipif(memory.pool() is None, reason="no pool on this platform")


@pytest.fixture
def pool() -> Iterator[memory.Pool]:
    found = memory.pool()
    assert found is not None
    found.trim()
    yield found
    found.trim()


def made(n: int = SIZE) -> torch.Tensor:
    return memory.empty((n,), (1,), torch.float32)


def aside(pool: memory.Pool) -> int:
    return pool.idle() // memory.LARGE


def test_memory_is_used_again(pool: memory.Pool) -> None:
    first = made()
    address = first.data_ptr()
    assert made().data_ptr() != address
    del first
    assert made().data_ptr() == address or made().data_ptr() == address  # the other one lies aside, too
    assert made(SIZE * 2).data_ptr() != address


def test_sizes_strides_and_types(pool: memory.Pool) -> None:
    for dtype in (torch.float64, torch.bfloat16, torch.float16, torch.bool, torch.uint8, torch.int8, torch.int64):
        got = memory.empty((4, SIZE, 2), (2 * SIZE, 1, SIZE), dtype)
        want = torch.empty_strided((4, SIZE, 2), (2 * SIZE, 1, SIZE), dtype=dtype)
        assert (got.shape, got.stride(), got.dtype) == (want.shape, want.stride(), want.dtype)
        assert got.untyped_storage().nbytes() == want.untyped_storage().nbytes()
        assert torch.equal(got.fill_(1), want.fill_(1))
    many = memory.empty((1,) * 20 + (SIZE,), (SIZE,) * 20 + (1,), torch.float32)  # more dimensions than the pool takes
    assert many.dim() == 21


ALIASES: dict[str, Callable[[torch.Tensor], Any]] = {
    "numpy": lambda t: t.numpy(),
    "view": lambda t: t[5:9],
    "transpose": lambda t: t.view(2, -1).t(),
    "detach": lambda t: t.detach(),
    "storage": lambda t: t.untyped_storage(),
    "dlpack": lambda t: torch.utils.dlpack.to_dlpack(t),
    "memoryview": lambda t: memoryview(t.numpy()),
    "autograd": lambda t: t.requires_grad_().exp(),
    "set_": lambda t: torch.empty(0).set_(t.untyped_storage()),
    "data": lambda t: t.data,
}


@pytest.mark.parametrize("alias", ALIASES.values(), ids=ALIASES)
def test_an_alias_keeps_the_memory(alias: Callable[[torch.Tensor], Any], pool: memory.Pool) -> None:
    tensor = made().fill_(3)
    address = tensor.data_ptr()
    kept = alias(tensor)
    del tensor
    assert aside(pool) == 0
    assert all(made().data_ptr() != address for _ in range(3))
    pool.trim()
    del kept
    assert aside(pool) == 1


COPIES: dict[str, Callable[[torch.Tensor], Any]] = {
    "pickle": lambda t: pickle.loads(pickle.dumps(t)),
    "deepcopy": copy.deepcopy,
    "clone": lambda t: t.clone(),
    "share_memory_": lambda t: t.share_memory_(),
}


@pytest.mark.parametrize("change", COPIES.values(), ids=COPIES)
def test_a_copy_does_not(change: Callable[[torch.Tensor], Any], pool: memory.Pool) -> None:
    tensor = made()
    want = torch.arange(float(SIZE))
    tensor.copy_(want)
    got = change(tensor)
    del tensor
    gc.collect()  # what pickling of PyTorch 2.9 leaves behind
    assert aside(pool) == 1
    made().fill_(0)
    assert torch.equal(got, want)


def test_a_result_cannot_grow(pool: memory.Pool) -> None:
    with pytest.raises(RuntimeError, match="resiz"):
        made().resize_(2 * SIZE)


def test_what_lies_aside_is_given_back(pool: memory.Pool) -> None:
    tensor = memory.empty((8 * SIZE,), (1,), torch.float32).fill_(1)
    before = resident("LazyFree")
    del tensor
    assert resident("LazyFree") - before >= memory.LARGE // 1024
    used = resident("Rss")
    pool.trim()
    assert used - resident("Rss") >= 7 * memory.LARGE // 1024
    assert pool.idle() == 0


def resident(what: str) -> int:
    """Kilobytes of the process."""
    lines = Path("/proc/self/smaps_rollup").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what))


def test_switched_off(monkeypatch: pytest.MonkeyPatch, pool: memory.Pool) -> None:
    monkeypatch.setenv("PULLBACK_POOL", "0")
    tensor = made()
    assert tensor.untyped_storage().resizable()
    del tensor
    assert pool.idle() == 0


def test_results_and_gradients_come_from_it(pool: memory.Pool) -> None:
    fused, x = pb.fuse(mish), torch.linspace(-9, 9, SIZE).requires_grad_()
    for layout in (x, x.detach().view(2, -1).t().requires_grad_()):
        pool.trim()
        out = fused(layout)
        (gradient,) = torch.autograd.grad(out.sum(), layout)
        address = gradient.data_ptr()
        assert not out.untyped_storage().resizable()
        assert not out._is_view()
        del out, gradient
        assert aside(pool) == 2
        assert address in {made().data_ptr(), *(t.data_ptr() for t in (made(), made()))}


def test_what_is_saved_survives_and_changes_in_place_are_seen(pool: memory.Pool) -> None:
    fused, x = pb.fuse(torch_sigmoid), torch.linspace(-9, 9, SIZE, requires_grad=True)  # keeps its output
    total = fused(x).sum()
    for _ in range(3):
        made().fill_(float("nan"))
    (gradient,) = torch.autograd.grad(total, x)
    assert not gradient.isnan().any()
    out = fused(x)
    out.add_(1)
    with pytest.raises(RuntimeError, match="inplace"):
        out.sum().backward()


def torch_sigmoid(x):
    return torch.sigmoid(x)


def test_a_checkpoint(pool: memory.Pool) -> None:
    fused, x = pb.fuse(mish), torch.linspace(-9, 9, SIZE, requires_grad=True)
    (want,) = torch.autograd.grad(fused(fused(x)).sum(), x)
    out = torch.utils.checkpoint.checkpoint(lambda x: fused(fused(x)), x, use_reentrant=False)
    (got,) = torch.autograd.grad(out.sum(), x)
    assert torch.equal(got, want)


def test_threads(pool: memory.Pool) -> None:
    wrong: list[int] = []

    def work(number: int) -> None:
        for turn in range(20):
            tensor = made().fill_(100 * number + turn)
            other = made().fill_(-1)
            if tensor[0] != 100 * number + turn or tensor[-1] != 100 * number + turn or other[0] != -1:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_forked_child_and_its_parent_do_not_meet(pool: memory.Pool) -> None:
    kept, spare = made().fill_(1), made()
    del spare
    child = os.fork()
    if child == 0:
        fresh = made()[:100].fill_(2)  # few elements: PyTorch's threads do not live here
        right = bool((kept[:100] == 1).all()) and bool((fresh == 2).all())
        os._exit(0 if right else 1)
    mine = made().fill_(3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert bool((mine == 3).all())
    assert bool((kept == 1).all())


def test_results_that_outlive_python_itself(kernel_cache: Path) -> None:
    text = (
        "import torch, sys, threading\nfrom pullback.kernels import memory\n"
        "assert memory.pool() is not None\n"
        f"sys.kept = memory.empty(({SIZE},), (1,), torch.float32).fill_(1)\n"
        "torch.kept = sys.kept.numpy()\n"
        "threading.Thread(target=lambda: memory.empty_like(sys.kept).fill_(1)).start()\n"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
