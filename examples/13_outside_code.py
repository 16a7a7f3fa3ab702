"""Code outside PyTorch (NumPy, C, a solver): the real root y of y³ + y = x, whose gradient is g / (3y² + 1).

No tracer can look into such code, and `torch.func` has no data to hand to it. An *opaque* Function makes an operator
of its forward and of each rule: a step with a name, which graphs call and nobody looks into. Tracers ask its `fake`
what the result looks like. `torch.as_tensor` also takes the scalars that NumPy makes of arrays without dimensions.
"""

import numpy as np
import torch
from torch.fx.experimental.proxy_tensor import make_fx

import pullback as pb


def solve(x: np.ndarray) -> np.ndarray:
    """The real root of y³ + y = x, by Newton's steps."""
    y = np.cbrt(x)
    for _ in range(20):
        y = y - (y**3 + y - x) / (3 * y**2 + 1)
    return y


# ---- the classic form


class Root(torch.autograd.Function):
    """The real root of y³ + y = x."""

    @staticmethod
    def forward(ctx, x):
        y = torch.as_tensor(solve(x.numpy()))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return torch.as_tensor(grad_output.numpy() / (3 * y.numpy() ** 2 + 1))


# ---- the same with pullback


@pb.function(opaque="examples::root")
def root(x):
    """The real root of y³ + y = x."""
    return torch.as_tensor(solve(x.numpy()))


@root.fake
def _(x):
    return torch.empty_like(x)


@root.grad("x")
def _(g, out):
    return torch.as_tensor(g.numpy() / (3 * out.numpy() ** 2 + 1))


# ---- what they do


def gradient(op) -> tuple[list[float], list[float]]:
    """The roots for x = [0, 2, 10], and their gradient."""
    x = torch.tensor([0.0, 2.0, 10.0], requires_grad=True)
    y = op(x)
    y.sum().backward()
    return y.tolist(), x.grad.tolist()


def per_sample(op) -> list[float] | str:
    """The gradient of each sample alone, by `torch.func`; or why there is none."""
    try:
        return torch.vmap(torch.func.grad(op))(torch.tensor([0.0, 2.0, 10.0])).tolist()
    except RuntimeError as error:
        return f"{str(error)[:78]}…"


def steps(op) -> list[str]:
    """The steps of a graph of the gradient that stand for rules."""

    def pull(x, g):
        return torch.autograd.grad(op(x), x, g)[0]

    graph = make_fx(pull)(torch.ones(3, requires_grad=True), torch.ones(3)).graph
    return [str(node.target) for node in graph.nodes if "grad" in str(node.target)]


def compiled(op) -> list[float]:
    """The gradient from one whole graph of `torch.compile`."""
    return gradient(torch.compile(op, fullgraph=True, backend="aot_eager"))[1]


def second_derivative(op) -> str:
    """NumPy has no derivative of its own: what happens to one who asks for it."""
    x = torch.tensor(2.0, requires_grad=True)
    (first,) = torch.autograd.grad(op(x), x, create_graph=True)
    try:
        return str(torch.autograd.grad(first, x)[0].item())
    except RuntimeError as error:
        return type(error).__name__


def main() -> None:
    """Print all of it."""
    print("the real root of y³ + y = x at x = [0, 2, 10]")
    for name, op in {"classic": Root.apply, "pullback": root}.items():
        y, dx = gradient(op)
        print(f"  {name:10}{[round(v, 4) for v in y]}   gradient {[round(v, 4) for v in dx]}")
        found = per_sample(op)
        print(f"  {'':10}per sample: {found if isinstance(found, str) else [round(v, 4) for v in found]}")
    print(f"in a graph its rule is one step: {', '.join(steps(root))}")
    print(f"compiled as one graph: {[round(v, 4) for v in compiled(root)]}")
    print(f"a second derivative: {second_derivative(root)}")


if __name__ == "__main__":
    main()
