"""Arguments for a target that nobody gave any for: from annotations, defaults, names, use, and trial."""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from pullback import _describe
from pullback.check import battery, state, tree
from pullback.check.arguments import arguments
from pullback.check.case import Case
from pullback.check.probes import contract
from pullback.check.report import TargetReport
from pullback.check.target import Target, own_backward

SECONDS = 6.0  # for the whole search
PARAMETER = re.compile(
    r"^(weights?|w\d?|bias(es)?|b|gain|gamma|slope|scale|thr\w*|threshold|offset|temperature|kernel|step(_?size)?)$"
)


def blend(*things: Any) -> torch.Tensor:
    """A smooth function of any number of tensors, for parameters that are functions."""
    given = [torch.tanh(t) for t in tree.tensors(things) if tree.is_differentiable(t)]
    return torch.as_tensor(sum(given))


NAMES: list[tuple[str, Sequence[Any]]] = [  # a parameter's name and what it may be, likeliest first
    (r"^(eps|epsilon)\w*$", (1e-5,)),
    (r"^(dim|axis)$", (-1, 0, 1)),
    (r"^(dims|axes)$", ((-1,), (0,))),
    (r"^(p|prob|keep\w*|drop\w*|rate|momentum|decay|smoothing)$", (0.5, "tensor")),
    (r"^(n_?bits?|num_?bits|bits?|bit_?width|nbit|k_?bits?|wbits?|abits?|bitw\w*)$", (4, "tensor", 4.0)),
    ((r"^(k|n|m|num\w*|n_\w+|\w+_size|size|block\w*|count|levels?|heads?|steps?|times?|iters?|max_iter\w*|order|"
     r"degree|depth|world_size|rank)$"), (2, 3, "tensor", 4, 1)),
    (r"^(stride|group_size|groups?|dilation)$", (1, 2)),
    (r"^(padding|pad|offset_index|ignore_index)$", (0, 1)),
    (r"^(kernel_size|ksize|window\w*|factor_int|upscale\w*|downscale\w*)$", (2, 3)),
    (r"^(reduction)$", ("mean", "sum", "none")),
    (r"^(mode|method|kind|approx\w*|norm)$", ("mean", "sum", "bilinear", "tanh", "none", "constant", "tensor", 2)),
    ((r"^(training|inplace|train|is_\w+|use_\w+|with_\w+|keepdim|signed|unsigned|symmetric|sym\w*|debug|verbose|flag|"
     r"dense|biased|unbiased|narrow\w*|return_\w+|deterministic|normalize\w*|align_corners|causal|enable\w*)$"),
     (True, False)),
    (r"^(shape|output_size|out_size|normalized_shape|sizes?)$", ("shape", 2, (2,))),
    (r"^\w*mask\w*$", ("mask", "tensor", "nonneg")),
    (r"^(idx|index|indices|ids|labels?|lengths?|segment\w*|batch\w*|positions?|tokens?|\w+_(idx|index|ids))$",
     ("index", "tensor", 2)),
    (r"^(targets?|y_true|gt|truth)$", ("tensor", "index", "nonneg")),
    (r"^(lo|low|lower\w*|min\w*|a_min|minimum|\w*_min|q_?min|vmin|clip_?min|qn)$", (-1.0, "scalar", "tensor", -8)),
    (r"^(hi|high|upper\w*|max\w*|a_max|maximum|\w*_max|q_?max|vmax|clip_?max|qp|bound|limit|clip\w*)$",
     (1.0, "scalar", "tensor", 7)),
    (r"^(offset|shift|center|centre|mean|loc)$", ("tensor", "scalar", "last", 0.5)),
    ((r"^(alpha|beta|gamma|lambd?a?_?|lmbda|coeffs?|coefs?|c|slope|tau|temp\w*|factor|strength|sigma|gain|width|v_?th|"
     r"thr\w*|threshold|scal\w*|weight_decay|delta|margin|rho|theta|power|exponent|grad_scale|scale_grad|half_width|"
     r"damp\w*|const\w*|ratio|negative_slope|leak|zeta|kappa|nu|mu|hyper\w*|sharp\w*|grad\w*|lr|t|dt|h|length)$"),
     (0.7, "scalar", "tensor", "last", 1)),
    (r"^(zero_point|zp)$", (0, 0.0, "scalar", "tensor")),
    (r"^(dtype|out_dtype)$", (torch.float32, None)),
    (r"^(device)$", ("cpu", None)),
    ((r"^(fn|func|function|f|act\w*|callable|run_function|forward_fn|op|nonlin\w*|g_?fn|closure|loss_fn|criterion|"
     r"surrogate\w*|spike_\w+|\w*_(fn|func|function))$"), (blend, "module", "tensor")),
    (r"^(module|model|layer|net\w*|block|cell)$", ("module", blend)),
    (r"^(group|process_group|generator|rng|stream|handle|hook|name|state|comm|cfg|config|args|ctx_?\w*|options?)$",
     (None, "tensor", 1)),
    (r"^(positive|prob\w*|variance|var|std|det|r|radius|distance|dist)$", ("positive", "tensor", 0.5)),
]  # fmt: skip
SHAPES: list[dict[str, tuple[int, ...]]] = [
    {"main": (3, 4), "last": (4,), "scalar": ()},
    {"main": (4, 4), "last": (4,), "scalar": (1,)},
    {"main": (6,), "last": (6,), "scalar": ()},
    {"main": (2, 3, 4), "last": (4,), "scalar": ()},
    {"main": (2, 3, 4, 4), "last": (3,), "scalar": (1,)},
    {"main": (2, 4, 4), "last": (4,), "scalar": ()},
    {"main": (2, 3, 4), "last": (3,), "scalar": ()},
    {"main": (3, 4), "last": (3,), "scalar": ()},
    {"main": (2, 4, 6, 6), "last": (4,), "scalar": ()},
    {"main": (2, 8), "last": (8,), "scalar": ()},
    {"main": (4, 3), "last": (3,), "scalar": (1,)},
    {"main": (5, 2), "last": (2,), "scalar": ()},
    {"main": (2, 2, 4, 4, 4), "last": (2,), "scalar": ()},
]
NUMBERS: dict[str, tuple[int, ...]] = {"main": (), "last": (), "scalar": ()}  # tried last: single numbers show little
MATRICES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [  # x, w for pairs of unequal tensors
    ((3, 4), (4, 5)), ((3, 4), (5, 4)), ((2, 3, 4), (2, 4, 5)), ((2, 3, 4), (4, 5)), ((2, 3, 6, 6), (4, 3, 3, 3)),
    ((2, 3, 8), (4, 3, 3)), ((3, 4), (3, 1)), ((2, 3, 4), (1, 3, 1)), ((2, 3, 4, 4), (1, 3, 1, 1)), ((4,), (3, 4)),
    ((3, 4), (4,)), ((4, 4), (4,)), ((2, 5, 3), (2, 4, 3)), ((5, 3), (4, 3)), ((3, 4), (1, 4)),
]  # fmt: skip


def is_parameter(name: str) -> bool:
    """Whether an argument's name is that of something that is trained."""
    return bool(PARAMETER.match(name))


def examine(
    target: Target,
    *,
    intended: Callable[..., Any] | None = None,
    reference: Callable[..., Any] | None = None,
    evaluations: int | None = None,
) -> TargetReport:
    """Infer arguments and check; a target for which none can be found is unchecked, with the reason.

    An error may come from arguments that the author never meant: then a few others are tried, and the report with the
    fewest errors is taken.
    """
    started = time.perf_counter()
    best: TargetReport | None = None
    with state.restored():
        guesses, reason = search(target)
    for values in guesses:
        report = battery.examine(
            target, values, intended=intended, reference=reference, evaluations=evaluations, inputs="inferred"
        )
        if best is None or _errors(report) < _errors(best):
            best = report
        if not _doubtful(report) or time.perf_counter() - started > 3 * SECONDS:
            break
    if best is None:
        best = TargetReport(target.name, target.kind, target.file, target.line, "none")
        best.unchecked = f"no arguments found that forward accepts; last error: {reason[:300]}"
        battery.static(target, best)
    best.seconds = time.perf_counter() - started
    return best


SURE = ("wrong-grad-count", "nested-tuple-return", "recompute-no-enable-grad", "dirty-not-returned", "undefined-name",
        "unknown-torch-attribute", "ctx-attribute-unset", "missing-grad-output", "grad-output-mutated",
        "legacy-nonstatic", "rng-not-saved", "saved-tensor-mutated", "inplace-unmarked")  # fmt: skip


def _errors(report: TargetReport) -> int:
    return sum(finding.severity == "error" for finding in report.findings)


def _doubtful(report: TargetReport) -> bool:
    """Whether the errors could come from the arguments: those that no arguments excuse are not doubted."""
    errors = [finding.name for finding in report.findings if finding.severity == "error"]
    return bool(errors) and not any(name in SURE for name in errors)


GUESSES = 5


def search(target: Target) -> tuple[list[tuple[Any, ...]], str]:
    """A few sets of arguments of different shapes for which forward and backward run, else for which forward runs."""
    deadline = time.perf_counter() + SECONDS
    good: list[tuple[Any, ...]] = []
    partly: list[tuple[Any, ...]] = []
    seen: set[str] = set()
    reason = "nothing tried"
    for values in candidates(target):
        if time.perf_counter() > deadline or len(good) >= GUESSES or (good and time.perf_counter() > deadline - 5):
            break
        works, message = trial(target, values)
        reason = message or reason
        if works == "sure":
            short = values[: _required(target)]  # defaults that are not passed need no gradient
            return [short if len(short) < len(values) and trial(target, short)[0] == "all" else values], ""
        if works == "all" and (key := _describe.value(values)) not in seen and (not good or _telling(values, good[0])):
            seen.add(key)
            good.append(values)
        elif works == "forward" and not partly:
            partly.append(values)
    return good or partly, reason


def _required(target: Target) -> int:
    """How many arguments have no default."""
    return sum(p.default is p.empty for p in _parameters(target))


def _telling(values: Sequence[Any], first: Sequence[Any]) -> bool:
    """Whether arguments can show as much as the first ones: as many numbers along as many dimensions."""
    shapes = [
        [(t.is_floating_point(), *[d > 1 for d in t.shape]) for t in tree.tensors(tuple(v))] for v in (values, first)
    ]
    rows = [[t.shape[0] for t in tree.tensors(tuple(v)) if t.ndim] for v in (values, first)]
    return shapes[0] == shapes[1] and min(rows[0], default=9) >= min(3, *rows[1], 3)


def trial(target: Target, values: tuple[Any, ...]) -> tuple[str, str]:
    """How far a set of arguments comes: ``all``, ``forward`` or nothing, and the error if there was one."""
    try:
        given = arguments(target, values)
        outcome = Case(target, given, given).run()
    except Exception as error:
        return "", str(error)
    if outcome.ok:
        tracked = [out for out in outcome.outputs if out.requires_grad and out.numel()]
        finite = all(bool(torch.isfinite(out).all()) for out in tracked)
        return ("all" if tracked and finite else "forward" if outcome.outputs else ""), ""
    message = f"{type(outcome.error).__name__}: {outcome.error}"
    if contract.certain(outcome, SURE):
        return "sure", message
    return ("forward" if outcome.stage == "backward" else ""), message


def candidates(target: Target) -> Iterator[tuple[Any, ...]]:
    """Sets of arguments, likeliest first: every shape with the likeliest kinds, then one kind changed, then two."""
    parameters = _parameters(target)
    kinds = [_kinds(target, p) for p in parameters]
    first = [options[0] for options in kinds]
    yield from _shaped(target, first)
    pairs = list(zip(parameters, first, strict=True))
    yield from _shaped(target, ["last" if k == "tensor" and is_parameter(p.name) else k for p, k in pairs])
    yield from _matrices(target, first)
    changes = [(i, option) for i, options in enumerate(kinds) for option in options[1:]]
    for i, option in changes:
        yield from _shaped(target, [*first[:i], option, *first[i + 1 :]])
    yield tuple(build(kind, NUMBERS, seed) for seed, kind in enumerate(first))
    for (i, a), (j, b) in itertools.combinations(changes, 2):
        if i != j:
            changed = list(first)
            changed[i], changed[j] = a, b
            yield from itertools.islice(_shaped(target, changed), 5)
            yield from itertools.islice(_matrices(target, changed), 4)


def _parameters(target: Target) -> list[inspect.Parameter]:
    fn = target.subject.forward if target.function is not None else target.plain or target.subject
    if target.kind in ("operator", "pullback.Function", "callable"):
        fn = getattr(target.subject, "_init_fn", target.subject)
    if target.kind == "module":
        fn = target.subject.forward
    try:
        found = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        return [inspect.Parameter("x", inspect.Parameter.POSITIONAL_ONLY)]
    wanted = set(target.parameters) | {target.variadic}
    expanded: list[inspect.Parameter] = []
    for parameter in found:
        if parameter.name not in wanted or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD):
            continue
        expanded += [parameter, parameter] if parameter.kind is parameter.VAR_POSITIONAL else [parameter]
    return expanded


def _kinds(target: Target, parameter: inspect.Parameter) -> list[Any]:
    """What a parameter may be, likeliest first."""
    name, note = parameter.name.lower(), str(parameter.annotation)
    options = _annotated(note)
    named = next((list(kinds) for pattern, kinds in NAMES if re.match(pattern, name)), ["tensor"])
    usage = _usage(target, parameter.name)
    if not options:
        options = named
        if usage == "tensor":
            own = [k for k in options if _is_tensor_kind(k)] or ["tensor"]
            options = [*own, *[k for k in options if not _is_tensor_kind(k)]]
        if usage == "list":
            options = ["list", *options]
        if usage == "plain":
            plain = [k for k in options if not _is_tensor_kind(k)] or [0.7, 2, True, "tensor"]
            options = plain + [k for k in options if _is_tensor_kind(k)]
    else:
        options = [k for k in named if k in options or _fits(k, note)] + options
    if parameter.default is not parameter.empty:
        options = [parameter.default, *options]
    text = _source(target)
    if re.search(r"\.imag\b|fft|complex|conj", text):
        options = [option for kind in options for option in (("complex", kind) if kind == "tensor" else (kind,))]
    if "-100" in text and "index" in options:
        options = ["ignored", *options]
    extra = ["tensor", "last", "scalar", 0.7, 2, True, None, "index", "mask", "positive", "list"]
    return _unique([*options, *extra])


KINDS = ("tensor", "last", "scalar", "index", "mask", "positive", "nonneg", "list", "complex", "ignored")


def _is_tensor_kind(kind: Any) -> bool:
    return isinstance(kind, str) and kind in KINDS


def _unique(options: list[Any]) -> list[Any]:
    seen, kept = set(), []
    for option in options:
        key = (type(option).__name__, repr(option))
        if key not in seen:
            seen.add(key)
            kept.append(option)
    return kept


def _annotated(note: str) -> list[Any]:
    table: list[tuple[str, list[Any]]] = [
             ("Tensor", ["tensor"]), ("bool", [True, False]), ("int", [2, 1]), ("float", [0.7]),
             ("str", ["mean", "sum"]), ("Callable", [blend]), ("Module", ["module"]),
             ("Size", ["shape"])]  # fmt: skip
    if "List" in note or "list[" in note or "Sequence" in note:
        return ["list"] if "Tensor" in note else [[1, 1], [2, 2]]
    found = next((kinds for word, kinds in table if word in note), [])
    return list(found)


def _fits(kind: Any, note: str) -> bool:
    types = {"bool": bool, "int": int, "float": float, "str": str}
    if _is_tensor_kind(kind):
        return "Tensor" in note
    return any(word in note and type(kind) is cls for word, cls in types.items()) and kind not in KINDS


def _usage(target: Target, name: str) -> str:
    """``tensor`` if forward treats a parameter as one, ``plain`` if it is kept as it is, else nothing."""
    text = _source(target)
    word = re.escape(name)
    if re.search(rf"save_for_backward\([^)]*\b{word}\b(?!\.)", text) or re.search(
        rf"\b{word}\.(shape|size|dim|ndim|clone|view|reshape|detach|new_\w+|to|t\b|T\b|abs|clamp|dtype|device|numel|exp|"
        rf"sum|mean|float|contiguous|data|transpose|permute|unsqueeze|is_cuda|sign|round|type|pow|gt|lt|ge|mul|norm|"
        rf"max|min|matmul|flatten|requires_grad|masked_fill\w*|sqrt|relu|tanh|sigmoid)\b",
        text,
    ):
        return "tensor"
    if re.search(rf"torch\.\w+_like\({word}\b|needs_input_grad", text) and re.search(rf"_like\({word}\b", text):
        return "tensor"
    if re.search(rf"\w+\.\w+\s*=\s*{word}\s*$", text, re.MULTILINE):
        return "plain"
    if re.search(rf"\bin {word}\b(?!\.)|zip\([^)]*\b{word}\b|len\({word}\)|\*{word}\b[,)]", text):
        return "list"
    return ""


def _source(target: Target) -> str:
    subject = target.subject
    try:
        return textwrap.dedent(inspect.getsource(getattr(subject, "_init_fn", subject)))
    except (OSError, TypeError):
        return ""


def returned(target: Target) -> list[bool]:
    """For every slot that backward returns, whether it ever holds something other than None."""
    backward = own_backward(target.function) if target.function else None
    try:
        module = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(backward)))) if backward else None
    except (OSError, TypeError, SyntaxError):
        module = None
    slots: list[bool] = []
    for node in ast.walk(module) if module else ():
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
            here = [not (isinstance(e, ast.Constant) and e.value is None) for e in node.value.elts]
            slots = [a or b for a, b in itertools.zip_longest(slots, here, fillvalue=False)]
    return slots


def _shaped(target: Target, kinds: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    rank = _rank(_source(target))
    fitting = sorted(SHAPES, key=lambda shapes: rank > 0 and len(shapes["main"]) != rank)
    for shapes in fitting if any(map(_is_tensor_kind, kinds)) else SHAPES[:1]:
        yield tuple(build(kind, shapes, seed) for seed, kind in enumerate(kinds))


RANKS: list[tuple[str, int]] = [  # what in a source gives away the number of dimensions
    (r"view\(1, ?-1, ?1, ?1\)|\(0, ?2, ?3\)|(conv|pool)\w*2d|[bn], ?c, ?h, ?w\b|dim=3\b|size\(3\)|shape\[3\]", 4),
    (r"\w+, ?\w+, ?\w+, ?\w+ = \w+\.(shape|size\(\))", 4),
    (r"view\(1, ?-1, ?1\)|\bbmm\(|\(0, ?2\)|(conv|pool)\w*1d|size\(2\)|shape\[2\]", 3),
    (r"\w+, ?\w+, ?\w+ = \w+\.(shape|size\(\))", 3),
]


def _rank(text: str) -> int:
    return next((rank for pattern, rank in RANKS if re.search(pattern, text, re.IGNORECASE)), 0)


def _matrices(target: Target, kinds: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    places = [i for i, kind in enumerate(kinds) if kind == "tensor"]
    if len(places) < 2:
        return
    for x, w in MATRICES:
        last = {"last": w[:1], "scalar": ()}
        values = [build(k, {"main": x, **last}, i) for i, k in enumerate(kinds)]
        values[places[1]] = tensor(w, places[1])
        if len(places) > 2:
            for bias in (w[:1], w[-1:], w, x):
                third = list(values)
                third[places[2]] = tensor(bias, places[2])
                yield tuple(third)
        else:
            yield tuple(values)


def build(kind: Any, shapes: dict[str, tuple[int, ...]], seed: int) -> Any:
    """A value of a kind."""
    main = shapes["main"]
    rows = main[0] if main else 1
    makers: dict[str, Callable[[], Any]] = {
        "tensor": lambda: tensor(main, seed),
        "last": lambda: tensor(shapes["last"], seed),
        "scalar": lambda: tensor(shapes["scalar"], seed).detach().abs().requires_grad_(),
        "positive": lambda: (tensor(main, seed).detach().abs() + 0.3).requires_grad_(),
        "nonneg": lambda: (tensor(main, seed).detach() > 0).float(),
        "index": lambda: torch.arange(rows) % 2,
        "complex": lambda: torch.complex(tensor(main, seed).detach(), tensor(main, seed + 9).detach()).requires_grad_(),
        "ignored": lambda: torch.where(torch.arange(rows) == 1, -100, torch.arange(rows) % 2),
        "mask": lambda: tensor(main, seed).detach() > 0,
        "list": lambda: [tensor(main, seed), tensor(main, seed + 50)],
        "module": lambda: torch.nn.Linear(main[-1] if main else 1, main[-1] if main else 1),
        "shape": lambda: main,
    }
    return makers[kind]() if isinstance(kind, str) and kind in makers else kind


def tensor(shape: tuple[int, ...], seed: int) -> torch.Tensor:
    """Random numbers of both signs, none near zero, that require a gradient."""
    generator = torch.Generator().manual_seed(77 + seed)
    size = 1.0 if seed == 0 else 0.5
    return (size * torch.randn(shape, generator=generator)).requires_grad_()


def structure(values: Sequence[Any]) -> list[Any]:
    """The leaves of arguments, for the report."""
    return tree.leaves(tuple(values))
