"""Show the kernels that are kept on disk, or remove them."""

from __future__ import annotations

import argparse
import time


def main(argv: list[str]) -> int:
    """Run the command; always 0."""
    parser = argparse.ArgumentParser(
        prog="pullback cache",
        description="Show the compiled kernels that are kept on disk for the next process, or remove them.",
        epilog="They lie in $PULLBACK_CACHE_DIR, else in a folder for you alone in your platform's cache. Removing\n"
        "them is always safe: what is needed again is compiled again.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--clear", action="store_true", help="remove all of them")
    parser.add_argument("--build", action="store_true", help="build the node in C++ now, once for a version of PyTorch")
    options = parser.parse_args(argv)
    if options.build:
        print(built())
    print(cleared() if options.clear else shown())
    return 0


def built() -> str:
    """Whether the node in C++ is there now."""
    from pullback.kernels import native

    if not native.wanted():
        return "the node in C++ is off: PULLBACK_NODE=0, or a platform without it"
    return "the node in C++ is ready" if native.wait() else "the node in C++ could not be built; kernels do without it"


def shown() -> str:
    """Where the kernels lie, how many there are, and how large."""
    from pullback.kernels import cache

    found = cache.entries()
    lines = [f"{cache.directory()}: {len(found)} kernels, {sum(size for _, size, _ in found):,} bytes"]
    for name, size, used in sorted(found, key=lambda entry: -entry[2]):
        lines.append(
            f"  {name[:12]}  {size:>9,} bytes  last used {time.strftime('%Y-%m-%d %H:%M', time.localtime(used))}"
        )
    return "\n".join(lines)


def cleared() -> str:
    """What was removed."""
    from pullback.kernels import cache

    return f"{cache.directory()}: {cache.clear()} kernels removed"
