"""Squaring: the gradient 2·x·g needs the input, so the input is kept. At x = [1, 2, 3] it is [2, 4, 6].

The classic form saves in forward and fetches in backward, by position. In pullback the rule names `x`, and that is
all: what is named is kept. The second derivative is right as well, and so is the gradient under `torch.func`.
"""

import torch

import pullback as pb

# ---- the classic form


class Square(torch.autograd.Function):
    """x²."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


# ---- the same with pullback


@pb.function
def square(x):
    """x²."""
    return x * x


@square.grad("x")
def _(g, x):
    return 2 * x * g


# ---- what they do


def gradient(op) -> list[float]:
    """The gradient at [1, 2, 3]."""
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    op(x).sum().backward()
    return x.grad.tolist()


def second_derivative(op) -> list[float]:
    """The second derivative at [1, 2, 3]."""
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (first,) = torch.autograd.grad(op(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    return second.tolist()


def jacobian(op) -> list[list[float]]:
    """The Jacobian at [1, 2, 3] by `torch.func`, which the old classic form cannot serve."""
    return torch.func.jacrev(op)(torch.tensor([1.0, 2.0, 3.0])).tolist()


def main() -> None:
    """Print all of it."""
    print("x² at [1, 2, 3]")
    for name, op in {"classic": Square.apply, "pullback": square}.items():
        print(f"  {name:10}gradient {gradient(op)}   second derivative {second_derivative(op)}")
    print(f"  pullback  Jacobian {jacobian(square)}")
    try:
        jacobian(Square.apply)
    except RuntimeError:
        print("  classic   no Jacobian: torch.func needs setup_context and vmap written by hand")


if __name__ == "__main__":
    main()
