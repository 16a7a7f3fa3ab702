"""A SIREN: a network of sines that becomes an image, and knows its derivatives.

From the coordinates of a pixel the network gives its brightness. With `pb.nn.Siren` it learns edges that the same
network with ReLU blurs; and as the derivative of a sine is a sine, its gradient is that of the image.
"""

import math

import shared
import torch
from torch import nn

import pullback as pb

SIZE, WIDTH, OMEGA = 64, 96, 30.0


def image() -> torch.Tensor:
    """A photograph that comes with scikit-learn, in grey, between -1 and 1."""
    from sklearn.datasets import load_sample_image

    grey = torch.tensor(load_sample_image("china.jpg")).float().mean(2)[:400, 120:520]
    small = nn.functional.interpolate(grey[None, None], (SIZE, SIZE), mode="area")[0, 0]
    return 2 * (small - small.min()) / (small.max() - small.min()) - 1


def coordinates() -> torch.Tensor:
    """The places of all pixels, between -1 and 1."""
    line = torch.linspace(-1, 1, SIZE)
    return torch.cartesian_prod(line, line)


def network(activation: type[nn.Module]) -> nn.Sequential:
    """Three hidden layers; for sines with the first weights of their authors."""
    torch.manual_seed(0)
    layers: list[nn.Module] = []
    for i, size in enumerate((2, WIDTH, WIDTH)):
        linear = nn.Linear(size, WIDTH)
        if activation is pb.nn.Siren:
            bound = 1 / size if i == 0 else math.sqrt(6 / size) / OMEGA
            nn.init.uniform_(linear.weight, -bound, bound)
        layers += [linear, activation()]
    return nn.Sequential(*layers, nn.Linear(WIDTH, 1))


def slopes(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """How fast the brightness changes at every place."""
    x = x.detach().requires_grad_()
    return torch.autograd.grad(model(x).sum(), x)[0].norm(dim=1)


def decibels(error: float) -> float:
    """The peak signal-to-noise ratio of a mean squared error, for values between -1 and 1."""
    return 10 * math.log10(4 / error)


def main(count: int = 300) -> None:
    """Fit the image twice and draw it into siren_image.png."""
    target, x = image(), coordinates()
    figure, places = shared.axes(1, 4)
    places[0].imshow(target.numpy(), cmap="gray")
    places[0].set_title("photograph")
    for place, (name, kind) in zip(places[1:], {"ReLU": nn.ReLU, "SIREN": pb.nn.Siren}.items()):
        model = network(kind)
        losses, seconds = shared.train(
            model, lambda _, model=model: (model(x)[:, 0] - target.flatten()).square().mean(), count, name, 1e-3
        )
        print(f"{name:6} {decibels(losses[-1]):.1f} dB   {1000 * seconds:.1f} ms a step")
        place.imshow(model(x).detach().reshape(SIZE, SIZE).numpy(), cmap="gray", vmin=-1, vmax=1)
        place.set_title(f"{name}, {decibels(losses[-1]):.1f} dB")
    places[3].imshow(slopes(model, x).reshape(SIZE, SIZE).numpy(), cmap="magma")
    places[3].set_title("gradient of the SIREN")
    for place in places:
        place.set_axis_off()
    figure.savefig("siren_image.png")


if __name__ == "__main__":
    main()
