"""A wrong gradient, and the means to find out why: replaying backward with one thing changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from pullback.check import case, compare
from pullback.check.case import Case
from pullback.check.reference import Reference
from pullback.check.samples import Sample


@dataclass(frozen=True)
class Cause:
    """A fault's name, why it happens and what to change."""

    name: str
    cause: str
    fix: str = ""


@dataclass(frozen=True)
class Trouble:
    """A wrong gradient: which leaf, and all samples."""

    case: Case
    reference: Reference
    leaf: int
    samples: list[Sample]
    wrong: list[Sample]
    declared: bool = False

    @property
    def name(self) -> str:
        """The argument's name."""
        return self.case.arguments.diff_names[self.leaf]

    @property
    def g(self) -> str:
        """What the author calls the incoming gradient."""
        return self.case.target.incoming

    def got(self, sample: Sample) -> torch.Tensor | None:
        """What the target gives for the leaf."""
        return sample.got[self.leaf]

    def expected(self, sample: Sample) -> torch.Tensor | None:
        """What it should give."""
        return sample.expected[self.leaf]

    def same(self, a: torch.Tensor | None, b: torch.Tensor | None) -> bool:
        """Whether two gradients agree as far as the reference deserves."""
        return compare.same(a, b, self.reference.level)

    def mimics(self, candidate: Callable[[Sample], torch.Tensor | None]) -> bool:
        """Whether ``candidate`` gives exactly what the target gives, in every sample that is wrong."""
        return self._everywhere(candidate, self.got)

    def mends(self, candidate: Callable[[Sample], torch.Tensor | None]) -> bool:
        """Whether ``candidate`` gives the right gradient in every sample that is wrong."""
        return self._everywhere(candidate, self.expected)

    def _everywhere(
        self, candidate: Callable[[Sample], torch.Tensor | None], goal: Callable[[Sample], torch.Tensor | None]
    ) -> bool:
        try:
            return all(self._hits(candidate(sample), goal(sample)) for sample in self.wrong)
        except Exception:  # the hypothesis cannot even be tried
            return False

    def _hits(self, a: torch.Tensor | None, b: torch.Tensor | None) -> bool:
        return a is not None and b is not None and self.same(a, b)

    def replay(self, sample: Sample, **change: Any) -> torch.Tensor | None:
        """Backward called by hand, with something changed."""
        incoming = change.pop("incoming", sample.incoming)
        return self.case.replay(sample.arguments, filled(sample, incoming), **change)[self.leaf]


def filled(sample: Sample, incoming: Any) -> list[torch.Tensor | None]:
    """The incoming gradients with zeros for outputs that have none."""
    return case.filled(sample.outputs, incoming)
