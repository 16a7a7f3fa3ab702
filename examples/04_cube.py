"""Cubing: keep the input. At x = [1, 2, 3] the gradient 3·x² is [3, 12, 27].

A published version keeps the *output* and then writes 3·saved² as if it were the input: [3, 192, 2187]. At x = 1, where
input and output agree, nobody notices. pullback has no positions to mix up: a rule says `x` or `out`.
"""

import torch

import pullback as pb

# ---- the classic form


class Cube(torch.autograd.Function):
    """x³."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * grad_output


class WrongKeepsOutput(torch.autograd.Function):
    """WRONG: the output is saved, and then used as if it were the input."""

    @staticmethod
    def forward(ctx, x):
        y = x**3
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (saved,) = ctx.saved_tensors
        return 3 * saved**2 * grad_output


# ---- the same with pullback


@pb.function
def cube(x):
    """x³."""
    return x**3


@cube.grad("x")
def _(g, x):
    return 3 * x**2 * g


# ---- what they do


def gradient(op) -> list[float]:
    """The gradient at [1, 2, 3]."""
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    op(x).sum().backward()
    return x.grad.tolist()


def main() -> None:
    """Print all of it."""
    print("gradient of x³ at [1, 2, 3]")
    for name, op in {"classic": Cube.apply, "pullback": cube, "WRONG, keeps output": WrongKeepsOutput.apply}.items():
        print(f"  {name:22}{gradient(op)}")


if __name__ == "__main__":
    main()
