"""Every exception a user of pullback can meet.

One class per kind of mistake. Each message has four parts, always in this order: *who* (the Function and, where
there is one, the rule with its file and line), what was *required*, what was *got*, and what to *do*.
"""

from __future__ import annotations


class PullbackError(Exception):
    """Base of all errors raised by pullback.

    Args:
        who: The Function, rule or file that the mistake is in, in the caller's names.
        required: What had to hold.
        got: What arrived instead; omitted from the text when empty.
        do: What to change; omitted from the text when empty.
    """

    def __init__(self, who: str, required: str, got: str = "", do: str = "") -> None:
        self.who, self.required, self.got, self.do = who, required, got, do
        lines = [f"{who}: {required}"]
        lines += [f"  got: {got}"] if got else []
        lines += [f"  do:  {do}"] if do else []
        super().__init__("\n".join(lines))

    def __reduce__(self) -> tuple[type[PullbackError], tuple[str, str, str, str]]:
        return type(self), (self.who, self.required, self.got, self.do)


class DefinitionError(PullbackError, TypeError):
    """A Function or a rule is declared in a way that cannot work."""


class RuleResultError(PullbackError, RuntimeError):
    """A rule returned the wrong number of results, or a wrong shape, dtype kind, device or type."""


class ForwardResultError(PullbackError, TypeError):
    """A forward returned something that cannot be the result of a Function."""


class MissingRuleError(PullbackError, RuntimeError):
    """An argument requires a gradient and nothing says what its gradient is."""


class CapturedTensorError(PullbackError, RuntimeError):
    """A forward uses a tensor that needs a gradient without being given it; it would silently get none."""


class MutationError(PullbackError, RuntimeError):
    """A forward or a rule changed something in place that it does not own."""


class DoubleBackwardError(PullbackError, RuntimeError):
    """A second derivative was asked for that cannot be right."""


class ForwardModeError(PullbackError, RuntimeError):
    """Forward mode was asked for and cannot be had from the reverse rules."""


class StackError(PullbackError, RuntimeError):
    """PyTorch leaves no way to keep this Function's gradient in the stack it is called in."""


class GradientMismatchError(PullbackError, RuntimeError):
    """A rule differs from the derivative of the forward and does not say that it means to."""


class UsageError(PullbackError, ValueError):
    """A function of pullback was called with arguments that it cannot take."""


class TraceError(PullbackError, RuntimeError):
    """What a function computes cannot be read off: it branches on data, is random, or runs opaque code."""


class KernelError(PullbackError, RuntimeError):
    """A kernel was required, by ``PULLBACK_FUSE=require``, for a call that none can serve."""


class KeptError(PullbackError, AssertionError):
    """A function keeps more for backward than it may."""
