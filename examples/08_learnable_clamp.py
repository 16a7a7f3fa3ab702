"""A clamp whose thresholds are learned: clamp(x, low, high) · scale, with hyperparameter scale.

The gradients, for a cotangent g: x gets g·scale inside the range and 0 outside; low gets Σ g·scale where it decides the
output (x < low, and low ≤ high); high gets Σ g·scale where max(x, low) > high. The conditions on both thresholds
matter when training makes them cross: then the output is high everywhere, so only high may have a gradient.

A published version returns the constant 0.1 for both thresholds, passes the gradient through outside the range, and
uses a name in backward that does not exist there. It fails at once; with the name mended it trains to nonsense.

Plain PyTorch differentiates this clamp by itself. (It differs in one point: where low = high, it gives low nothing, so
that a range that has closed cannot open downwards.) What a Function adds: two masks wait for backward instead of the
input, two bytes an element instead of four in float32 or eight in float64, and two bits would do; one node in the graph
instead of two; and gradients that are written down, where they can be read and checked.
"""

import torch
from torch import nn

import pullback as pb

# ---- the classic form


class LearnableClampFunction(torch.autograd.Function):
    """clamp(x, low, high) · scale."""

    @staticmethod
    def forward(ctx, x, low, high, scale):
        below = (x < low) & (low <= high)
        above = torch.maximum(x, low) > high
        ctx.save_for_backward(below, above)
        ctx.scale = scale
        return torch.clamp(x, low, high) * scale

    @staticmethod
    def backward(ctx, grad_output):
        below, above = ctx.saved_tensors
        g = grad_output * ctx.scale
        return g * ~(below | above), (g * below).sum(), (g * above).sum(), None


class WrongAsPublished(torch.autograd.Function):
    """WRONG: `scale` does not exist in backward, and what is returned has nothing to do with the clamp."""

    @staticmethod
    def forward(ctx, x, low, high, scale):
        return torch.clamp(x, low, high) * scale

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * scale, torch.tensor(0.1), torch.tensor(0.1), None  # noqa: F821 - the published mistake


class WrongNameMended(WrongAsPublished):
    """WRONG: the same with the name mended. Both thresholds get 0.1, and x its gradient outside the range, too."""

    @staticmethod
    def forward(ctx, x, low, high, scale):
        ctx.scale = scale
        return torch.clamp(x, low, high) * scale

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.scale, torch.tensor(0.1), torch.tensor(0.1), None


class WrongWhenCrossed(LearnableClampFunction):
    """WRONG: right as long as low ≤ high, and stuck for ever afterwards."""

    @staticmethod
    def forward(ctx, x, low, high, scale):
        ctx.save_for_backward(x < low, x > high)
        ctx.scale = scale
        return torch.clamp(x, low, high) * scale


# ---- the same with pullback


@pb.function
def learnable_clamp(x, low, high, scale=1.0):
    """clamp(x, low, high) · scale."""
    below = (x < low) & (low <= high)
    above = torch.maximum(x, low) > high
    return pb.keep(torch.clamp(x, low, high) * scale, below=below, above=above)


@learnable_clamp.grad("x")
def _(g, below, above, scale):
    return g * scale * ~(below | above)


@learnable_clamp.grad("low")
def _(g, below, scale):
    return g * scale * below  # summed down to the shape of low by pullback


@learnable_clamp.grad("high")
def _(g, above, scale):
    return g * scale * above


class LearnableClamp(nn.Module):
    """The clamp as a layer that owns its thresholds."""

    def __init__(self, low: float = -150.0, high: float = 150.0, scale: float = 1.0) -> None:
        super().__init__()
        self.low = nn.Parameter(torch.tensor(low))
        self.high = nn.Parameter(torch.tensor(high))
        self.scale = scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return learnable_clamp(x, self.low, self.high, self.scale)


# ---- what they do


def plain(x, low, high, scale):
    """Plain PyTorch, as the reference."""
    return torch.clamp(x, low, high) * scale


def gradients(op, low: float, high: float, scale: float = 2.0) -> dict[str, list[float] | float]:
    """The values at x = [-2, 0, 2], and the gradients of their sum."""
    x = torch.tensor([-2.0, 0.0, 2.0], requires_grad=True)
    a, b = (torch.tensor(v, requires_grad=True) for v in (low, high))
    y = op(x, a, b, scale)
    y.sum().backward()
    return {"y": y.tolist(), "dx": x.grad.tolist(), "dlow": a.grad.item(), "dhigh": b.grad.item()}


def layer_gradients() -> dict[str, list[float] | float]:
    """The same through the layer, whose thresholds are its parameters."""
    x, layer = torch.tensor([-2.0, 0.0, 2.0], requires_grad=True), LearnableClamp(-1.0, 1.0, scale=2.0)
    y = layer(x)
    y.sum().backward()
    return {"y": y.tolist(), "dx": x.grad.tolist(), "dlow": layer.low.grad.item(), "dhigh": layer.high.grad.item()}


def trained(op, steps: int = 100) -> tuple[float, float, float]:
    """Thresholds and loss after training from [-3, 3] to imitate a clamp to [-1, 1]."""
    x = torch.linspace(-4, 4, 81)
    low, high = (torch.tensor(v, requires_grad=True) for v in (-3.0, 3.0))
    optimizer = torch.optim.SGD([low, high], lr=0.5)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (op(x, low, high, 1.0) - x.clamp(-1, 1)).square().mean()
        loss.backward()
        optimizer.step()
    return low.item(), high.item(), loss.item()


def trained_across(op, steps: int = 40) -> float:
    """The output for x = -1 after training it towards 3; the thresholds, 0 and 1 at first, overtake each other."""
    x, low, high = torch.tensor(-1.0), *(torch.tensor(v, requires_grad=True) for v in (0.0, 1.0))
    optimizer = torch.optim.SGD([low, high], lr=0.25)
    for _ in range(steps):
        optimizer.zero_grad()
        (op(x, low, high, 1.0) - 3).square().backward()
        optimizer.step()
    return op(x, low, high, 1.0).item()


def published_error() -> str:
    """What the published version does first."""
    try:
        gradients(WrongAsPublished.apply, -1.0, 1.0)
    except NameError as error:
        return f"NameError: {error}"
    return "nothing"


def kept_bytes(op, elements: int = 1000) -> int:
    """How many bytes per element of x wait for backward, the two thresholds aside."""
    sizes: list[int] = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        sizes.append(tensor.nbytes if tensor.dim() else 0)
        return tensor

    x = torch.zeros(elements, requires_grad=True)
    low, high = (torch.tensor(v, requires_grad=True) for v in (-1.0, 1.0))
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        op(x, low, high, 2.0)
    return sum(sizes) // elements


def main() -> None:
    """Print all of it."""
    ops = {"plain PyTorch": plain, "classic": LearnableClampFunction.apply, "pullback": learnable_clamp}
    print("clamp(x, low, high)·2 at x = [-2, 0, 2], gradients of the sum")
    for low, high, what in ((-1.0, 1.0, ""), (1.0, -1.0, ", crossed"), (1.0, 1.0, ", closed")):
        print(f"  low = {low}, high = {high}{what}")
        for name, op in {**ops, "WRONG, mended": WrongNameMended.apply}.items():
            found = gradients(op, low, high)
            print("    {:16}  y {}  dx {}  dlow {:.1f}  dhigh {:.1f}".format(name, *found.values()))

    print("\nthe same from LearnableClamp(-1, 1, scale=2), a layer; by default it has thresholds of -150 and 150")
    print("    {:16}  y {}  dx {}  dlow {:.1f}  dhigh {:.1f}".format("nn.Module", *layer_gradients().values()))

    print("\ntrained from [-3, 3] to imitate a clamp to [-1, 1]")
    print(f"    {'WRONG, as published':26}{published_error()}")
    for name, op in {**ops, "WRONG, name mended": WrongNameMended.apply}.items():
        low, high, loss = trained(op)
        print(f"    {name:26}[{low:7.3f}, {high:6.3f}]   loss {loss:.3f}")

    print("\ntrained to 3 from an input below both thresholds, which overtake each other on the way")
    for name, op in {**ops, "WRONG when crossed": WrongWhenCrossed.apply}.items():
        print(f"    {name:26}{trained_across(op):.3f}")

    print("\nbytes per float32 element of x that wait for backward")
    for name, op in ops.items():
        print(f"    {name:26}{kept_bytes(op)}")
    x, low, high = torch.zeros(1000), torch.tensor(-1.0), torch.tensor(1.0)
    print("what learnable_clamp.describe(x, low, high) says of them")
    print(*(f"    {kept}" for kept in learnable_clamp.describe(x, low, high).kept), sep="\n")


if __name__ == "__main__":
    main()
