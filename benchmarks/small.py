"""What ``keep="small"`` saves and costs: bits between two layers, the slope's error, and accuracy after training.

``python benchmarks/small.py`` prints two tables; with ``--write`` they also go into docs/memory.md.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from pathlib import Path

import torch
from sklearn.datasets import load_digits

import pullback as pb
from pullback._tolerances import SMALL

PAGE = Path(__file__).parents[1] / "docs/memory.md"
START, END = "<!-- small: written by benchmarks/small.py -->", "<!-- end of small -->"
F = torch.nn.functional
Activation = Callable[[torch.Tensor], torch.Tensor]
TURNS: dict[str, tuple[Activation, float]] = {
    "silu": (lambda x: F.silu(x), -1.2784645),
    "gelu": (lambda x: F.gelu(x), -0.7517915),
    "gelu by tanh": (lambda x: F.gelu(x, approximate="tanh"), -0.7524614),
    "mish": (lambda x: F.mish(x), -1.1924312),
}
"""Each function, and where it turns."""


def hidden_bits(activation: Activation, size: int = 256) -> float:
    """What autograd keeps between two linear layers, in bits for each hidden element."""
    first, second, x = torch.nn.Linear(16, size), torch.nn.Linear(size, 16), torch.randn(64, 16)
    kept: dict[int, torch.Tensor] = {}
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.setdefault(t.untyped_storage().data_ptr(), t), id):
        second(activation(first(x)))
    own = {t.untyped_storage().data_ptr() for t in (x, *first.parameters(), *second.parameters())}
    return sum(8 * t.numel() * t.element_size() for at, t in kept.items() if at not in own) / (64 * size)


def digits() -> tuple[torch.Tensor, torch.Tensor]:
    """The handwritten digits of scikit-learn."""
    images, labels = load_digits(return_X_y=True)
    return torch.tensor(images, dtype=torch.float32) / 16, torch.tensor(labels)


def accuracy(activation: Activation, seed: int) -> float:
    """The percentage of unseen digits told right by a small network after training."""
    x, y = digits()
    torch.manual_seed(seed)
    first, second = torch.nn.Linear(64, 64), torch.nn.Linear(64, 10)
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], 0.01)
    for _ in range(60):
        optimizer.zero_grad()
        F.cross_entropy(second(activation(first(x[::2]))), y[::2]).backward()
        optimizer.step()
    return 100 * float((second(activation(first(x[1::2]))).argmax(1) == y[1::2]).float().mean())


def met(dtype: torch.dtype, turn: float) -> torch.Tensor:
    """All numbers of 16 bits; of float32 all near the turning point, where the error is largest, and some elsewhere."""
    if dtype == torch.float32:
        start = torch.tensor(turn).view(torch.int32)
        return torch.cat(
            [torch.arange(start - 50_000, start + 50_000).int().view(dtype), torch.linspace(-12, 12, 100_001)]
        )
    numbers = torch.arange(-(2**15), 2**15, dtype=torch.int16).view(dtype)
    return numbers[numbers.abs() <= 1e4]


def slope(activation: Activation, x: torch.Tensor) -> torch.Tensor:
    given = x.detach().requires_grad_()
    return torch.autograd.grad(activation(given).sum(), given)[0].double()


def errors(activation: Activation, turn: float, dtype: torch.dtype) -> tuple[float, float]:
    """The slope's largest error, and the least that any way of reading it off the output and the side can have."""
    x = met(dtype, turn)
    small, right = pb.function(keep="small")(activation), slope(activation, x.double())
    groups = torch.stack([activation(x).double(), (x >= turn).double()], 1)
    _, group = torch.unique(groups, dim=0, return_inverse=True)
    ends = [
        torch.zeros(len(x), dtype=torch.float64).scatter_reduce(0, group, right, f"a{m}", include_self=False)
        for m in ("min", "max")
    ]
    return float((slope(small, x) - right).abs().max()), float((ends[1] - ends[0]).max() / 2)


def lines(seeds: int) -> list[str]:
    """Both tables as Markdown."""
    found = [
        "| activation | hidden bits | with `small` | digits told right | with `small` |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, (activation, _) in TURNS.items():
        both = activation, pb.function(keep="small")(activation)
        bits = [f"{hidden_bits(fn):.0f}" for fn in both]
        told = [f"{statistics.mean(accuracy(fn, seed) for seed in range(seeds)):.2f} %" for fn in both]
        found.append(f"| `{name}` | {bits[0]} | {bits[1]} | {told[0]} | {told[1]} |")
    names = [str(dtype).removeprefix("torch.") for dtype in SMALL]
    found += [
        "",
        f"| error of the slope | {' | '.join(f'{n} | at best' for n in names)} |",
        f"|---|{'---:|' * 2 * len(names)}",
    ]
    for name, (activation, turn) in TURNS.items():
        cells = [f"{value:.1e}" for dtype in SMALL for value in errors(activation, turn, dtype)]
        found.append(f"| `{name}` | {' | '.join(cells)} |")
    return [*found, f"| budget | {' | '.join(f'{budget:.0e} | ' for budget in SMALL.values())}|"]


def section(table: list[str], seeds: int) -> str:
    """The part of the page that this script writes."""
    intro = f"""What is kept between two linear layers, and what a network of 64 hidden units tells of one half of
scikit-learn's digits after training on the other, in the mean of {seeds} runs; then the slope's largest error over all
numbers of 16 bits and those of float32 near the turning point, beside the least that any way of reading it off the
output and one bit can have. Written by `python benchmarks/small.py --write`."""
    return "\n".join([START, "", intro, "", *table, "", END])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/memory.md")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    table = lines(options.seeds)
    print("\n".join(table))
    if options.write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
        PAGE.write_text(before + section(table, options.seeds) + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
