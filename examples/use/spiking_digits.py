"""A spiking network on digits, whose surrogate gradients learn how wide they are.

Neurons leak, sum up and spike when they pass 1. A spike is a step, without a useful derivative; in backward it borrows
that of a smooth function, `pb.nn.SpikeArctan` here. Its width is a parameter like any other: one per neuron.
"""

import shared
import torch
from torch import nn
from torch.nn import functional as F

import pullback as pb

HIDDEN, TIMES, BATCH, DECAY = 64, 12, 64, 0.8


class Network(nn.Module):
    """Two layers of leaky neurons; the image is a constant current, and the output the mean potential."""

    def __init__(self, spike: nn.Module) -> None:
        super().__init__()
        self.inner, self.outer, self.spike = nn.Linear(64, HIDDEN), nn.Linear(HIDDEN, 10), spike

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        current, potential, total = self.inner(x), torch.zeros(len(x), HIDDEN), torch.zeros(len(x), 10)
        for _ in range(TIMES):
            potential = DECAY * potential + current
            spikes = self.spike(potential - 1)
            potential = potential - spikes  # what has spiked falls back
            total = total + self.outer(spikes)
        return total / TIMES


class Step(nn.Module):
    """The step alone: PyTorch gives it no gradient, so the first layer never learns."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x > 0).to(x.dtype)


def networks() -> dict[str, Network]:
    """The same network with three kinds of spike."""
    kinds = {
        "no surrogate": Step(),
        "width 1": pb.nn.SpikeArctan().requires_grad_(False),
        "learned": pb.nn.SpikeArctan(HIDDEN, channel_dim=-1),
    }
    return {name: seeded(spike) for name, spike in kinds.items()}


def seeded(spike: nn.Module) -> Network:
    """A network whose first weights are always the same."""
    torch.manual_seed(0)
    return Network(spike)


def loss_of(model: nn.Module, x: torch.Tensor, y: torch.Tensor, step: int) -> torch.Tensor:
    """The cross-entropy of one batch, the same for the same step."""
    batch = torch.randint(len(x), (BATCH,), generator=torch.Generator().manual_seed(step))
    return F.cross_entropy(model(x[batch]), y[batch])


def main(count: int = 300) -> None:
    """Train the three and draw losses and widths into spiking_digits.png."""
    x, y, test_x, test_y = shared.digits()
    runs, models = {}, networks()
    for name, model in models.items():
        runs[name], _ = shared.train(model, lambda step, model=model: loss_of(model, x, y, step), count, name, 5e-3)
        right = shared.accuracy(model, test_x, test_y)
        print(
            f"{name:13} loss {runs[name][0]:.3f} → {runs[name][-1]:.3f}   right {100 * right:.1f} % of the test images"
        )
    widths = models["learned"].spike.width.detach()
    print(f"the learned widths lie between {widths.min():.2f} and {widths.max():.2f}; all began at 1")
    figure, (losses, histogram) = shared.axes(1, 2)
    shared.draw_runs(losses, runs, "spiking network")
    histogram.hist(widths.tolist(), 24, color=shared.GREEN)
    histogram.axvline(1.0, color=shared.GREY, linestyle=":")
    histogram.set(title="widths of the surrogate, after training", xlabel="width", ylabel="neurons")
    figure.savefig("spiking_digits.png")


if __name__ == "__main__":
    main()
