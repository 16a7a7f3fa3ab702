"""Function or Module? A Function computes and has no memory; a Module owns the parameters that it is called with.

The same activation, x where it is positive and slope·x elsewhere, as a Function, and as a Module with a Parameter. Only
the Module stands in `nn.Sequential`, moves with `.to(…)`, appears in `parameters()`, and is saved by `state_dict`.
"""

import io

import torch
from torch import nn

import pullback as pb

# ---- the classic form


class LeakyFunction(torch.autograd.Function):
    """The value x where x > 0, else slope·x."""

    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x, slope)
        return torch.where(x > 0, x, slope * x)

    @staticmethod
    def backward(ctx, grad_output):
        x, slope = ctx.saved_tensors
        for_x = torch.where(x > 0, grad_output, slope * grad_output)
        for_slope = torch.where(x > 0, 0, x * grad_output).sum()
        return for_x, for_slope


class ClassicLeaky(nn.Module):
    """The classic Function as a layer."""

    def __init__(self, slope: float = 0.25) -> None:
        super().__init__()
        self.slope = nn.Parameter(torch.tensor(slope))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return LeakyFunction.apply(x, self.slope)


# ---- the same with pullback


@pb.function
def leaky(x, slope):
    """The value x where x > 0, else slope·x."""
    return torch.where(x > 0, x, slope * x)


@leaky.grad("x")
def _(g, x, slope):
    return torch.where(x > 0, g, slope * g)


@leaky.grad("slope")
def _(g, x):
    return torch.where(x > 0, 0, x * g)


class Leaky(nn.Module):
    """The Function as a layer that owns its slope."""

    def __init__(self, slope: float = 0.25) -> None:
        super().__init__()
        self.slope = nn.Parameter(torch.tensor(slope))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return leaky(x, self.slope)


# ---- what they do


def as_function(op) -> tuple[list[float], list[float], float]:
    """Values at [-2, 3] with slope 0.25; the gradients of x and slope."""
    x, slope = torch.tensor([-2.0, 3.0], requires_grad=True), torch.tensor(0.25, requires_grad=True)
    y = op(x, slope)
    y.sum().backward()
    return y.tolist(), x.grad.tolist(), slope.grad.item()


def as_module(layer: type[nn.Module]) -> tuple[list[float], list[float], float]:
    """The same through the layer, which has the slope."""
    x, module = torch.tensor([-2.0, 3.0], requires_grad=True), layer()
    y = module(x)
    y.sum().backward()
    return y.tolist(), x.grad.tolist(), module.slope.grad.item()


def network(layer: type[nn.Module]) -> nn.Sequential:
    """Two linear layers with the activation in between."""
    return nn.Sequential(nn.Linear(2, 4), layer(), nn.Linear(4, 1))


def names_and_slope_after_training(layer: type[nn.Module]) -> tuple[list[str], bool]:
    """The names in state_dict, and whether one step of training moves the slope."""
    torch.manual_seed(0)
    net = network(layer)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    net(torch.tensor([[1.0, -1.0], [-1.0, 1.0]])).square().sum().backward()
    optimizer.step()
    return list(net.state_dict()), net[1].slope.item() != 0.25


def round_trip(layer: type[nn.Module]) -> bool:
    """Whether a network saved and loaded into another gives the same outputs, bit for bit."""
    torch.manual_seed(0)
    first, second = network(layer), network(layer)
    with torch.no_grad():
        first[1].slope.fill_(0.5)
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    file.seek(0)
    second.load_state_dict(torch.load(file))
    x = torch.randn(8, 2)
    return torch.equal(first(x), second(x)) and second[1].slope.item() == 0.5


def main() -> None:
    """Print all of it."""
    for name, op, layer in (("classic", LeakyFunction.apply, ClassicLeaky), ("pullback", leaky, Leaky)):
        print(name)
        for kind, (y, dx, dslope) in (("Function", as_function(op)), ("Module", as_module(layer))):
            print(f"  {kind:10}value {y}   gradient of x {dx}   of slope {dslope}")
        names, moved = names_and_slope_after_training(layer)
        print(f"  in nn.Sequential: {', '.join(names)}; training moves the slope: {moved}")
        print(f"  state_dict saved and loaded gives the same outputs: {round_trip(layer)}")


if __name__ == "__main__":
    main()
