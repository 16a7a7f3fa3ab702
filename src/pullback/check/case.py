"""One target with one set of arguments: how experiments are run, and the facts that probes share."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from pullback.check import context, state, tree
from pullback.check.arguments import Arguments
from pullback.check.target import Target


@dataclass
class Outcome:
    """What came of one call and its backward pass."""

    outputs: list[torch.Tensor] = field(default_factory=list)
    grads: list[torch.Tensor | None] = field(default_factory=list)
    raw: list[tuple[Any, ...]] = field(default_factory=list)
    result: Any = None
    passed: tuple[Any, ...] = ()
    error: Exception | None = None
    stage: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing was raised."""
        return self.error is None


Cotangents = Sequence[torch.Tensor | None]


def cotangents(outputs: Sequence[torch.Tensor], seed: int = 0, scale: float = 1.0) -> list[torch.Tensor | None]:
    """Random incoming gradients of both signs, one per output that can take one; never ones, never near zero."""
    return [
        scale * drawn(out.shape, out.dtype, 1234 + seed + 1009 * index) if tree.is_differentiable(out) else None
        for index, out in enumerate(outputs)
    ]


def drawn(shape: torch.Size, dtype: torch.dtype, seed: int) -> torch.Tensor:
    """Random numbers between 0.5 and 1.5 of both signs, or of any phase; the caller's own."""
    return (_drawn if shape.numel() <= REMEMBERED else _drawn.__wrapped__)(shape, dtype, seed).clone()


REMEMBERED = 2**16  # elements up to which random numbers are kept for the next time


@functools.lru_cache(maxsize=128)
def _drawn(shape: torch.Size, dtype: torch.dtype, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    size = torch.rand(shape, generator=generator, dtype=torch.float64) + 0.5
    if dtype.is_complex:
        angle = torch.rand(shape, generator=generator, dtype=torch.float64) * 6.28
        return torch.polar(size, angle).to(dtype)
    sign = torch.randint(0, 2, shape, generator=generator).to(torch.float64) * 2 - 1
    return (size * sign).to(dtype)


class Case:
    """A target with arguments; runs experiments and remembers shared facts.

    Args:
        target: What is checked.
        given: The arguments as they were given.
        arguments: The same in float64 where the target accepts that.
        intended: A differentiable function whose gradient the target is meant to have.
        reference: A differentiable function with the target's true values and gradient.
    """

    def __init__(
        self,
        target: Target,
        given: Arguments,
        arguments: Arguments,
        intended: Callable[..., Any] | None = None,
        reference: Callable[..., Any] | None = None,
        evaluations: int | None = None,
    ) -> None:
        self.target, self.given, self.arguments = target, given, arguments
        self.intended, self.given_reference, self.evaluations = intended, reference, evaluations
        self.facts: dict[str, Any] = {}
        self.started = time.perf_counter()

    def run(
        self,
        arguments: Arguments | None = None,
        incoming: Cotangents | Callable[[list[torch.Tensor]], Cotangents] | None = None,
        apply: Callable[..., Any] | None = None,
        backward: bool = True,
        spy: bool = True,
    ) -> Outcome:
        """Call the target on fresh copies, then its backward pass with ``incoming`` (random by default)."""
        outcome = Outcome()
        arguments = arguments or self.arguments
        state.seed()
        leaves, passed = arguments.fresh()
        outcome.passed = passed
        with self.spying(outcome.raw) if spy else contextlib.nullcontext():
            try:
                outcome.stage = "forward"
                outcome.result = (apply or self.target.apply)(*passed)
                outcome.outputs = tree.tensors(outcome.result)
                outcome.stage = "backward"
                if backward:
                    outcome.grads = pull(outcome.outputs, leaves, incoming)
            except Exception as error:  # whatever the author's code raises is a result of the experiment
                outcome.error = error
        return outcome

    def rows(self, arguments: Arguments, many: Sequence[Cotangents]) -> list[list[torch.Tensor | None]]:
        """The gradients for many incoming gradients from one forward."""
        state.seed()
        leaves, passed = arguments.fresh()
        outputs = tree.tensors(self.target.apply(*passed))
        return [pull(outputs, leaves, incoming, retain_graph=True) for incoming in many]

    @contextlib.contextmanager
    def spying(self, raw: list[tuple[Any, ...]]) -> Iterator[None]:
        """Note what the class's own backward receives and returns."""
        cls = self.target.function
        if cls is None or self.target.backward is None:
            yield
            return
        with replaced_backward(cls, _spy(self.target.backward, raw)):
            yield

    @functools.cached_property
    def base(self) -> Outcome:
        """The plain experiment from which the others start."""
        return self.run()

    @functools.cached_property
    def is_random(self) -> bool:
        """Whether forward draws random numbers: another seed gives other values."""
        before = torch.get_rng_state()
        state.seed(4321)
        with torch.no_grad():
            other = tree.tensors(self.target.apply(*self.arguments.constant()))
        torch.set_rng_state(before)
        pairs = zip(self.base.outputs, other, strict=True)
        return any(a.shape != b.shape or not torch.equal(a.detach(), b) for a, b in pairs if not a.isnan().any())

    def replay(
        self,
        arguments: Arguments,
        incoming: Cotangents,
        change: Callable[[torch.Tensor], torch.Tensor] | None = None,
        rng: str = "after",
        under: contextlib.AbstractContextManager[Any] | None = None,
    ) -> list[torch.Tensor | None]:
        """The gradients that backward gives with a stand-in context, with everything kept passed through ``change``.

        ``under`` is entered around backward alone.

        Raises:
            LookupError: If the backward cannot be called by hand.
        """
        if self.target.backward is None or self.target.plain is None:
            raise LookupError("no backward to call")
        state.seed()
        ctx = context.Context(arguments.needs())
        with torch.no_grad():
            self.target.plain(ctx, *arguments.constant())
            if rng == "before":
                state.seed()
            kept = context.replaying(ctx, change) if change else ctx
            with under or contextlib.nullcontext():
                grads = self.target.backward(kept, *[None if g is None else g.clone() for g in incoming])
        return self._by_leaf(arguments, grads)

    def _by_leaf(self, arguments: Arguments, grads: Any) -> list[torch.Tensor | None]:
        slots = grads if isinstance(grads, (tuple, list)) else (grads,)
        found = []
        for leaf in arguments.diff:
            position = arguments.position(leaf)
            grad = slots[position] if position < len(slots) else None
            found.append(dense(grad) if isinstance(grad, torch.Tensor) else None)
        return found

    def values(self, arguments: Arguments) -> list[torch.Tensor]:
        """The forward's floating outputs without gradients."""
        state.seed()
        with torch.no_grad():
            outputs = tree.tensors(self.target.apply(*arguments.constant()))
        return [out.detach().clone() for out in outputs if tree.is_differentiable(out)]


def pull(
    outputs: Sequence[torch.Tensor],
    leaves: Sequence[torch.Tensor],
    incoming: Cotangents | Callable[[list[torch.Tensor]], Cotangents] | None = None,
    **options: Any,
) -> list[torch.Tensor | None]:
    """Gradients of the leaves; None where the graph does not reach."""
    chosen = cotangents(outputs) if incoming is None else incoming(list(outputs)) if callable(incoming) else incoming
    pairs = [(o, c) for o, c in zip(outputs, chosen, strict=True) if o.requires_grad and c is not None]
    if not pairs:
        return [None] * len(leaves)
    grads = torch.autograd.grad(
        [o for o, _ in pairs], list(leaves), [c for _, c in pairs], allow_unused=True, **options
    )
    return [dense(grad) for grad in grads]


def filled(outputs: Sequence[torch.Tensor], incoming: Cotangents) -> list[torch.Tensor | None]:
    """Incoming gradients with zeros for outputs that have none."""
    return [
        torch.zeros_like(out) if g is None and tree.is_differentiable(out) else g
        for out, g in zip(outputs, incoming, strict=True)
    ]


def dense(grad: torch.Tensor | None) -> torch.Tensor | None:
    """A sparse gradient written out."""
    return grad.to_dense() if grad is not None and grad.layout is not torch.strided else grad


def _spy(backward: Callable[..., Any], raw: list[tuple[Any, ...]]) -> Callable[..., Any]:
    def spy(ctx: Any, *incoming: Any) -> Any:
        result = backward(ctx, *incoming)
        raw.append(tuple(result) if isinstance(result, (tuple, list)) else (result,))
        return result

    return spy


@contextlib.contextmanager
def replaced_backward(cls: type, backward: Callable[..., Any]) -> Iterator[None]:
    """Let a class have another backward for a while."""
    name = "vjp" if "vjp" in vars(cls) and "backward" not in vars(cls) else "backward"
    before = vars(cls).get(name)
    setattr(cls, name, staticmethod(backward))
    try:
        yield
    finally:
        if before is None:
            delattr(cls, name)
        else:
            setattr(cls, name, before)
