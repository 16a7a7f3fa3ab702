"""A gradient of your own: the values of 2·x, but a gradient of 3 instead of 2.

The gradient that a function hands on is its own factor times the *cotangent*: the gradient of everything that follows
its output. Leaving the cotangent out is the commonest published mistake. It shows nothing in the simplest test, where
the cotangent is 1, and it breaks training: the gradient is then 3 whatever follows, even the sign is lost.
"""

from collections.abc import Callable

import torch

import pullback as pb

# ---- the classic form


class CustomGradient(torch.autograd.Function):
    """Forward 2·x, gradient 3 times the cotangent."""

    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad_output):
        return 3 * grad_output


class WrongForgetsCotangent(torch.autograd.Function):
    """WRONG: the gradient is 3, whatever follows the output."""

    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad_output):
        return torch.full_like(grad_output, 3.0)


# ---- the same with pullback


@pb.function
def custom_gradient(x):
    """2·x, with a gradient of 3 times the cotangent."""
    return 2 * x


@custom_gradient.grad("x", surrogate=True)  # it is meant to differ: checks do not compare it
def _(g):
    return 3 * g


# ---- what they do

Op = Callable[[torch.Tensor], torch.Tensor]


def gradient(op: Op, outer: Op = lambda y: y) -> float:
    """The gradient of z = outer(op(x)) at x = 1."""
    x = torch.tensor(1.0, requires_grad=True)
    outer(op(x)).backward()
    return x.grad.item()


def trained(op: Op, steps: int = 20) -> float:
    """Where x = 1 gets to when 2·x is trained towards 4; the answer is x = 2."""
    x = torch.tensor(1.0, requires_grad=True)
    for _ in range(steps):
        (slope,) = torch.autograd.grad((op(x) - 4).square(), x)
        with torch.no_grad():
            x -= 0.05 * slope
    return x.item()


def refusal() -> str:
    """What pullback says to a rule that never reads its cotangent."""

    @pb.function
    def double(x):
        return 2 * x

    try:

        @double.grad("x")
        def _(g, x):
            return torch.full_like(x, 3.0)

    except pb.PullbackError as error:
        return f"{error.required}\n  got: {error.got}\n  do:  {error.do}"
    return "nothing"


def main() -> None:
    """Print all of it."""
    ops = {
        "classic": CustomGradient.apply,
        "pullback": custom_gradient,
        "WRONG, no cotangent": WrongForgetsCotangent.apply,
    }
    print(f"{'at x = 1, y = 2':24}{'dy/dx':>8}{'d(y²)/dx':>10}{'d(−y)/dx':>10}{'trained to 2':>14}")
    for name, op in ops.items():
        chained = gradient(op, lambda y: y**2), gradient(op, lambda y: -y)
        print(f"{name:24}{gradient(op):8.3f}{chained[0]:10.3f}{chained[1]:10.3f}{trained(op):14.3f}")
    print(f"\npullback does not let the mistake through. A rule\n  {refusal()}")


if __name__ == "__main__":
    main()
