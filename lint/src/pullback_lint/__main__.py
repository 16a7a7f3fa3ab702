"""`python -m pullback_lint`."""

import sys

from pullback_lint.cli import main

if __name__ == "__main__":
    sys.exit(main())
