"""A network that solves a differential equation, u″ + π² u = 0: its loss is made of second derivatives.

With u(0) = 0 and u′(0) = π the solution is sin(πx). The loss differentiates the network twice, and training a third
time, so that every activation needs three right derivatives: relu has none, the rules of `pb.nn.Tanh` and
`pb.nn.Snake` are differentiated like any formula.
"""

import math

import shared
import torch
from torch import nn

import pullback as pb

WIDTH = 32


def network(activation: nn.Module) -> nn.Sequential:
    """Two hidden layers."""
    torch.manual_seed(0)
    first, second, last = nn.Linear(1, WIDTH), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 1)
    return nn.Sequential(first, activation, second, activation, last)


def derivatives(model: nn.Module, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The network's value and its first two derivatives, still differentiable."""
    x = x.detach().requires_grad_()
    u = model(x)
    (first,) = torch.autograd.grad(u.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
    return u, first, second


def loss_of(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """How far the equation and its two conditions are from holding."""
    u, first, second = derivatives(model, x)
    inside = (second / math.pi**2 + u).square().mean()
    return inside + u[0].square().sum() + (first[0] / math.pi - 1).square().sum()


def main(count: int = 600) -> None:
    """Solve it with three activations and draw the solutions into oscillator.png."""
    x = torch.linspace(0, 2, 81)[:, None]
    figure, (losses, solutions) = shared.axes(1, 2)
    runs = {}
    solutions.plot(x, torch.sin(math.pi * x), color=shared.GREY, linewidth=4, alpha=0.4, label="sin(πx)")
    kinds = {"nn.ReLU": nn.ReLU(), "pb.nn.Tanh": pb.nn.Tanh(), "pb.nn.Snake": pb.nn.Snake(WIDTH)}
    for (name, activation), color in zip(kinds.items(), (shared.BLUE, shared.ORANGE, shared.GREEN)):
        model = network(activation)
        runs[name], _ = shared.train(model, lambda step, model=model: loss_of(model, x), count, name, 4e-3)
        error = (model(x) - torch.sin(math.pi * x)).abs().max().item()
        print(f"{name:12} loss {runs[name][0]:.3f} → {runs[name][-1]:.1e}   off by {error:.3f} at most")
        solutions.plot(x, model(x).detach(), color=color, linestyle="--", label=name)
    shared.draw_runs(losses, runs, "u″ + π²u = 0")
    losses.set_yscale("log")
    solutions.set(title="solutions", xlabel="x", ylim=(-1.3, 2.0))  # with room for the legend
    solutions.legend(loc="upper center", ncols=2)
    figure.savefig("oscillator.png")


if __name__ == "__main__":
    main()
