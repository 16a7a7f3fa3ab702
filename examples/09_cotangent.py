"""What the cotangent is, and what follows from it: five rules of the house, in the classic form and with pullback.

1. The cotangent has the shape of the output. For a scalar loss it starts as 1; any other output needs
   `backward(gradient=…)`.
2. An argument with `requires_grad=False` gets None. The classic form must ask `ctx.needs_input_grad` not to compute
   it all the same; pullback does not run the rule, nor keep what only that rule names.
3. A gradient that has more leading dimensions than its argument is summed over them.
4. A function that changes its input in place says so: `ctx.mark_dirty`, or `@pb.function(inplace="x")`.
5. An index has no gradient: `ctx.mark_non_differentiable`; in pullback, integer outputs have none by themselves.
"""

import torch

import pullback as pb

# ---- the classic form


class Product(torch.autograd.Function):
    """x · w, computing only what is needed."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w

    @staticmethod
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        for_x = grad_output * w if ctx.needs_input_grad[0] else None
        for_w = grad_output * x if ctx.needs_input_grad[1] else None
        return for_x, for_w


class DoubleInPlace(torch.autograd.Function):
    """2·x, in the memory of x."""

    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output


class Largest(torch.autograd.Function):
    """The largest element and its index."""

    @staticmethod
    def forward(ctx, x):
        value, index = x.max(0)
        ctx.mark_non_differentiable(index)
        ctx.save_for_backward(x, index)
        return value, index

    @staticmethod
    def backward(ctx, grad_value, grad_index):
        x, index = ctx.saved_tensors
        return torch.zeros_like(x).index_fill(0, index, 1) * grad_value


# ---- the same with pullback


@pb.function
def product(x, w):
    """The product x · w."""
    return x * w


@product.grad("x")
def _(g, w):
    return g * w


@product.grad("w")
def _(g, x):
    return g * x  # has the shape of g; summed down to the shape of w


@pb.function(inplace="x")
def double_(x):
    """2·x, in the memory of x."""
    return x.mul_(2)


@double_.grad("x")
def _(g):
    return 2 * g


@pb.function
def largest(x):
    """The largest element and its index."""
    value, index = x.max(0)
    return pb.keep((value, index), at=index)


@largest.grad("x")
def _(g, x, at):
    return torch.zeros_like(x).index_fill(0, at, 1) * g[0]  # g has the structure of the output


# ---- what they do


def needs_a_cotangent(op) -> str:
    """What PyTorch says to `backward()` on an output that is no scalar."""
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    try:
        op(x, torch.tensor(2.0)).backward()
    except RuntimeError as error:
        return str(error)
    return "nothing"


def with_cotangent(op) -> list[float]:
    """The gradient of 2·x for the cotangent [1, 10, 100]."""
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    op(x, torch.tensor(2.0)).backward(gradient=torch.tensor([1.0, 10.0, 100.0]))
    return x.grad.tolist()


def not_required(op) -> tuple[None, int]:
    """The gradient of w when w does not require one, and how many tensors were kept."""
    x, w = torch.ones(3, requires_grad=True), torch.tensor(2.0)
    y = op(x, w)
    kept = sum(tensor is not None for tensor in y.grad_fn.saved_tensors)
    y.sum().backward()
    return w.grad, kept


def broadcast(op) -> list[float]:
    """The gradient of w[3] when x is [4, 3], filled with 1, 2, 3."""
    x, w = torch.tensor([1.0, 2.0, 3.0]).expand(4, 3), torch.ones(3, requires_grad=True)
    op(x, w).sum().backward()
    return w.grad.tolist()


def in_place(op) -> tuple[bool, list[float], list[float]]:
    """Whether the output is the input itself; its value, and the gradient."""
    leaf = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x = leaf * 1  # a leaf that requires a gradient cannot be changed in place
    y = op(x)
    y.sum().backward()
    return y is x, x.tolist(), leaf.grad.tolist()


def with_index(op) -> tuple[float, int, bool, list[float]]:
    """Value, index, whether the index requires a gradient; the gradient at [3, 1, 2]."""
    x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
    value, index = op(x)
    value.backward()
    return value.item(), index.item(), index.requires_grad, x.grad.tolist()


def main() -> None:
    """Print all of it."""
    for name, (multiply, twice, most) in {
        "classic": (Product.apply, DoubleInPlace.apply, Largest.apply),
        "pullback": (product, double_, largest),
    }.items():
        print(name)
        print(f"  1. y.backward()                    {needs_a_cotangent(multiply)}")
        print(f"     y.backward([1, 10, 100])        {with_cotangent(multiply)}")
        gradient, kept = not_required(multiply)
        print(f"  2. w requires none: its gradient   {gradient}, tensors kept {kept}")
        print(f"  3. x[4, 3] · w[3], gradient of w   {broadcast(multiply)}")
        same, value, gradient = in_place(twice)
        print(f"  4. in place: same tensor {same}, value {value}, gradient {gradient}")
        largest_value, index, requires, gradient = with_index(most)
        print(f"  5. largest {largest_value} at {index} (requires grad: {requires}), gradient {gradient}")


if __name__ == "__main__":
    main()
