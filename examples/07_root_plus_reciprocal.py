"""Square root plus reciprocal, √x + 1/x: a formula of two terms, differentiated by hand.

The gradient is 0.5/√x − 1/x²; at x = [4, 9, 16] that is [0.1875, 0.154321, 0.12109375].
"""

import torch

import pullback as pb

# ---- the classic form


class RootPlusReciprocal(torch.autograd.Function):
    """√x + 1/x."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sqrt() + 1 / x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return (0.5 / x.sqrt() - 1 / x**2) * grad_output


# ---- the same with pullback


@pb.function
def root_plus_reciprocal(x):
    """√x + 1/x."""
    return x.sqrt() + 1 / x


@root_plus_reciprocal.grad("x")
def _(g, x):
    return (0.5 / x.sqrt() - 1 / x**2) * g


# ---- what they do


def value_and_gradient(op) -> tuple[list[float], list[float]]:
    """The values and the gradient at [4, 9, 16]."""
    x = torch.tensor([4.0, 9.0, 16.0], requires_grad=True)
    y = op(x)
    y.sum().backward()
    return y.tolist(), x.grad.tolist()


def main() -> None:
    """Print all of it."""
    print("√x + 1/x at [4, 9, 16]")
    for name, op in {"classic": RootPlusReciprocal.apply, "pullback": root_plus_reciprocal}.items():
        value, gradient = value_and_gradient(op)
        print(f"  {name:10}value {[round(v, 6) for v in value]}   gradient {[round(v, 8) for v in gradient]}")


if __name__ == "__main__":
    main()
