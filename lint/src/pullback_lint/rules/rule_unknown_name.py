"""Find names in pullback rules that exist nowhere."""

from __future__ import annotations

from collections.abc import Iterator

from pullback_lint.model.module import Module
from pullback_lint.model.pullback import pullback_functions
from pullback_lint.problem import Problem

CODE = "PB130"


def check_module(module: Module) -> Iterator[Problem]:
    for made in pullback_functions(module):
        if made.open_ended:
            continue
        for rule in made.rules:
            for name, node in rule.arguments:
                if name not in made.names:
                    yield Problem(
                        node,
                        f"`{made.node.name}` has no argument `{name}`",
                        argument=name,
                        fix=f"its arguments are {', '.join(f'`{item}`' for item in made.names)}",
                    )
            for arg in rule.node.args.args[1:]:
                if arg.arg not in made.names and arg.arg != "out" and arg.arg not in made.kept:
                    yield Problem(
                        arg,
                        f"`{arg.arg}` is neither an argument of `{made.node.name}`, nor `out`, nor kept by it",
                        argument=arg.arg,
                        fix=f"known are {', '.join(f'`{item}`' for item in (*made.names, 'out', *made.kept))}",
                    )
