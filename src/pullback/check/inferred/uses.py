"""What forward and backward do with each parameter: call it, compare it with words, unpack it, index with it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from pullback.check.inferred.names import Shaped, Sized, by_name, by_words
from pullback.check.inferred.source import Method, Names

MAKERS = {"zeros", "ones", "full", "empty", "arange", "linspace", "randn", "rand", "range", "eye", "randint", "int"}
INDEXES = {"index_select": 1, "gather": 1, "scatter": 1, "scatter_": 1, "scatter_add": 1, "scatter_add_": 1,
           "index_add": 1, "index_add_": 1, "take": 0, "index_copy_": 1, "index_fill_": 1}  # fmt: skip
WRAPS = {"tensor", "Tensor", "FloatTensor", "DoubleTensor"}  # make a tensor of a number
LISTS = {"len", "zip", "enumerate", "tuple", "list", "cat", "stack"}
TAKES: dict[tuple[str, int], Any] = {  # what a function takes at a place
    ("linear", 1): "weight", ("matmul", 1): "weight_t", ("mm", 1): "weight_t", ("bmm", 1): "batched",
    ("sparse_coo_tensor", 0): "coordinates", ("sparse_coo_tensor", 1): "four", ("sparse_coo_tensor", 2): (2, 2),
    ("embedding", 0): "index", ("embedding", 1): "weight", ("one_hot", 0): "index", ("bincount", 0): "index",
    ("nll_loss", 1): "index", ("cross_entropy", 1): "index", ("where", 0): "mask", ("cholesky", 0): "spd",
    ("eigh", 0): "spd", ("eigvalsh", 0): "spd",
    ("roll", 1): 1,
    ("cholesky_solve", 1): "tril", ("cholesky_inverse", 0): "tril", ("solve_triangular", 0): "tril",
    ("triangular_solve", 1): "tril", ("sqrt", 0): "positive", ("log", 0): "positive", ("rsqrt", 0): "positive",
}  # fmt: skip
CONVOLUTIONS = {"conv1d": 3, "conv2d": 4, "conv3d": 5, "conv_transpose2d": 4, "unfold": 4, "max_pool2d": 4,
                "avg_pool2d": 4, "interpolate": 4, "pixel_shuffle": 4, "grid_sample": 4, "bmm": 3, "max_pool1d": 3,
                "adaptive_avg_pool2d": 4, "batch_norm": 0, "conv2d_weight": 4, "conv2d_input": 4}  # fmt: skip
NUMBERS = {"real", "imag", "is_integer", "numerator", "denominator", "bit_length", "lower", "upper", "startswith",
           "items", "keys", "values", "get", "append", "split", "format", "index", "count", "copy"}  # fmt: skip


@dataclass
class Use:
    """What a source shows about one parameter."""

    kinds: list[Any] = field(default_factory=list)
    strings: list[str] = field(default_factory=list)
    attributes: list[str] = field(default_factory=list)
    tensor: int = 0
    whole: bool = False  # is saved, or has a method that no list has
    rank: int = 0
    at_least: int = 0
    last: int = 0
    open_: bool = False
    none: bool = False
    kept: bool = False  # as an attribute of ctx, where tensors do not belong
    number: bool = False
    repeats: bool = False
    parts: list[Shaped] = field(default_factory=list)  # it is cut into equal ones: as long as they are together

    def meets(self, other: Use) -> None:
        """Add what a function that it is handed to shows about its shape."""
        self.rank = self.rank or other.rank
        self.at_least, self.last = max(self.at_least, other.at_least), max(self.last, other.last)
        self.open_ |= other.open_

    def shaped(self, main: int) -> list[Any]:
        """Shapes of its own: another number of dimensions than the main tensor's, a last one as long as it is read."""
        own = [Shaped(rank=self.rank), Shaped(rank=self.rank, last=2)] if self.rank not in (0, main) else []
        sizes = (self.last, *((7, 6, 8) if self.open_ else ())) if self.last > 1 else ()
        return [*self.parts, *own, *[Shaped(last=size) for size in sizes if size >= self.last]]

    def reads(self, part: ast.expr) -> None:
        """Note what is read along the last dimension: a number or a slice."""
        if isinstance(part, ast.Slice):
            low, high = (_integer(bound) if bound is not None else None for bound in (part.lower, part.upper))
            self.last = max(self.last, (low or -1) + 1, high or 0)
            self.open_ |= high is None and bool(low)
        else:
            self.last = max(self.last, (-1 if (at := _integer(part)) is None else at) + 1)

    def add(self, kind: Any) -> None:
        """Note a kind that the source suggests."""
        if kind not in self.kinds:
            self.kinds.append(kind)


def uses(parameters: Sequence[str], methods: list[Method]) -> dict[str, Use]:
    """What is done with each parameter, directly or after a copy."""
    names = Names(tuple(parameters), methods)
    found = {name: Use() for name in parameters}
    for method in methods:
        reader = _Reader(names, found, method is not methods[0] and method is methods[-1])
        reader.visit(method.tree)
        for use in list(found.values())[:1]:
            use.rank = use.rank or reader.ranked
        for name, use in found.items():
            use.kinds[:0] = by_words(name, ast.get_docstring(method.tree) or "")
    return found


class _Reader(ast.NodeVisitor):
    def __init__(self, names: Names, found: dict[str, Use], backward: bool) -> None:
        self.names, self.found, self.ranked, self.backward = names, found, 0, backward

    def use(self, node: ast.AST | None) -> Use | None:
        """The use of the parameter that a node is, if it is one."""
        name = self.names.is_(node) if isinstance(node, ast.expr) else None
        return self.found.get(name) if name is not None else None

    def visit_Attribute(self, node: ast.Attribute) -> None:
        use = self.use(node.value)
        if use is not None and not isinstance(node.ctx, ast.Store):
            if hasattr(torch.Tensor, node.attr) and node.attr not in NUMBERS:
                use.tensor += 1
                use.whole |= not hasattr(list, node.attr)
            elif node.attr not in NUMBERS:
                use.attributes.append(node.attr)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if (use := self.use(node.func)) is not None:
            use.add("callable")
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        self._arguments(name, node)
        for keyword in node.keywords:
            use = self.use(keyword.value)
            if use is not None and not keyword.arg:
                use.add({})
            elif use is not None:
                use.kinds += [kind for kind in by_name(keyword.arg or "") if kind not in use.kinds]
        if isinstance(node.func, ast.Attribute):
            self._method(name, node.func.value, node.args)
        self.generic_visit(node)

    def _arguments(self, name: str, node: ast.Call) -> None:
        for place, argument in enumerate(node.args):
            use = self.use(argument.value if isinstance(argument, ast.Starred) else argument)
            if use is None:
                self._wrapped(name, argument)
                continue
            use.number |= name in WRAPS
            if isinstance(argument, ast.Starred) or name in LISTS:
                use.add("list")
            elif name in MAKERS:
                use.add(2)
            elif name in ("save_for_backward", "mark_dirty") or _of_torch(node.func, place):
                use.tensor += 1
                use.whole |= name == "save_for_backward"
            if name in CONVOLUTIONS:
                self._convolution(use, name, place)
            elif (name, place) in TAKES:
                use.add(TAKES[name, place])

    def _wrapped(self, name: str, argument: ast.expr) -> None:
        """``torch.tensor([gamma])`` is made of a number."""
        if name in WRAPS and isinstance(argument, ast.List):
            for element in argument.elts:
                if (use := self.use(element)) is not None:
                    use.number = True

    def _convolution(self, use: Use, name: str, place: int) -> None:
        if place == 0:
            use.rank = use.rank or CONVOLUTIONS[name]
        elif name == "batch_norm" and place < 5:  # statistics and parameters
            use.tensor += 1
            use.add("channel")
        elif name.startswith("conv"):
            for kind in (("kernel", "kernel_each"), ("kernel", "kernel_each"), ("out",))[place] if place < 3 else (1,):
                use.add(kind)
        else:
            use.add(2)

    def _method(self, name: str, owner: ast.expr, arguments: list[ast.expr]) -> None:
        own = self.use(owner)
        if own is not None:
            self._of_tensor(own, name, arguments)
        if name in INDEXES and len(arguments) > INDEXES[name]:
            for kind in ("column_index", "flat_index") if name.startswith(("gather", "scatter")) else ("index",):
                self._add(arguments[INDEXES[name]], kind)
        if name.startswith("masked_") and arguments:
            self._add(arguments[0], "mask")
        if self.backward and name in ("mm", "matmul") and arguments:
            self._multiplied(owner, arguments[0])
        elif name in ("mm", "matmul", "bmm") and arguments:
            self._add(arguments[0], "batched" if name == "bmm" else "weight_t")
            if isinstance(arguments[0], ast.Call) and isinstance(arguments[0].func, ast.Attribute):
                self._add(arguments[0].func.value, "weight")  # x.mm(w.t())

    def _multiplied(self, owner: ast.expr, by: ast.expr) -> None:
        """What multiplies a gradient is the transpose of what forward multiplies by: ``dy.mm(w)``, ``dy.t().mm(x)``."""
        called = isinstance(owner, ast.Call) and getattr(owner.func, "attr", "") in ("t", "transpose")
        if not called and getattr(owner, "attr", "") not in ("T", "mT"):
            self._add(by, "weight")

    def _of_tensor(self, use: Use, name: str, arguments: list[ast.expr]) -> None:
        constants = [c for a in arguments if (c := _integer(a)) is not None]
        if name in ("view", "reshape"):
            self._viewed(use, arguments)
        elif name == "permute" and len(constants) == len(arguments):
            use.rank = use.rank or len(constants)
        elif name == "chunk" and constants and constants[0] > 1:
            use.parts.append(Shaped(times=constants[0], along=constants[1] if len(constants) > 1 else -1))
        elif name == "t":
            use.rank = use.rank or 2
        elif name in ("size", "transpose", "sum", "mean", "unsqueeze", "stride") and constants:
            use.at_least = max([use.at_least, *[c + 1 if c >= 0 else -c for c in constants]])

    def _viewed(self, use: Use, arguments: list[ast.expr]) -> None:
        """``w.view(1, -1, 1, 1)`` is one number per channel, ``w.view(1, heads, 1)`` one per head."""
        sizes = [n for a in arguments if (n := self.names.is_(a)) is not None]
        ones = [_integer(a) for a in arguments]
        others = [place for place, one in enumerate(ones) if one != 1]
        if len(others) == 1 and len(ones) > 1 and not sizes:
            use.kinds.insert(0, {0: "first", 1: "channel"}.get(others[0], "last"))
            self.ranked = max(self.ranked, len(ones))
        elif sizes and ones.count(1) == len(ones) - len(sizes):
            use.kinds.insert(0, Sized(tuple(sizes)))

    def _add(self, node: ast.expr, kind: Any) -> None:
        if (use := self.use(node)) is not None:
            use.add(kind)

    def visit_Assign(self, node: ast.Assign) -> None:
        self._kept(node.targets[0], node.value)
        shape = _shape_of(node.value)
        if shape is not None and isinstance(node.targets[0], ast.Tuple):
            use, names = self.use(shape), node.targets[0].elts
            starred = any(isinstance(name, ast.Starred) for name in names)
            if use is not None and starred:
                use.at_least = max(use.at_least, len(names) - 1)
            elif use is not None:
                use.rank = use.rank or len(names)
        self.generic_visit(node)

    def _kept(self, left: ast.expr, right: ast.expr) -> None:
        """``ctx.w = w``, or its place in ``x, ctx.w = inputs``."""
        if isinstance(left, ast.Tuple):
            whole = getattr(right, "id", "") == "inputs" and len(left.elts) == len(self.found)
            for target, use in zip(left.elts, self.found.values(), strict=False) if whole else ():
                use.kept |= isinstance(target, ast.Attribute)
        elif isinstance(left, ast.Attribute) and (own := self.use(right)) is not None:
            own.kept = True

    def visit_Compare(self, node: ast.Compare) -> None:
        use, right = self.use(node.left), node.comparators[0]
        if use is not None:
            self._compared(use, right)
        owner = _dim_of(node.left)
        if owner is not None and (ranked := self.use(owner)) is not None and isinstance(node.ops[0], ast.Eq):
            ranked.rank = ranked.rank or _integer(right) or 0
        self.generic_visit(node)

    def _compared(self, use: Use, right: ast.expr) -> None:
        for constant in ast.walk(right):
            if isinstance(constant, ast.Constant):
                if isinstance(constant.value, str) and constant.value not in use.strings:
                    use.strings.append(constant.value)
                use.none |= constant.value is None
                if type(constant.value) in (int, float):
                    use.add(constant.value)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if isinstance(node.op, ast.MatMult):
            self._add(node.right, "weight_t")
            self._add(node.right, "square")  # where a transpose is missing, nothing else runs
            self._add(node.right, "last")
            self._vector(node.right)
            if isinstance(node.right, (ast.Attribute, ast.Call)):
                inner = node.right.func if isinstance(node.right, ast.Call) else node.right
                if isinstance(inner, ast.Attribute) and inner.attr in ("T", "t", "mT", "transpose"):
                    self._add(inner.value, "weight")
        if isinstance(node.op, (ast.FloorDiv, ast.LShift)):
            self._add(node.right, 2)
        if isinstance(node.op, ast.Pow) and isinstance(node.left, ast.Constant):
            self._add(node.right, 3)
        self.generic_visit(node)

    def _vector(self, node: ast.expr) -> None:
        """``a @ x.unsqueeze(-1)``: a vector, made a column for the product."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "unsqueeze":
            use = self.use(node.func.value)
            if use is not None and [*map(_integer, node.args)] == [-1]:
                use.kinds.insert(0, "last")

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Invert):
            self._add(node.operand, "mask")
        self._truth(node.operand if isinstance(node.op, ast.Not) else None)
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        self._truth(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._truth(node.test)
        self.generic_visit(node)

    def _truth(self, node: ast.expr | None) -> None:
        if node is not None and (use := self.use(node)) is not None:
            use.add(True)
            use.add(False)

    def visit_For(self, node: ast.For) -> None:
        self._add(node.iter, "list")
        if isinstance(node.target, ast.Name) and node.target.id.startswith("_") and isinstance(node.iter, ast.Call):
            for argument in node.iter.args:  # nothing depends on which turn it is: it iterates until it has converged
                if (use := self.use(argument)) is not None:
                    use.repeats = True
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        shape, at = _shape_of(node.value), _integer(node.slice)
        if shape is not None and at is not None and (use := self.use(shape)) is not None:
            use.at_least = max(use.at_least, at + 1 if at >= 0 else -at)
        for part in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
            self._add(part, "index")
            if isinstance(part, ast.Slice):
                for bound in (part.lower, part.upper, part.step):
                    if bound is not None:
                        self._add(bound.operand if isinstance(bound, ast.UnaryOp) else bound, 2)
        if isinstance(node.slice, ast.Tuple) and (use := self.use(node.value)) is not None:
            plain = [part for part in node.slice.elts if not (isinstance(part, ast.Constant) and part.value is None)]
            fixed = not any(isinstance(p, ast.Constant) and p.value is ... for p in plain)
            use.tensor += 1
            use.at_least = max(use.at_least, len(plain) if fixed else 1)
            if not fixed and len(plain) == 2:
                use.reads(plain[-1])
        self.generic_visit(node)


def _of_torch(func: ast.expr, place: int) -> bool:
    """Whether a call is of a function of torch, which takes a tensor first."""
    while isinstance(func, ast.Attribute):
        func = func.value
    return place == 0 and isinstance(func, ast.Name) and func.id in ("torch", "F")


def _shape_of(node: ast.expr) -> ast.expr | None:
    """The tensor whose shape an expression is."""
    if isinstance(node, ast.Attribute) and node.attr == "shape":
        return node.value
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "size"
        and not node.args
    ):
        return node.func.value
    return None


def _dim_of(node: ast.expr) -> ast.expr | None:
    """The tensor whose number of dimensions an expression is."""
    if isinstance(node, ast.Attribute) and node.attr == "ndim":
        return node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("dim", "ndimension"):
        return node.func.value
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "len" and node.args:
        return _shape_of(node.args[0])
    return None


def _integer(node: ast.AST) -> int | None:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None
    return value if type(value) is int else None
