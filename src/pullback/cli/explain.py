"""Print the page of a fault: what it is, why it matters, what to write instead; of a prefix such as PB2, a list."""

from __future__ import annotations

import argparse
import sys

from pullback_lint import cli
from pullback_lint.catalogue import UnknownFaultError


def main(argv: list[str]) -> int:
    """Print one page, or a list, or say what comes near.

    Args:
        argv: A code such as `PB201`, a name such as `missing-grad-output`, or what codes begin with, such as `PB2`.
    """
    parser = argparse.ArgumentParser("pullback explain", description=__doc__)
    parser.add_argument(
        "fault",
        metavar="CODE",
        help="a code such as PB201, a name such as missing-grad-output, or a prefix such as PB2",
    )
    try:
        return cli.explain(parser.parse_args(argv).fault)
    except UnknownFaultError as error:
        print(f"pullback explain: {error}", file=sys.stderr)
        return 2
