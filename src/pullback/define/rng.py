"""The state of PyTorch's random generators: whether a forward used them, and running it again with the same numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from pullback._torch import TorchDispatchMode
from pullback.errors import StackError


class RandomState:
    """The state of the CPU's generator, and of those of the devices that ``tensors`` are on, at one moment."""

    def __init__(self, tensors: Sequence[torch.Tensor]) -> None:
        self.cpu = torch.default_generator.get_state()
        devices = sorted({t.device.index for t in tensors if t.device.type == "cuda"})
        self.cuda = {index: torch.cuda.get_rng_state(index) for index in devices}

    def moved(self) -> bool:
        """Whether a generator has been used since."""
        return not torch.equal(self.cpu, torch.default_generator.get_state()) or any(
            not torch.equal(state, torch.cuda.get_rng_state(index)) for index, state in self.cuda.items()
        )

    @contextmanager
    def replay(self) -> Iterator[None]:
        """Give the same random numbers again; the generators continue undisturbed afterwards."""
        with torch.random.fork_rng(devices=list(self.cuda)):
            torch.default_generator.set_state(self.cpu)
            for index, state in self.cuda.items():
                torch.cuda.set_rng_state(state, index)
            yield


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
