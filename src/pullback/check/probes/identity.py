"""An input is not returned as it is: the output would be a view that refuses in-place changes."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from pullback.check import tree
from pullback.check.case import Case
from pullback.check.kept import kept
from pullback.check.report import Finding

NEEDS = "gradient"


def probe(case: Case) -> Iterator[Finding]:
    """Compare the objects that go in with those that come out."""
    kept(case)
    record = case.facts.get("record")
    if record is None or case.target.function is None:
        return
    arguments = zip(case.arguments.names, tree.leaves(case.facts["plain_arguments"]), strict=True)
    tensors = [(name, leaf) for name, leaf in arguments if isinstance(leaf, torch.Tensor)]
    for out in tree.tensors(case.facts["plain_result"]):
        for name, leaf in tensors:
            if out is leaf and not any(leaf is dirty for dirty in record.dirty):
                yield Finding(
                    "returns-input-view", f"forward returns {name!r} as it is",
                    cause="the result is a view of the input: changing it in place is refused",
                    fix=f"return {name}.clone() or {name}.view_as({name})", argument=name,
                )  # fmt: skip
