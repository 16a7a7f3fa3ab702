"""The call and its backward pass run at all: number, order, type and shape of gradients; legacy forms."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Iterator

import torch

from pullback.check import tree
from pullback.check.case import Case, Outcome
from pullback.check.report import Finding

NEEDS = "nothing"

FORWARD = [  # what torch says, the fault, the fix
    (r"save_for_backward can only save variables", "saved-non-tensor", "keep what is not a tensor as ctx.name = value"),
    (r"non-static forward", "legacy-nonstatic", "make forward and backward static methods and call {name}.apply(…)"),
    (r"marked as dirty", "dirty-not-returned", "return every tensor given to ctx.mark_dirty, or do not change it"),
]
BACKWARD = [
    (r"incorrect number of gradients", "wrong-grad-count",
     "return one gradient per argument of forward, in order: {parameters}"),
    (r"different than None|gradient .* non-Tensor|not.*require.*None", "grad-for-nontensor",
     "return None in the place of every argument that is not a tensor"),
    (r"got tuple|got list|expected Variable or None|Variable or None", "nested-tuple-return",
     "take the tensor out of the tuple: torch.autograd.grad returns a tuple, use [0]"),
    (r"invalid gradient at index \d+ - (got|expected shape)", "wrong-grad-shape",
     "reduce the gradient to the shape of its argument"),
    (r"invalid gradient", "wrong-grad-shape", "give the gradient the shape, dtype and device of its argument"),
    (r"no autograd formula|autograd.*not.*(registered|implemented)|register_autograd", "custom-op-no-autograd",
     "register a backward with register_autograd"),
    (r"must implement either the backward or vjp", "no-backward", "write a backward"),
    (r"does not require grad and does not have a grad_fn", "recompute-no-enable-grad",
     "put the recomputation under `with torch.enable_grad():`; backward runs with recording off"),
    (r"backward through the graph a second time", "inner-graph-freed",
     "rebuild the inner graph in backward from saved inputs"),
    (r"(backward|vjp)\(\) (takes|missing) ",
     "wrong-backward-arity", "backward takes {ctx} and one incoming gradient per output"),
    (r"modified by an inplace operation", "saved-before-inplace", "save a tensor after its last change, or a copy"),
    (r"(not enough|too many) values to unpack", "saved-count-mismatch", "unpack as many tensors as forward saves"),
    (r"same dtype|scalar type|Found dtype|dtypes", "hardcoded-dtype",
     "make tensors with the dtype of an input: zeros_like, new_zeros, dtype=x.dtype"),
    (r"name '\w+' is not defined", "undefined-name", "define it in backward, or keep it on {ctx}"),
    (r"module 'torch[\w.]*' has no attribute", "unknown-torch-attribute", "use the function's right name"),
    (r"'\w*Backward' object has no attribute|'Context' object has no attribute", "ctx-attribute-unset",
     "set in forward every attribute of {ctx} that backward reads"),
]  # fmt: skip


def probe(case: Case) -> Iterator[Finding]:
    """What is wrong with the form of the call."""
    yield from _nonstatic(case)
    yield from _lists(case)
    base = case.base
    if base.ok and base.result is None:
        yield Finding("forward-returns-nothing", "forward returns nothing", fix="return the result")
    if base.ok or base.stage not in ("forward", "backward"):
        return
    message = str(base.error)
    for pattern, name, fix in FORWARD if base.stage == "forward" else BACKWARD:
        if re.search(pattern, message):
            yield _finding(case, name, message, fix)
            return
    if base.stage == "backward":
        what = f"{type(base.error).__name__}: {_short(message)}"
        yield Finding("backward-raises", f"backward raises {what}", "", evidence={"error": what})


def certain(outcome: Outcome, names: Collection[str]) -> bool:
    """Whether an experiment failed in a way that no other arguments could excuse."""
    table = FORWARD if outcome.stage == "forward" else BACKWARD
    found = (name for pattern, name, _ in table if re.search(pattern, str(outcome.error)))
    return next(found, "") in names


def _finding(case: Case, name: str, message: str, fix: str) -> Finding:
    target = case.target
    text = fix.format(name=target.name, ctx=target.context, parameters=", ".join(target.parameters))
    return Finding(name, _short(message), cause=_short(message), fix=text, evidence={"error": _short(message)})


def _short(message: str) -> str:
    line = message.strip().split("\n")[0]
    return line if len(line) < 300 else line[:299] + "…"


def _nonstatic(case: Case) -> Iterator[Finding]:
    cls = case.target.function
    if cls is None:
        return
    for name in ("forward", "backward"):
        method = inspect.getattr_static(cls, name, None)
        if method is None or method is getattr(torch.autograd.Function, name, None):
            continue
        if inspect.isfunction(method) and "non-static" not in str(case.base.error):
            yield Finding(
                "legacy-nonstatic",
                f"{name} is not a static method: calling an instance of {cls.__name__} raises",
                fix="add @staticmethod and call it as " + f"{cls.__name__}.apply(…)",
                level="warning" if case.base.ok or name == "backward" else None,  # apply() calls it even so
            )
            return


def _matters(case: Case, places: list[int]) -> bool:
    """Whether the output depends on the tensors at some places: what it doesn't depend on needs no gradient."""
    moved = list(case.arguments.differentiable)
    for place in places:
        moved[place] = 1.3 * moved[place] + 0.2
    try:
        before, after = case.values(case.arguments), case.values(case.arguments.with_differentiable(moved))
    except Exception:  # forward fails: nothing is known
        return True
    return not all(torch.equal(one, two) for one, two in zip(before, after, strict=False))


def _lists(case: Case) -> Iterator[Finding]:
    base, nested = case.base, case.arguments.nested()
    if case.target.kind not in ("autograd.Function",):
        return
    for name in nested:
        index = [i for i, leaf in enumerate(case.arguments.diff_names) if leaf.startswith(f"{name}[")]
        lost = not base.grads or all(base.grads[i] is None for i in index)
        if lost and _matters(case, index):
            yield Finding(
                "list-input-untracked",
                f"tensors inside {name!r} are not seen by autograd: they get no gradient",
                cause="autograd tracks tensors that are arguments themselves, not those inside a list, tuple or dict",
                fix=f"pass them one by one: forward({case.target.context}, …, *{name})",
                argument=name,
            )
    if base.result is not None and not isinstance(base.result, (torch.Tensor, tuple)):
        floating = [t for t in tree.tensors(base.result) if tree.is_differentiable(t)]
        if floating and not any(t.requires_grad for t in floating) and case.arguments.diff:
            yield Finding(
                "list-output-untracked",
                f"forward returns a {type(base.result).__name__}: its tensors drop out of the graph",
                fix="return a tensor or a tuple of tensors",
            )
