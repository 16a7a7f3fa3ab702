"""The gradient is the derivative of forward, or what the author declares it to be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch

from pullback.check import (
    behaviour,
    compare,
    context,
    entries,
    infer,
    intent,
    repair,
    shrink,
    state,
    surrogate,
    tree,
    unique,
)
from pullback.check.case import Case, pull
from pullback.check.hypotheses import incoming
from pullback.check.reference import Reference, is_pointwise, reference, taylor_order
from pullback.check.report import Finding
from pullback.check.samples import Sample, bad, samples
from pullback.check.trouble import Cause, Trouble, filled

NEEDS = "gradient"


def probe(case: Case) -> Iterator[Finding]:
    """Compare every gradient at every point; explain what differs."""
    truth = reference(case)
    case.facts["reference"] = truth
    taken = case.facts["samples"] = _taken(case, truth)
    if not taken:
        case.facts["untested"] = "no point at which both gradients could be had"
        return
    case.facts["tested"] = True
    if case.intended is not None:
        yield from _declared(case, truth, taken)
        return
    yield from _broken(case)
    if case.given_reference is not None:
        yield from _forward_values(case)
    findings = [f for leaf in range(len(case.arguments.diff)) for f in _leaf(case, truth, taken, leaf)]
    case.facts["right"] = not findings  # neither wrong nor meant to differ
    yield from findings
    if truth.kind == "finite-differences" and truth.level == "differences" and case.facts.get("verdict") != "intent":
        _say_order(case, taken)


def _say_order(case: Case, taken: list[Sample]) -> None:
    sample = next((s for s in taken if s.point.label == "nudged"), taken[0])
    order = taylor_order(case, sample.arguments, filled(sample, sample.incoming))
    if order is not None:
        case.facts.setdefault("notes", []).append(f"Taylor order {order:.2f}, 2 is right and 1 is wrong")


def _taken(case: Case, truth: Reference) -> list[Sample]:
    found = samples(case, truth)
    return found + entries.samples(case, truth, found)


def _broken(case: Case) -> Iterator[Finding]:
    """Backward raises on a branch of forward that other settings take."""
    for label, error in case.facts.get("broken", {}).items():
        missing = "has no attribute" in str(error)
        yield Finding(
            "ctx-attribute-conditional" if missing else "backward-raises",
            f"backward raises with {label}: {type(error).__name__}: {str(error).splitlines()[0][:160]}",
            cause="an attribute is set on some paths of forward only" if missing else "",
            fix="let forward and backward take the same branches", evidence={"setting": label}, level="warning",
        )  # fmt: skip


def _forward_values(case: Case) -> Iterator[Finding]:
    """The outputs beside those of the given reference."""
    assert case.given_reference is not None
    state.seed()
    with torch.no_grad():
        right = [t for t in tree.tensors(case.given_reference(*case.arguments.constant())) if tree.is_differentiable(t)]
    for index, (got, expected) in enumerate(zip(case.values(case.arguments), right, strict=False)):
        if got.shape != expected.shape or not compare.same(got, expected, case.facts["reference"].level):
            yield Finding("wrong-forward-value", f"output {index} is not that of the reference",
                          evidence=compare.worst(got, expected) if got.shape == expected.shape else {})  # fmt: skip


def _declared(case: Case, truth: Reference, taken: list[Sample]) -> Iterator[Finding]:
    """A declared intention takes the place of the reference."""
    case.facts["verdict"] = "intent"
    wanted = Reference("intended", _intended(case), truth.level)
    redone = _taken(case, wanted)
    for leaf in range(len(case.arguments.diff)):
        wrong = [s for s in redone if bad(s, leaf, wanted.level)]
        if wrong and not _only_at_kinks(redone, wrong):
            declared = any(
                bad(s, leaf, truth.level) or compare.is_zero(t.expected[leaf])
                for s, t in zip(taken, taken, strict=True)
            ) or _meant_to_differ(taken, redone, leaf)
            trouble = Trouble(case, wanted, leaf, redone, wrong, declared=declared)
            flat = all(compare.is_zero(s.expected[leaf]) for s in taken)
            yield _finding(case, trouble, _unmet(repair.cause(trouble), flat=flat))


def _unmet(cause: Cause, *, flat: bool) -> Cause:
    """A cause under the name of what was declared: a surrogate of a flat forward, or a gradient other than its own."""
    named = cause.name == "surrogate-scale-wrong" and not flat
    return replace(cause, name="intended-mismatch") if named or cause.name == "wrong-derivative" else cause


def _meant_to_differ(taken: list[Sample], redone: list[Sample], leaf: int) -> bool:
    return any(not compare.same(a.expected[leaf], b.expected[leaf]) for a, b in zip(taken, redone, strict=True))


def _intended(case: Case) -> Any:
    intended = case.intended
    assert intended is not None

    def gradients(arguments: Any, incoming: Any) -> list[torch.Tensor | None]:
        state.seed()
        leaves, passed = arguments.fresh()
        outputs = [o for o in tree.tensors(intended(*passed)) if tree.is_differentiable(o)]
        weights = [c for c in incoming if c is not None]
        pairs = [(o, c) for o, c in zip(outputs, weights, strict=False) if o.requires_grad]
        if not pairs:
            return [torch.zeros_like(x) for x in leaves]
        grads = pull([o for o, _ in pairs], leaves, [c for _, c in pairs])
        return [torch.zeros_like(x) if g is None else g for g, x in zip(grads, leaves, strict=True)]

    return gradients


def _only_at_kinks(taken: list[Sample], wrong: list[Sample]) -> bool:
    """Whether the gradients differ at the given point alone: a convention at a kink or a tie, not a formula."""
    others = [s for s in taken if s.point.label != "given"]
    return bool(others) and all(s.point.label == "given" for s in wrong)


def _leaf(case: Case, truth: Reference, taken: list[Sample], leaf: int) -> Iterator[Finding]:
    wrong = [s for s in taken if bad(s, leaf, truth.level)]
    if not wrong:
        return
    name = case.arguments.diff_names[leaf]
    if _only_at_kinks(taken, wrong):
        case.facts.setdefault("notes", []).append(
            f"at a kink or a tie the gradient of {name!r} is not PyTorch's choice"
        )
        return
    if behaviour.is_symmetric(taken, leaf, truth.level):
        case.facts.setdefault("notes", []).append(
            f"{name!r} is symmetric: its gradient is compared in symmetric directions"
        )
        return
    if intent.is_declared(case, name):
        yield _note(case, "surrogate-gradient", name, "it is declared as one")
    elif intent.is_flat(taken, leaf) and not _is_nan(taken, leaf):
        yield from _surrogate(case, truth, taken, wrong, leaf)
    elif intent.is_identity(taken, leaf):
        yield from _modifier(case, truth, taken, wrong, leaf)
    elif _is_large(wrong, leaf, truth.level) and _is_gated(case, truth, taken, leaf):
        yield _note(case, "gradient-modifier", name, "it is right for incoming gradients of one sign, or small ones")
    elif unique.is_a_choice(case, truth):
        case.facts["verdict"] = "intent"
        yield Finding(
            "ill-conditioned", f"the gradient of {name!r} cannot be compared: the vectors that forward returns are one "
            "basis among many", cause="a decomposition's vectors are not unique, so neither is their derivative",
            argument=name, level="note",
        )  # fmt: skip
    elif _is_large(wrong, leaf, truth.level) and _is_intended_elsewhere(case, truth, taken, leaf):
        yield _note(case, "surrogate-gradient", name, "differs from the derivative where forward is flat")
    elif _is_large(wrong, leaf, truth.level) and _is_shaped_by_another(case, truth, taken, leaf):
        yield _note(case, "gradient-modifier", name, "an argument that forward does not use shapes it")
    else:
        trouble = Trouble(case, truth, leaf, taken, wrong)
        far = all(not s.point.inside for s in wrong) and not is_pointwise(case, trouble.leaf)
        cause = repair.cause if not far and _is_large(wrong, leaf, truth.level) else repair.unexplained
        yield _finding(case, trouble, cause(trouble))


def _is_nan(taken: list[Sample], leaf: int) -> bool:
    """Whether the gradient is NaN at points off any kink: nobody means that."""
    return any(s.point.label == "nudged" and bool(torch.isnan(s.got[leaf]).any())  # type: ignore[arg-type]
               for s in taken if s.got[leaf] is not None)  # fmt: skip


def _is_large(wrong: list[Sample], leaf: int, level: str) -> bool:
    """Whether a gradient differs by more than a single entry or a last digit: nobody means that."""
    return not all(compare.same(s.got[leaf], s.expected[leaf], level) for s in wrong)


def _surrogate(case: Case, truth: Reference, taken: list[Sample], wrong: list[Sample], leaf: int) -> Iterator[Finding]:
    """Forward is locally constant and backward is not zero: on purpose, unless the incoming gradient is ignored."""
    trouble = Trouble(case, truth, leaf, taken, wrong)
    ignored = incoming.ignored(trouble)
    if ignored is not None and behaviour.is_attached(case, leaf):
        yield _note(case, "gradient-modifier", trouble.name, "forward hands others through and does not use it")
        return
    if ignored is not None and not compare.is_zero(taken[0].got[leaf]):
        yield _finding(case, trouble, ignored)
        return
    facts = surrogate.described(case, leaf)
    note = _note(case, "surrogate-gradient", trouble.name, "forward is locally constant in it, backward is not zero")
    yield replace(note, message="; ".join(filter(None, (note.message, surrogate.text(facts)))), evidence=facts)


def _modifier(case: Case, truth: Reference, taken: list[Sample], wrong: list[Sample], leaf: int) -> Iterator[Finding]:
    trouble = Trouble(case, truth, leaf, taken, wrong)
    ignored = incoming.ignored(trouble)
    if ignored is not None and not all(compare.is_zero(s.got[leaf]) for s in taken):
        yield _finding(case, trouble, ignored)
        return
    yield _note(case, "gradient-modifier", trouble.name, "forward is the identity, backward is not")


def _is_gated(case: Case, truth: Reference, taken: list[Sample], leaf: int) -> bool:
    """Whether backward gates or clips the incoming gradient itself, and is right otherwise: no accident does that."""
    inside = [s for s in taken if s.point.inside]
    if not _is_large(inside, leaf, truth.level):  # there is nothing that a gate could explain
        return False
    if _one_sign_is_right(case, truth, inside, leaf):
        return True
    return any(_right_for(case, truth, inside, leaf, change) for change in (torch.abs, lambda g: 1e-3 * g))


def _one_sign_is_right(case: Case, truth: Reference, taken: list[Sample], leaf: int) -> bool:
    """Whether at each element one sign of the incoming gradient gives what is right: a gate that lets back inside."""
    if not is_pointwise(case, leaf) or truth.kind != "autograd":
        return False
    for sample in taken:
        wrong = []
        for sign in (1.0, -1.0):
            incoming = [None if g is None else sign * g.abs() for g in sample.incoming]
            outcome = case.run(sample.arguments, incoming)
            expected = truth.gradients(sample.arguments, filled(sample, incoming))[leaf]
            got = outcome.grads[leaf] if outcome.ok else None
            if got is None or expected is None or got.shape != expected.shape:
                return False
            wrong.append(compare.wrong(got, expected, truth.level))
            if bool((wrong[-1] & (expected != 0)).any()):
                return False
        if bool((wrong[0] & wrong[1]).any()):
            return False
    return bool(taken)


def _right_for(
    case: Case, truth: Reference, taken: list[Sample], leaf: int, change: Callable[[torch.Tensor], torch.Tensor]
) -> bool:
    said = False
    for sample in taken:
        if any(g is not None and g.is_complex() for g in sample.incoming):
            return False
        incoming = [None if g is None else change(g) for g in sample.incoming]
        outcome = case.run(sample.arguments, incoming)
        try:
            expected = truth.gradients(sample.arguments, filled(sample, incoming))[leaf]
        except Exception:
            return False
        if not outcome.ok or not compare.same(outcome.grads[leaf], expected, truth.level):
            return False
        said = said or not compare.is_zero(expected)
    return said


def _is_intended_elsewhere(case: Case, truth: Reference, taken: list[Sample], leaf: int) -> bool:
    """A straight-through gradient of a forward that rounds, or one that passes through a flat part and says so."""
    flat = [
        k
        for k in range(len(case.arguments.diff))
        if intent.is_flat(taken, k) and not all(compare.is_zero(s.got[k]) for s in taken)
    ]
    through = _straight_through(case, taken, leaf, truth.level)
    if through:
        return True
    if intent.hinted(case) and intent.differs_where_flat(taken, leaf, truth.level):
        return True
    if _follows_inner_functions(case, truth, taken, leaf):
        return True
    if behaviour.saturates(case, leaf) and behaviour.passes_all(taken, leaf):
        return True
    if behaviour.leaks(case, taken, leaf, truth.level):
        return True
    trouble = Trouble(case, truth, leaf, taken, [s for s in taken if bad(s, leaf, truth.level)])
    if intent.is_marked(case):
        return not _structural(trouble)
    if behaviour.jumps(case, leaf) and behaviour.passes_on(taken, leaf) and not behaviour.is_gate(taken, leaf):
        return not _structural(trouble)
    stepped = bool(flat) or intent.says_surrogate(case) or intent.rounds(case)
    return stepped and (behaviour.jumps(case, leaf) or behaviour.passes_on(taken, leaf)) and not _structural(trouble)


def _is_shaped_by_another(case: Case, truth: Reference, taken: list[Sample], leaf: int) -> bool:
    """Whether what is wrong depends on an argument that is there for backward alone."""
    trouble = Trouble(case, truth, leaf, taken, [s for s in taken if bad(s, leaf, truth.level)])
    return behaviour.is_shaped_by_another(case, taken[0], leaf) and not _structural(trouble)


STRUCTURAL = ("missing-grad-output", "param-grad-averaged", "swapped-gradients", "second-output-grad-dropped")


def _structural(trouble: Trouble) -> bool:
    """Whether a wrong gradient has a cause that no surrogate excuses."""
    found = next(repair.causes(trouble), None)
    return found is not None and found.name in STRUCTURAL


def _follows_inner_functions(case: Case, truth: Reference, taken: list[Sample], leaf: int) -> bool:
    """Whether the gradient is what autograd makes of forward, with the surrogates of Functions that forward calls."""
    if truth.kind != "finite-differences" or truth.followed is None:
        return False
    try:
        return all(compare.same(s.got[leaf], truth.followed(s.arguments, filled(s, s.incoming))[leaf],
                                "single") for s in taken)  # fmt: skip
    except Exception:
        return False


def _straight_through(case: Case, taken: list[Sample], leaf: int, level: str) -> bool:
    plain = case.target.plain
    if plain is None:
        return False
    try:
        for sample in taken:
            state.seed()
            leaves, passed = sample.arguments.fresh()
            with intent.StraightThrough() as through:
                result = plain(context.Context((True,) * len(passed)), *passed)
            if through.met and _is_handed_on(sample, leaf):
                continue
            grad = pull(tree.tensors(result), leaves, filled(sample, sample.incoming))[leaf]
            if not compare.same(sample.got[leaf], grad, level):
                return False
    except Exception:
        return False
    return True


def _is_handed_on(sample: Sample, leaf: int) -> bool:
    """Whether the gradient is an incoming one as it came: with rounding in forward, that passes it straight through."""
    got = sample.got[leaf]
    return got is not None and any(g is not None and torch.equal(got, g) for g in sample.incoming)


def _note(case: Case, name: str, argument: str, why: str) -> Finding:
    case.facts["verdict"] = "intent"
    case.facts.setdefault("meant", set()).add(argument)
    return Finding(
        name,
        f"the gradient of {argument!r} is not the derivative, on purpose it seems: {why}; values not compared",
        cause=why,
        argument=argument,
    )


def _finding(case: Case, trouble: Trouble, cause: Cause) -> Finding:
    sample = trouble.wrong[0]
    evidence = compare.worst(trouble.got(sample), trouble.expected(sample))
    evidence["point"] = sample.point.label
    outside = all(not s.point.inside for s in trouble.wrong)
    index = str(evidence.get("index", "")) if evidence.get("index") else ""
    verb = "missing" if cause.name == "param-grad-none" else "wrong"
    message = (
        f"gradient of {trouble.name!r} is {verb}: got {evidence.get('got')}, expected {evidence.get('expected')}"
        + (f" at {index}" if index else "")
    )
    found = Finding(
        cause.name,
        message,
        cause=cause.cause,
        fix=cause.fix,
        argument=trouble.name,
        evidence=evidence,
        level=_level(case, trouble, cause, outside),
    )
    if found.severity == "error":
        evidence.update(shrink.evidence(case, trouble.reference, trouble.leaf, sample))
    return found


def _level(case: Case, trouble: Trouble, cause: Cause, outside: bool) -> str | None:
    if cause.name == "param-grad-none":
        if case.target.has_rules:  # there, nondiff says that none is meant
            return "error"
        alone = all(compare.is_zero(grad) for s in trouble.wrong for grad in s.got)
        return None if alone or case.facts.get("asked", True) or infer.is_parameter(trouble.name) else "note"
    if not outside:
        meant = intent.is_by_convention(case) or intent.is_of_zeros_and_ones(case, trouble.name)
        return "warning" if not case.facts.get("asked", True) and meant else None
    return "warning" if is_pointwise(case, trouble.leaf) else "note"
