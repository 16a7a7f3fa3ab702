"""What a stack is: a way of running a differentiable function that gives something to compare with plain eager."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import torch

Tensors = Sequence[torch.Tensor]
First = Callable[["Setting", Tensors], Tensors]


@dataclass(frozen=True)
class Setting:
    """A differentiable function with what it is called on.

    Attributes:
        fn: Takes the tensors and returns a tensor or a tuple of them.
        tensors: All floating-point arguments, detached.
        cotangents: One for each output; ``None`` for an integer or boolean one.
        directions: One for each tensor: what second derivatives and tangents are contracted with.
    """

    fn: Callable[..., Any]
    tensors: tuple[torch.Tensor, ...]
    cotangents: tuple[torch.Tensor | None, ...]
    directions: tuple[torch.Tensor, ...]

    def leaves(self) -> list[torch.Tensor]:
        """Fresh copies of the tensors that require a gradient."""
        return [t.detach().clone().requires_grad_() for t in self.tensors]

    def every(self) -> tuple[int, ...]:
        """The positions of all tensors."""
        return tuple(range(len(self.tensors)))

    def loss_of(self, fn: Callable[..., Any]) -> Callable[..., torch.Tensor]:
        """The real loss of ``fn`` whose gradient at the outputs is the cotangents."""
        cotangents = self.cotangents

        def loss(*tensors: torch.Tensor) -> torch.Tensor:
            return contracted(outputs(fn(*tensors)), cotangents)

        return loss

    @property
    def loss(self) -> Callable[..., torch.Tensor]:
        """The loss of the function itself."""
        return self.loss_of(self.fn)


@dataclass(frozen=True)
class Stack:
    """One way of running a function.

    Attributes:
        name: What people call it.
        group: The heading it stands under.
        run: Gives for a setting what ``gives`` says; raises where the stack refuses.
        gives: A key of `GIVES`.
        newest: What a pullback Function gets on the newest PyTorch: ``"right"`` or ``"loud"``.
        floor: The same on the oldest supported one.
        why: Where it is loud: what PyTorch leaves no way for, and what to do instead.
        needs: What it cannot run without: a GPU, or packages ("one and other").
        real: Whether it can be had for real tensors only.
        cost: Whether it runs a compiler (``"compiler"``) or starts processes (``"processes"``).
    """

    name: str
    group: str
    run: Callable[[Setting], Sequence[torch.Tensor | None]]
    gives: str = "gradient"
    newest: str = "right"
    floor: str = "right"
    why: str = ""
    needs: str = ""
    real: bool = False
    cost: str = ""

    def expectation(self) -> str:
        """What a pullback Function gets on the PyTorch that is running."""
        return self.floor if torch.__version__.startswith(FLOOR) else self.newest

    def missing(self) -> str:
        """What it needs and this machine does not have; empty where it can run."""
        if self.needs == GPU:
            return "" if torch.cuda.is_available() else f"needs {GPU}"
        packages = self.needs.split(" and ") if self.needs else []
        return "" if all(map(find_spec, packages)) else f"needs {self.needs}"


FLOOR, NEWEST, GPU = "2.9", "2.13", "a GPU"
STACKS: dict[str, Stack] = {}


def stack(name: str, group: str, **options: Any) -> Callable[[Any], Any]:
    """A decorator that enters a way of running into the table."""

    def enter(run: Any) -> Any:
        STACKS[name] = Stack(name, group, run, **options)
        return run

    return enter


# ---- what stacks give, and what plain eager gives for it


def outputs(result: Any) -> tuple[torch.Tensor, ...]:
    """A function's result as a tuple of tensors."""
    return (result,) if isinstance(result, torch.Tensor) else tuple(result)


def contracted(tensors: Sequence[Any], weights: Sequence[Any]) -> torch.Tensor:
    """The real inner product; ``None`` is zero."""
    products = [(t * w.conj()).real.sum() for t, w in zip(tensors, weights, strict=True) if t is not None is not w]
    return torch.stack(products).sum()


def pulled(value: torch.Tensor, tensors: Tensors, **options: Any) -> list[torch.Tensor]:
    """The gradient of a number, with zeros where there is none."""
    if not value.requires_grad:
        return [torch.zeros_like(t) for t in tensors]
    found = torch.autograd.grad(value, list(tensors), allow_unused=True, **options)
    return [torch.zeros_like(t) if g is None else g for t, g in zip(tensors, found, strict=True)]


def eager_first(setting: Setting, tensors: Tensors) -> Tensors:
    """The gradient by plain eager autograd, to be differentiated again."""
    return pulled(setting.loss(*tensors), tensors, create_graph=True)


def expected(setting: Setting, gives: str, first: First = eager_first) -> list[torch.Tensor]:
    """What a stack that gives ``gives`` has to give, when ``first`` is the gradient."""
    return GIVES[gives](setting, first)


def _values(setting: Setting, first: First) -> list[torch.Tensor]:
    with torch.no_grad():
        return list(outputs(setting.fn(*setting.tensors)))


def _gradient(setting: Setting, first: First, order: int = 1) -> list[torch.Tensor]:
    leaves = setting.leaves()
    found = first(setting, leaves)
    for _ in range(order - 1):
        found = pulled(contracted(found, setting.directions), leaves, create_graph=True)
    return [g.detach() for g in found]


def _summed(setting: Setting, first: First) -> list[torch.Tensor]:
    pairs = zip(setting.tensors, _gradient(setting, first), strict=True)
    return [torch.stack([g for t, g in pairs if t is setting.tensors[0]]).sum(0)]


def _along(setting: Setting, first: First, order: int = 1) -> list[torch.Tensor]:
    found = _gradient(setting, first, order)
    return [contracted([g], [d]) for g, d in zip(found, setting.directions, strict=True)]


GIVES: dict[str, Callable[[Setting, First], list[torch.Tensor]]] = {
    "values": _values,
    "shapes": lambda s, first: [torch.zeros_like(g) for g in _gradient(s, first)],  # zeros like the gradients
    "gradient": _gradient,
    "summed gradient": lambda s, first: _summed(same(s), first),
    "tangent": _along,  # of the loss, along each direction
    "second": lambda s, first: _gradient(s, first, 2),  # the gradient of the gradient along the directions
    "second tangent": lambda s, first: _along(s, first, 2),
    "third": lambda s, first: _gradient(s, first, 3),
}


def same(setting: Setting) -> Setting:
    """The setting with the first tensor in the place of all that are like it."""
    x = setting.tensors[0]
    like = [x if t.shape == x.shape and t.dtype == x.dtype else t for t in setting.tensors]
    return Setting(setting.fn, tuple(like), setting.cotangents, setting.directions)
