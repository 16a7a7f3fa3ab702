"""Find mistakes in differentiable functions by reading them. Runs nothing of theirs."""

from __future__ import annotations

from pullback_lint import cli


def main(argv: list[str]) -> int:
    """Run `pullback-lint`.

    Args:
        argv: Its arguments.
    """
    return cli.main(argv)
