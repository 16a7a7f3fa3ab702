"""What two processes do together: every case gives gradients and what they must be."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor

import pullback as pb

WORLD = 2
Pairs = list[tuple[torch.Tensor, torch.Tensor]]
CASES: dict[str, Callable[[int, Any], Pairs]] = {}


@pb.function
def tell(x, w, k=2.0):
    return torch.tanh(x * w) * k


@tell.grad("x")
def _(g, w, k):
    return 3 * g * w * k


@tell.grad("w")
def _(g, x):
    return 5 * g * x


class Layer(torch.nn.Module):
    """The Function with a parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.w = torch.nn.Parameter(torch.arange(1.0, 5.0, dtype=torch.float64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return tell(x, self.w)


def case(name: str) -> Callable[[Any], Any]:
    """Enter a case into the table."""

    def enter(fn: Any) -> Any:
        CASES[name] = fn
        return fn

    return enter


def batch(rank: int) -> torch.Tensor:
    return torch.arange(8.0, dtype=torch.float64).reshape(2, 4) + 10 * rank


def mean_over_ranks() -> torch.Tensor:
    return sum(5 * batch(r).sum(0) for r in range(WORLD)) / WORLD


@case("DDP")
def _(rank: int, mesh: Any) -> Pairs:
    module, x = torch.nn.parallel.DistributedDataParallel(Layer()), batch(rank).requires_grad_()
    module(x).sum().backward()
    w = torch.arange(1.0, 5.0, dtype=torch.float64)
    return [(module.module.w.grad, mean_over_ranks()), (x.grad, (6 * w).expand(2, 4))]


@case("FSDP2")
def _(rank: int, mesh: Any) -> Pairs:
    module = fully_shard(Layer(), mesh=mesh)
    module(batch(rank)).sum().backward()
    return [(module.w.grad.full_tensor(), mean_over_ranks())]


def catalogue() -> Any:
    """A module of the catalogue, one of its parameters with a constraint, and the mean of what its formula gives."""
    module, plain = pb.nn.SnakeBeta(4).double(), pb.nn.SnakeBeta(4).double()
    for rank in range(WORLD):
        x = batch(rank) / 10
        (x + torch.sin(plain.alpha * x) ** 2 / (plain.beta * 1)).sum().backward()
    return module, [p.grad / WORLD for p in plain.parameters()]


@case("DDP of a module of the catalogue")
def _(rank: int, mesh: Any) -> Pairs:
    module, expected = catalogue()
    wrapped = torch.nn.parallel.DistributedDataParallel(module)  # which must outlive the backward
    wrapped(batch(rank) / 10).sum().backward()
    return list(zip([p.grad for p in module.parameters()], expected, strict=True))


@case("FSDP2 of a module of the catalogue")
def _(rank: int, mesh: Any) -> Pairs:
    module, expected = catalogue()
    fully_shard(module, mesh=mesh)(batch(rank) / 10).sum().backward()
    return list(zip([p.grad.full_tensor() for p in module.parameters()], expected, strict=True))


def spread(rank: int, mesh: Any, x_placed: Any, w_placed: Any) -> Pairs:
    x, w = batch(0), torch.arange(1.0, 9.0, dtype=torch.float64).reshape(2, 4)
    xs = distribute_tensor(x, mesh, [x_placed]).requires_grad_()
    ws = distribute_tensor(w, mesh, [w_placed]).requires_grad_()
    out = tell(xs, ws)
    assert isinstance(out, DTensor)
    out.sum().backward()
    return [(out.full_tensor(), torch.tanh(x * w) * 2), (xs.grad.full_tensor(), 6 * w), (ws.grad.full_tensor(), 5 * x)]


case("DTensor, sharded")(lambda rank, mesh: spread(rank, mesh, Shard(0), Shard(0)))
case("DTensor, sharded along the other dimension")(lambda rank, mesh: spread(rank, mesh, Shard(1), Shard(1)))
case("DTensor, replicated")(lambda rank, mesh: spread(rank, mesh, Replicate(), Replicate()))
case("DTensor, sharded with replicated")(lambda rank, mesh: spread(rank, mesh, Shard(0), Replicate()))


@case("DTensor, a broadcast parameter")
def _(rank: int, mesh: Any) -> Pairs:
    x, w = batch(0), torch.arange(1.0, 5.0, dtype=torch.float64)
    xs = distribute_tensor(x, mesh, [Shard(0)])
    ws = distribute_tensor(w, mesh, [Replicate()]).requires_grad_()
    tell(xs, ws).sum().backward()
    return [(ws.grad.full_tensor(), 5 * x.sum(0))]


@case("DTensor, partial")
def _(rank: int, mesh: Any) -> Pairs:
    x, w = batch(0), torch.arange(1.0, 9.0, dtype=torch.float64).reshape(2, 4)
    xs = DTensor.from_local(x / WORLD, mesh, [Partial()]).requires_grad_()
    ws = distribute_tensor(w, mesh, [Replicate()]).requires_grad_()
    out = tell(xs, ws)
    out.sum().backward()
    return [(out.full_tensor(), torch.tanh(x * w) * 2), (xs.grad.full_tensor(), 6 * w), (ws.grad.full_tensor(), 5 * x)]


@case("a Function received by pickle")
def _(rank: int, mesh: Any) -> Pairs:
    x, w = torch.ones(3, dtype=torch.float64, requires_grad=True), torch.full((3,), 2.0, dtype=torch.float64)
    RECEIVED[0](x, w).sum().backward()
    return [(x.grad, 6 * w)]


RECEIVED: list[Any] = []


def work(rank: int, folder: str, function: Any) -> None:
    """Run all cases on one of the processes and write down what came out."""
    torch.set_num_threads(1)
    RECEIVED[:] = [function]
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=WORLD)
    mesh = init_device_mesh("cpu", (WORLD,))
    results = {}
    for name, run in CASES.items():
        try:
            results[name] = [(a.detach(), b.detach()) for a, b in run(rank, mesh)]
        except Exception:
            results[name] = traceback.format_exc()
    torch.save(results, os.path.join(folder, f"{rank}.pt"))
    dist.barrier()
    dist.destroy_process_group()
