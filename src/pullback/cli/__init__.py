"""The command line: one file per command, found by existing."""

from __future__ import annotations

import importlib
import pkgutil
import sys

from pullback_lint.pipe import written

USAGE = """\
usage: pullback COMMAND [ARGUMENT ...]

commands:
{commands}

'pullback COMMAND --help' tells more about each.
"""


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit status; 2 if there is no such command.

    Args:
        argv: The command's name, then its arguments; those of the process if not given.
    """
    args = sys.argv[1:] if argv is None else argv
    names = commands()
    if args and args[0] in names:
        command = importlib.import_module(f"{__name__}.{args[0]}")
        return written(lambda: int(command.main(args[1:]) or 0))
    if args and args[0] in ("--version", "-V", "version"):
        print(version())
        return 0
    wrong = bool(args) and args[0] not in ("-h", "--help", "help")
    if wrong:
        print(f"pullback: there is no command {args[0]!r}", file=sys.stderr)
    print(usage(names), file=sys.stderr if wrong else sys.stdout, end="")
    return 2 if wrong else 0


def commands() -> list[str]:
    """The names of all commands."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))


def version() -> str:
    """What a report of a mistake needs to say: our version, PyTorch's and Python's."""
    import platform
    from importlib.metadata import version as installed  # neither is for the start of every command

    ours, torch = (installed(name) for name in ("pullback", "torch"))
    return f"pullback {ours}, PyTorch {torch}, Python {platform.python_version()}"


def usage(names: list[str]) -> str:
    """The help text, with the first line of each command's documentation."""
    lines = [f"  {name:10} {_summary(name)}" for name in names]
    return USAGE.format(commands="\n".join(lines))


def _summary(name: str) -> str:
    spec = pkgutil.resolve_name(f"{__name__}.{name}")
    return (spec.__doc__ or "").partition("\n")[0]
