"""``python -m pullback`` is the ``pullback`` command."""

import sys

from pullback.cli import main

if __name__ == "__main__":
    sys.exit(main())
