"""Training for 2 and 3 bits: weights and activations are rounded in every step, to multiples that are learnt (LSQ).

Rounding a trained network to so few bits costs it much. Trained on with `pb.nn.LSQ` in place, it gets that back.
"""

import copy

import shared
import torch
from torch import nn
from torch.nn import functional as F

import pullback as pb

HIDDEN, BATCH = 48, 64


class QuantizedLinear(nn.Module):
    """A linear layer whose weights, one step per row, and inputs are quantised."""

    def __init__(self, linear: nn.Linear, bits: int, signed: bool) -> None:
        super().__init__()
        half = 2 ** (bits - 1)
        self.linear = copy.deepcopy(linear)
        self.weights = pb.nn.LSQ(linear.out_features, low=-half, high=half - 1, channel_dim=0)
        low, high = (-half, half - 1) if signed else (0, 2 * half - 1)
        self.inputs = pb.nn.LSQ(low=low, high=high)
        self.weights.calibrate(linear.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.linear(self.inputs(x), self.weights(self.linear.weight), self.linear.bias)


def network() -> nn.Sequential:
    """Two layers, in float32."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 10))


def quantized(model: nn.Sequential, bits: int, x: torch.Tensor) -> nn.Sequential:
    """A copy of a network with all linear layers quantised, the steps taken from data."""
    new = pb.nn.replace(copy.deepcopy(model), nn.Linear, lambda old: QuantizedLinear(old, bits, signed=False))
    with torch.no_grad():
        new[0].inputs.calibrate(x)
        new[2].inputs.calibrate(new[1](new[0](x)))
    return new


def levels(layer: QuantizedLinear) -> int:
    """How many different values the quantised weights of one row have, at most."""
    rows = layer.weights(layer.linear.weight.detach()).unbind()
    return max(len(row.unique()) for row in rows)


def loss_of(model: nn.Module, x: torch.Tensor, y: torch.Tensor, step: int) -> torch.Tensor:
    """The cross-entropy of one batch, the same for the same step."""
    batch = torch.randint(len(x), (BATCH,), generator=torch.Generator().manual_seed(step))
    return F.cross_entropy(model(x[batch]), y[batch])


def main(count: int = 500) -> None:
    """Train, round, train again, and draw it into quantized_digits.png."""
    x, y, test_x, test_y = shared.digits()
    plain, runs, rows = network(), {}, []
    runs["float32"], _ = shared.train(plain, lambda step: loss_of(plain, x, y, step), count, "float32")
    print(f"float32   right {100 * shared.accuracy(plain, test_x, test_y):.1f} %")
    for bits in (3, 2):
        model = quantized(plain, bits, x[:256])
        before = shared.accuracy(model, test_x, test_y)
        name = f"{bits} bits"
        runs[name], _ = shared.train(model, lambda step, model=model: loss_of(model, x, y, step), count, name)
        rows.append((name, before, shared.accuracy(model, test_x, test_y)))
        print(
            f"{name:9} right {100 * before:.1f} % rounded, {100 * rows[-1][2]:.1f} % trained; {levels(model[2])} levels"
        )
    figure, (losses, bars) = shared.axes(1, 2)
    shared.draw_runs(losses, runs, "digits with quantised layers")
    for i, (_, before, after) in enumerate(rows):
        bars.bar([i - 0.2, i + 0.2], [100 * before, 100 * after], 0.36, color=[shared.GREY, shared.BLUE])
    bars.axhline(100 * shared.accuracy(plain, test_x, test_y), color=shared.ORANGE, linestyle="--")
    bars.set(title="right: rounded (grey), trained (blue), float32 (line)", ylabel="%")
    bars.set_xticks(range(len(rows)), [name for name, _, _ in rows])
    figure.savefig("quantized_digits.png")


if __name__ == "__main__":
    main()
