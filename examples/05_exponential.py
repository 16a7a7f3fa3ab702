"""The exponential is its own derivative, so only the output is kept: exp(x)·g.

Keeping the output costs nothing where it is alive anyway, as the input of the next layer. In pullback a rule that
names `out`, and not `x`, says exactly that.
"""

import math

import torch

import pullback as pb

# ---- the classic form


class Exponential(torch.autograd.Function):
    """exp(x)."""

    @staticmethod
    def forward(ctx, x):
        out = torch.exp(x)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, grad_output):
        (out,) = ctx.saved_tensors
        return out * grad_output


# ---- the same with pullback


@pb.function
def exponential(x):
    """exp(x)."""
    return torch.exp(x)


@exponential.grad("x")
def _(g, out):
    return out * g


# ---- what they do


def gradient(op) -> list[float]:
    """The gradient at [0, log 2, log 3]."""
    x = torch.tensor([0.0, math.log(2), math.log(3)], requires_grad=True)
    op(x).sum().backward()
    return x.grad.tolist()


def kept(op) -> list[str]:
    """What waits for backward: 'input', 'output'."""
    x = torch.zeros(3, requires_grad=True)
    y = op(x)
    saved = [tensor for tensor in y.grad_fn.saved_tensors if tensor is not None]
    names = {x.data_ptr(): "input", y.data_ptr(): "output"}
    return [names[tensor.data_ptr()] for tensor in saved]


def main() -> None:
    """Print all of it."""
    print("exp(x) at [0, log 2, log 3]")
    for name, op in {"classic": Exponential.apply, "pullback": exponential}.items():
        print(f"  {name:10}gradient {[round(v, 4) for v in gradient(op)]}   keeps {', '.join(kept(op))}")


if __name__ == "__main__":
    main()
