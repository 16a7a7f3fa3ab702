"""A switch for tests: what else becomes a log line and the eager way is raised."""

from __future__ import annotations

import os

VARIABLE = "PULLBACK_STRICT"


def reraise(error: BaseException) -> None:
    """Raise an error that nobody expects, where ``PULLBACK_STRICT=1``; elsewhere the eager rules serve."""
    if os.environ.get(VARIABLE) == "1":
        raise error
