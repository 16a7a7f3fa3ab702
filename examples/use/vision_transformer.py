"""A small vision transformer on digits: ``pb.nn.replace(model)`` puts accurate activations in place of PyTorch's.

The transformer is timm's where timm is installed, else one of the same size that is written here. The losses stay the
same, as does what is kept; a step takes a little longer, as float32 is computed in float64. Training may magnify the
last digit: how far, a third run says, PyTorch's own with weights off by 1e-7. In bfloat16 the difference shows: the
gradient of PyTorch's approximate gelu is NaN on a quarter of all inputs, and off by a hundred units in the last place
on others.
"""

import copy
import functools

import shared
import torch
from torch import nn
from torch.nn import functional as F

import pullback as pb

WIDTH, LAYERS, HEADS, BATCH = 48, 3, 4, 64


class Block(nn.Module):
    """Attention, and a network of two layers with gelu."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU("tanh"), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n = self.norm1(x)
        x = x + self.attention(n, n, n, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class Transformer(nn.Module):
    """Patches of 2×2 pixels, blocks, and ten logits from the mean, where there is no timm."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(1, WIDTH, 2, stride=2)
        self.place = nn.Parameter(0.02 * torch.randn(16, WIDTH))
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.head = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 10))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        tokens = self.patches(x).flatten(2).mT + self.place
        return self.head(self.blocks(tokens).mean(1))


def transformer() -> nn.Module:
    """Timm's vision transformer for images of 8×8 pixels, or the one above."""
    try:
        from timm.models import VisionTransformer
    except ImportError:
        return Transformer()
    gelu = functools.partial(nn.GELU, approximate="tanh")
    sizes = {"embed_dim": WIDTH, "depth": LAYERS, "num_heads": HEADS, "act_layer": gelu}
    return VisionTransformer(8, 2, in_chans=1, num_classes=10, **sizes)


def models() -> dict[str, nn.Module]:
    """The same model, with its activations replaced, and with weights off by 1e-7."""
    torch.manual_seed(0)
    plain = transformer()
    nudged = copy.deepcopy(plain)
    with torch.no_grad():
        torch._foreach_mul_(list(nudged.parameters()), 1 + 1e-7)
    return {"torch.nn": plain, "pullback": pb.nn.replace(copy.deepcopy(plain)), "nudged": nudged}


def loss_of(model: nn.Module, x: torch.Tensor, y: torch.Tensor, step: int) -> torch.Tensor:
    """The cross-entropy of one batch, the same for the same step."""
    batch = torch.randint(len(x), (BATCH,), generator=torch.Generator().manual_seed(step))
    return F.cross_entropy(model(images(x[batch])), y[batch])


def images(x: torch.Tensor) -> torch.Tensor:
    """Rows of 64 numbers as images of one channel."""
    return x.reshape(-1, 1, 8, 8)


def not_finite(activation: nn.Module) -> int:
    """For how many of all numbers of bfloat16 the gradient is not finite."""
    x = torch.arange(-(1 << 15), 1 << 15).to(torch.int16).view(torch.bfloat16)
    x = x[torch.isfinite(x)].requires_grad_()
    (gradient,) = torch.autograd.grad(activation(x).sum(), x)
    return int((~torch.isfinite(gradient)).sum())


def main(count: int = 250) -> None:
    """Train them and draw their losses into vision_transformer.png."""
    x, y, test_x, test_y = shared.digits()
    both = models()
    sizes = {name: shared.kept(lambda model=model: loss_of(model, x, y, 0)) for name, model in both.items()}
    runs, seconds = shared.side_by_side(both, lambda model, step: loss_of(model, x, y, step), count)
    for name, losses in runs.items():
        right = shared.accuracy(both[name], images(test_x), test_y)
        cost = f"{1000 * seconds[name]:5.1f} ms a step   kept {sizes[name]:.1f} MB"
        print(f"{name:9} loss {losses[0]:.3f} → {losses[-1]:.3f}   right {100 * right:.1f} %   {cost}")
    for name in ("pullback", "nudged"):
        off = max(abs(a - b) for a, b in zip(runs["torch.nn"], runs[name]))
        print(f"{name:9} losses differ from torch.nn's by {off:.1e} at most")
    for name, activation in {"torch.nn": nn.GELU("tanh"), "pullback": pb.nn.GELU("tanh")}.items():
        print(f"{name:9} gradients of gelu that are not finite, of 65280 numbers of bfloat16: {not_finite(activation)}")
    figure, (axis,) = shared.axes(1, 1)
    shared.draw_runs(axis, runs, "vision transformer")
    figure.savefig("vision_transformer.png")


if __name__ == "__main__":
    main()
