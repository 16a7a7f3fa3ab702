"""The graph that backward walks: its root, its nodes with what each keeps, its leaves.

For loss = Σ exp(a·b)² with a and b of 1000 numbers each, built from the classic forms and with pullback. Every output
knows the node that made it (`grad_fn`), every node the nodes that its gradients go to (`next_functions`), down to
the leaves, where gradients are accumulated. What a node keeps for backward stays in memory until backward has run.
Two nodes may keep the same tensor: the output of exp is also the input of the sum of squares, and is there once.
"""

from collections.abc import Iterator

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
def exponential(x):
    """exp(x)."""
    return torch.exp(x)


@exponential.grad("x")
def _(g, out):
    return out * g


@pb.function
def sum_of_squares(x):
    """Σ x²."""
    return (x * x).sum()


@sum_of_squares.grad("x")
def _(g, x):
    return 2 * x * g


# ---- walking


def nodes(root) -> list:
    """Every node once, the root first, each before the nodes that its gradients go to."""
    found = [root]
    for node in found:
        found += [following for following, _ in node.next_functions if following and following not in found]
    return found


def is_leaf(node) -> bool:
    """Whether a node accumulates the gradient of a leaf; it then has that leaf as `variable`."""
    return hasattr(node, "variable")


def kept(node) -> dict[int, int]:
    """What a node keeps for backward: bytes by address, so that a tensor kept twice counts once."""
    if hasattr(node, "saved_tensors"):  # a Function, classic or not
        saved = node.saved_tensors
    else:  # one of PyTorch's own: its attributes `_saved_…`
        saved = [getattr(node, name) for name in dir(node) if name.startswith("_saved_")]
    return {tensor.data_ptr(): tensor.nbytes for tensor in saved if isinstance(tensor, torch.Tensor)}


def drawing(node, names: dict[torch.Tensor, str], drawn: set) -> Iterator[str]:
    """The lines of a picture of a node and, below it, of where its gradients go."""
    if is_leaf(node):
        yield f"leaf {names[node.variable]}"
        return
    yield f"{node.name()}   keeps {sum(kept(node).values())} bytes{', drawn above' if node in drawn else ''}"
    following = [n for n, _ in node.next_functions if n and node not in drawn]
    drawn.add(node)
    for i, child in enumerate(following):
        branch, bar = ("├─ ", "│  ") if i < len(following) - 1 else ("└─ ", "   ")
        first, *rest = drawing(child, names, drawn)
        yield branch + first
        yield from (bar + line for line in rest)


# ---- what they do


def expression(exp, total) -> tuple[torch.Tensor, dict[torch.Tensor, str]]:
    """The loss and the names of its leaves."""
    a = torch.linspace(-1, 1, 1000, requires_grad=True)
    b = torch.full((1000,), 0.5, requires_grad=True)
    return total(exp(a * b)), {a: "a", b: "b"}


def facts(exp, total) -> dict[str, object]:
    """Root, leaves, bytes by node, and bytes in all, counting each tensor once."""
    loss, names = expression(exp, total)
    found = nodes(loss.grad_fn)
    inner = [node for node in found if not is_leaf(node)]
    shared = {address: size for node in inner for address, size in kept(node).items()}
    return {
        "root": loss.grad_fn.name(),
        "leaves": sorted(names[node.variable] for node in found if is_leaf(node)),
        "kept": {node.name(): sum(kept(node).values()) for node in inner},
        "in all": sum(shared.values()),
    }


def main() -> None:
    """Print all of it."""
    for name, ops in {
        "classic": (Exponential.apply, SumOfSquares.apply),
        "pullback": (exponential, sum_of_squares),
        "plain PyTorch": (torch.exp, lambda x: (x * x).sum()),
    }.items():
        print(f"{name}: loss = Σ exp(a·b)²")
        loss, leaves = expression(*ops)
        print(*(f"  {line}" for line in drawing(loss.grad_fn, leaves, set())), sep="\n")
        found = facts(*ops)
        print(f"  root {found['root']}; leaves {', '.join(found['leaves'])}; kept in all {found['in all']} bytes\n")


if __name__ == "__main__":
    main()
