"""A reader of the output, such as head, that has seen enough."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

CLOSED = 141  # as a shell says it: 128 + SIGPIPE


def written(run: Callable[[], int]) -> int:
    """The exit status of a command whose output is written to its end, or that of one whose reader went away."""
    try:
        status = run()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes again at its end
        return CLOSED
    return status
