"""The sum of squares: many numbers in, one out. The gradient is 2·x: [2, 4, 6] at x = [1, 2, 3].

The cotangent of a scalar output is a scalar; multiplied by x it takes the shape of x.
"""

import torch

import pullback as pb

# ---- the classic form


class SumOfSquares(torch.autograd.Function):
    """Σ x²."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x * x).sum()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


# ---- the same with pullback


@pb.function
def sum_of_squares(x):
    """Σ x²."""
    return (x * x).sum()


@sum_of_squares.grad("x")
def _(g, x):
    return 2 * x * g


# ---- what they do


def value_and_gradient(op) -> tuple[float, list[float]]:
    """The value and the gradient at [1, 2, 3]."""
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = op(x)
    y.backward()
    return y.item(), x.grad.tolist()


def main() -> None:
    """Print all of it."""
    print("Σ x² at [1, 2, 3]")
    for name, op in {"classic": SumOfSquares.apply, "pullback": sum_of_squares}.items():
        value, gradient = value_and_gradient(op)
        print(f"  {name:10}value {value}   gradient {gradient}")


if __name__ == "__main__":
    main()
