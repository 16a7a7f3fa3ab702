"""What each stack does with a differentiable function: uses its rule, drops it silently, or refuses.

A rule that is the derivative can be dropped without a trace in the numbers. So that it shows, the rule is first made
to give itself away: its gradients are multiplied by a number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch

from pullback.check import compare, state
from pullback.check.stacks.table import Setting, Stack, expected

RIGHT, SAME, DROPS = "right", "drops the rule, same values here", "drops the rule"
OTHER, REFUSES, NOT_RUN, NO_WAY = "another gradient", "refuses", "not run", "nobody can"
Found = Sequence[torch.Tensor | None]
Marking = Callable[[], AbstractContextManager[Any]]


@dataclass(frozen=True)
class Verdict:
    """What one stack does: one of the words above, and why it refuses or was not run.

    Where PyTorch leaves no way, for plain code neither, the word is that nobody can.
    """

    word: str
    why: str = ""

    def __str__(self) -> str:
        return f"{self.word}: {self.why}" if self.why else self.word


def survey(
    stacks: Iterable[Stack], setting: Setting, plain: Setting | None = None, marking: Marking | None = None
) -> dict[str, Verdict]:
    """A verdict for each stack.

    Args:
        stacks: Which.
        setting: The function, and what it is called on.
        plain: The same for its forward without the rule, where there is one.
        marking: A context in which the rule gives itself away; None where it cannot be made to.
    """
    return {s.name: _Judge(s, setting, plain, marking)() for s in stacks}


@dataclass(frozen=True)
class _Judge:
    stack: Stack
    setting: Setting
    plain: Setting | None
    marking: Marking | None

    def __call__(self) -> Verdict:
        reason = self.stack.missing() or ("of real tensors only" if self._is_complex() else "")
        if reason:
            return Verdict(NOT_RUN, reason)
        shows = self._experiment(self.marking) if self.marking else None
        if shows is True:
            return Verdict(RIGHT)
        found = self._experiment(nullcontext)
        if isinstance(found, Verdict):
            return found
        if found:  # where the marked rule raises, the mark is at fault
            return Verdict(SAME if shows is False else RIGHT)
        return Verdict(DROPS if self._is_plain() else OTHER)

    def _experiment(self, around: Marking) -> bool | Verdict:
        """Whether the stack gives what eager gives; why not, where one of them raises."""
        with around():
            try:
                right = expected(self.setting, self.stack.gives)
            except Exception as error:  # whatever the author's code raises is a result of the experiment
                return Verdict(NOT_RUN, f"eager has nothing to compare with: {_short(error)}")
            try:
                state.seed()
                return compare.all_same(list(self.stack.run(self.setting)), right, "single")
            except Exception as error:
                loud = self.stack.expectation() == "loud"
                return Verdict(NO_WAY, self.stack.why) if loud else Verdict(REFUSES, _short(error))

    def _is_complex(self) -> bool:
        return self.stack.real and any(t.is_complex() for t in self.setting.tensors)

    def _is_plain(self) -> bool:
        """Whether the stack gives what autograd gives for the forward alone."""
        if self.plain is None:
            return False
        try:
            without = expected(self.plain, self.stack.gives)
            return compare.all_same(list(self.stack.run(self.setting)), without, "single")
        except Exception:  # the forward alone may be out of autograd's reach
            return False


def _short(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:120]}" if lines else type(error).__name__
