"""The formats of a report: one module each, with `render(report) -> str`."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from pullback_lint.report import Report

FORMATS = {
    "text": "text",
    "json": "json_",
    "sarif": "sarif",
    "junit": "junit",
    "html": "html_",
    "github": "github",
}
"""The names of the formats, with their modules."""


def renderer(name: str) -> Callable[[Report], str]:
    """The function that renders a report in a format."""
    module = importlib.import_module(f"{__name__}.{FORMATS[name]}")
    render: Callable[[Report], str] = module.render
    return render
