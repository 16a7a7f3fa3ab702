"""The state of random generators: whether a forward used them, and running it again with the same numbers."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import torch

from pullback._torch import TorchDispatchMode, dispatch_modes, outside_modes
from pullback.errors import StackError


class RandomState:
    """The state, at one moment, of Python's and the CPU's generators, and of those that ``values`` bring along.

    Args:
        values: The values of a call: of the tensors the devices count, and every ``torch.Generator``.
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self.python = random.getstate()
        self.cpu = torch.default_generator.get_state()
        self.own = [(g, g.get_state()) for g in values if isinstance(g, torch.Generator)]
        tensors = [v for v in values if isinstance(v, torch.Tensor)]
        devices = sorted({t.device.index for t in tensors if t.device.type == "cuda"})
        self.cuda = {index: torch.cuda.get_rng_state(index) for index in devices}

    def moved(self) -> bool:
        """Whether a generator has been used since."""
        now = [(self.cpu, torch.default_generator.get_state())]
        now += [(state, g.get_state()) for g, state in self.own]
        now += [(state, torch.cuda.get_rng_state(index)) for index, state in self.cuda.items()]
        with outside_modes() if dispatch_modes() else nullcontext():  # these are real, whatever is not around it
            return any(not torch.equal(a, b) for a, b in now) or self.python != random.getstate()

    @contextmanager
    def replay(self) -> Iterator[None]:
        """Give the same random numbers again; the generators continue undisturbed afterwards."""
        python, own = random.getstate(), [(g, g.get_state()) for g, _ in self.own]
        try:
            with torch.random.fork_rng(devices=list(self.cuda)):
                self._restore()
                yield
        finally:
            random.setstate(python)
            for generator, state in own:
                generator.set_state(state)

    def _restore(self) -> None:
        random.setstate(self.python)
        torch.default_generator.set_state(self.cpu)
        for generator, state in self.own:
            generator.set_state(state)
        for index, state in self.cuda.items():
            torch.cuda.set_rng_state(state, index)


class no_random(TorchDispatchMode):  # noqa: N801 - used as a context manager, like torch.no_grad
    """Refuse random numbers: in a traced graph they cannot be drawn a second time as they were."""

    def __init__(self, who: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.who = who

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Let the operation through unless it draws random numbers."""
        if torch.Tag.nondeterministic_seeded in func.tags:
            raise StackError(
                self.who,
                "a gradient derived by a rerun of forward needs the same random numbers; a graph cannot repeat them",
                f"{func} under torch.compile or export",
                "keep what was drawn with pb.keep and attach rules, or draw outside and pass it as an argument",
            )
        return func(*args, **(kwargs or {}))
