"""The stacks: one table of the ways to run a differentiable function, for the tests, the checker and the docs."""

from pullback.check.stacks import compiled, eager, func, recorded, tensors
from pullback.check.stacks.table import GIVES, STACKS, Setting, Stack, expected

__all__ = ["GIVES", "STACKS", "Setting", "Stack", "compiled", "eager", "expected", "func", "recorded", "tensors"]
