"""Doubling: the smallest function with a gradient. At x = [1, 2, 3] it is [2, 2, 2].

Nothing has to be kept for backward, because the gradient does not depend on x. pullback keeps what a rule names: here
nothing. Without any rule, the gradient is derived from the forward.
"""

import torch

import pullback as pb

# ---- the classic form


class Double(torch.autograd.Function):
    """2·x."""

    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output


# ---- the same with pullback


@pb.function
def double(x):
    """2·x."""
    return 2 * x


@double.grad("x")
def _(g):
    return 2 * g


@pb.function
def double_derived(x):
    """2·x, with no rule: the gradient is derived."""
    return 2 * x


# ---- what they do


def gradient(op) -> list[float]:
    """The gradient at [1, 2, 3]."""
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    op(x).sum().backward()
    return x.grad.tolist()


def kept(op) -> int:
    """How many tensors wait for backward."""
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    return sum(tensor is not None for tensor in op(x).grad_fn.saved_tensors)


def main() -> None:
    """Print all of it."""
    print("gradient of 2·x at [1, 2, 3]")
    for name, op in {"classic": Double.apply, "pullback": double, "pullback, no rule": double_derived}.items():
        print(f"  {name:20}{gradient(op)}   tensors kept: {kept(op)}")


if __name__ == "__main__":
    main()
