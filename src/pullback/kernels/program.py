"""What a kernel computes: a graph of pointwise operations and sums, read into typed steps.

A step has a place. *Scalar* steps depend on numbers and one-element tensors alone and run once; *element* steps run for
each element of the broadcast shape; *cell* steps come after a sum and run once for each of its results.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from pullback._torch import hint
from pullback.graph.trace import aten_name
from pullback.kernels.compile import Unsupported
from pullback.kernels.operations import ARITHMETIC, COMPARISONS, COMPOSITE, HEAVY, LOGICAL, SLOW

Node = torch.fx.Node
NUMBER, SCALAR, ELEMENT, CELL = range(4)
SIZE = object()
"""Stands for a size: shapes are known where the kernel is called."""
KINDS = {
    torch.float32: "f32", torch.bfloat16: "f32", torch.float16: "f32", torch.float64: "f64", torch.bool: "bool",
    torch.int64: "i64", torch.int32: "i64", torch.int16: "i64", torch.int8: "i64", torch.uint8: "i64",
}  # fmt: skip
"""The type that each storage type is computed in."""
C_TYPES = {"f32": "float", "f64": "double", "i64": "int64_t", "bool": "int"}
_SHORT = {torch.bfloat16: "bf16", torch.float16: "f16"}
_SAME = {"expand", "alias", "detach", "clone", "contiguous", "lift_fresh_copy", "positive"}
_RESHAPE = {"view", "reshape", "_unsafe_view", "unsqueeze", "squeeze"}
_FILL = {
    "full": 1,
    "full_like": 1,
    "scalar_tensor": 0,
    "zeros_like": None,
    "ones_like": None,
    "zeros": None,
    "ones": None,
    "empty_permuted": None,
}
_ON_NUMBERS: dict[Any, str] = {
    operator.add: "({0} + {1})", operator.sub: "({0} - {1})", operator.mul: "({0} * {1})",
    operator.truediv: "({0} / {1})", operator.neg: "(-{0})", operator.pow: "pow({0}, {1})",
    torch.sym_float: "{0}",
}  # fmt: skip


@dataclass(frozen=True)
class Value:
    """The result of a step: a C name, its type, where it is computed, and for a cell the dimensions summed over."""

    name: str
    kind: str
    place: int
    over: tuple[int, ...] = ()


@dataclass(frozen=True)
class Operand:
    """A tensor that goes in: its C name, storage type, whether it has one element, and its dimensions.

    A *packed* one is boolean; where everything is contiguous it may come eight elements to a byte.
    """

    name: str
    dtype: torch.dtype
    scalar: bool
    rank: int
    packed: bool = False


@dataclass(frozen=True)
class Step:
    """One C statement: ``value = template(args)``."""

    value: Value
    template: str
    args: tuple[Value, ...]
    heavy: str = ""  # the vector function it calls


@dataclass(frozen=True)
class Output:
    """A tensor that comes out; ``None`` for a gradient of zero. *Packed* as an `Operand`.

    Its sizes are those of these dimensions of the broadcast shape, and 1 for a dimension of -1.
    """

    value: Value
    dtype: torch.dtype
    dims: tuple[int, ...] = ()
    packed: bool = False


@dataclass
class Program:
    """Everything about one kernel that its C is written from.

    Args:
        operands: The tensors that go in, in the order of the graph's placeholders; ``None`` for sizes.
        numbers: The C names of the numbers that go in.
        steps: In an order in which they can run.
        sums: For each sum, its result and what is summed.
        outputs: In order.
        rank: The number of dimensions of the broadcast shape.
    """

    operands: list[Operand] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)
    inputs: list[tuple[str, int]] = field(default_factory=list)  # per placeholder: "tensor", "number" or "size"; index
    steps: list[Step] = field(default_factory=list)
    sums: list[tuple[Value, Value]] = field(default_factory=list)
    outputs: list[Output | None] = field(default_factory=list)
    rank: int = 0

    def pack(self, operands: Sequence[int], outputs: Sequence[int]) -> None:
        """Let conditions go in and come out eight to a byte: those that are kept from forward to backward."""
        for i in operands:
            o = self.operands[i]
            self.operands[i] = replace(o, packed=o.dtype is torch.bool and not o.scalar and o.rank == self.rank)
        for i in outputs:
            out = self.outputs[i]
            if out is not None:
                self.outputs[i] = replace(out, packed=out.dtype is torch.bool and out.value.place == ELEMENT)

    @property
    def packs(self) -> bool:
        """Whether any condition goes in or comes out packed."""
        return any(o.packed for o in self.operands) or any(o is not None and o.packed for o in self.outputs)

    @property
    def slow(self) -> list[str]:
        """The functions that it computes without vectors."""
        return sorted({s.heavy for s in self.steps if (s.heavy, s.value.kind) in SLOW})


def read(module: torch.fx.GraphModule) -> Program:
    """The program of a graph.

    Raises:
        Unsupported: If the graph holds anything but pointwise operations and sums, or a type without kernels.
    """
    reader = _Reader(module)
    for node in module.graph.nodes:
        reader.visit(node)
    return reader.program


def literal(value: float, kind: str) -> str:
    """A number as C."""
    if kind in ("i64", "bool"):
        return f"({int(value)})"
    value = float(torch.tensor(value, dtype=torch.float32)) if kind == "f32" else float(value)
    if value != value:
        return "NAN"
    if value in (float("inf"), float("-inf")):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    return f"({value.hex()}{'f' if kind == 'f32' else ''})"


def shape(node: Node) -> tuple[int, ...]:
    """The sizes that a node's tensor had when it was traced."""
    return tuple(hint(s) for s in node.meta["val"].shape)


class _Reader:
    """Reads a graph; also the builder of composite operations, whose attributes are operations."""

    def __init__(self, module: torch.fx.GraphModule) -> None:
        self.program, self.values = Program(), dict[Node, Any]()
        self.kind = "f32"
        self._known: dict[Any, Value] = {}
        tensors = [n for n in module.graph.nodes if isinstance(n.meta.get("val"), torch.Tensor)]
        try:
            self.whole = torch.broadcast_shapes(*(shape(n) for n in tensors if n.op == "placeholder"))
        except RuntimeError as error:
            raise Unsupported("its arguments are not of one shape") from error
        self.program.rank = len(self.whole)
        if not tensors or not all(n.meta["val"].device.type in ("cpu", "meta") for n in tensors):
            raise Unsupported("its tensors are not on the CPU")
        strange = {n.meta["val"].dtype for n in tensors} - set(KINDS)
        if strange:
            raise Unsupported(f"no kernels for {', '.join(str(d).removeprefix('torch.') for d in strange)}")

    # ---- nodes

    def visit(self, node: Node) -> None:
        if node.op == "placeholder":
            self.values[node] = self._input(node)
        elif node.op == "output":
            self.program.outputs = [self._output(n) for n in node.args[0]]  # type: ignore[union-attr]
        elif node.op == "get_attr":
            raise Unsupported("it holds a tensor constant")
        else:
            self.values[node] = self._call(node)

    def _input(self, node: Node) -> Any:
        program, val = self.program, node.meta.get("val", 0)  # a whole number that was taken as it is has none
        if isinstance(val, torch.Tensor):
            scalar = val.ndim == 0 or (all(s == 1 for s in shape(node)) and any(s != 1 for s in self.whole))
            scalar = scalar and self.whole != ()
            name = f"x{len(program.operands)}"
            program.inputs.append(("tensor", len(program.operands)))
            program.operands.append(Operand(name, val.dtype, scalar, val.ndim))
            return Value(name, KINDS[val.dtype], SCALAR if scalar else ELEMENT)
        if isinstance(val, (int, torch.SymInt)):
            program.inputs.append(("size", 0))
            return SIZE
        name = f"h{len(program.numbers)}"
        program.inputs.append(("number", len(program.numbers)))
        program.numbers.append(name)
        return Value(name, "f64", NUMBER)

    def _output(self, node: Any) -> Output | None:
        if node is None or not isinstance(node.meta["val"], torch.Tensor):
            return None
        value, dtype = self.values[node], node.meta["val"].dtype
        if value.place == ELEMENT and shape(node) != self.whole:
            raise Unsupported("a result is smaller than the broadcast arguments")
        if value.place <= SCALAR and shape(node) == self.whole:
            value = self._step("{0}", value.kind, [value], place=ELEMENT)
        elif value.place <= SCALAR and any(s != 1 for s in shape(node)):
            raise Unsupported("a result is smaller than the broadcast arguments")
        return Output(self.cast(value, KINDS[dtype]), dtype, self._dims(value, shape(node)))

    def _dims(self, value: Value, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """Where the sizes come from; all calls have those of 1 in the same places."""
        if value.place == ELEMENT:
            return tuple(range(len(sizes)))
        left = iter([d for d, n in enumerate(self.whole) if n != 1 and d not in value.over])
        return tuple(-1 if n == 1 else next(left) for n in sizes)

    def _call(self, node: Node) -> Any:
        if node.target in _ON_NUMBERS:
            return self._on_numbers(node)
        name = aten_name(node.target)
        if name == "sym_size":
            return SIZE
        args: list[Any] = [self.values[a] if isinstance(a, Node) else a for a in node.args]
        kwargs = {k: self.values[v] if isinstance(v, Node) else v for k, v in node.kwargs.items()}
        if name == "sum":
            return self._sum(node, args)
        if name in _SAME or name == "_to_copy":
            return self._same(node, name, args[0])
        if name in _RESHAPE:
            return self._reshape(node, args[0])
        if name in _FILL:
            return self._fill(node, name, args)
        if node.target is operator.getitem and isinstance(args[0], tuple):
            return args[0][args[1]]
        return self._operation(node, name, args, kwargs)

    def _on_numbers(self, node: Node) -> Value:
        args = [self.number(self.values[a] if isinstance(a, Node) else a) for a in node.args]
        return self._step(_ON_NUMBERS[node.target], "f64", args)

    def number(self, value: Any) -> Value:
        return self.cast(value, "f64")

    def _same(self, node: Node, name: str, value: Value) -> Value:
        """A copy; in another type where one was asked for, which rounds."""
        dtype = node.meta["val"].dtype
        value = self.cast(value, KINDS[dtype])
        if name == "_to_copy" and dtype in _SHORT and node.args[0].meta["val"].dtype != dtype:  # type: ignore[union-attr]
            return self._rounded(value, dtype)
        if name == "_to_copy" and dtype in (torch.int32, torch.int16, torch.int8, torch.uint8):
            return self._step(f"(int64_t)({str(dtype).removeprefix('torch.')}_t){{0}}", "i64", [value])
        return value

    def _reshape(self, node: Node, value: Any) -> Any:
        """Sums and single elements have no layout yet; elements keep theirs."""
        before = shape(node.args[0])  # type: ignore[arg-type]
        if value.place == ELEMENT and before != shape(node):
            raise Unsupported("it reshapes")
        if value.place == CELL and _squeezed(before) != _squeezed(shape(node)):
            raise Unsupported("it reshapes a sum")
        return value

    def _fill(self, node: Node, name: str, args: list[Any]) -> Value:
        at = _FILL[name]
        value = args[at] if at is not None else 1 if name.startswith("ones") else 0
        dtype = node.meta["val"].dtype
        if isinstance(value, Value):
            return self.cast(value, KINDS[dtype])
        return Value(literal(value, KINDS[dtype]), KINDS[dtype], NUMBER)

    # ---- operations

    def _operation(self, node: Node, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        kind = self._kind(node)
        self._check_cells(node)
        self._check_rounding(node, name, args)
        self.kind = kind
        args = self._compared(node, args) if name in COMPARISONS and len(args) == 2 else args
        kwargs = {k: v for k, v in kwargs.items() if not isinstance(v, (torch.dtype, torch.device, torch.layout))}
        kwargs = {k: v for k, v in kwargs.items() if k not in ("pin_memory", "memory_format")}
        run = getattr(self, name or "_unknown", None) if name in KNOWN else None
        if run is None:
            raise Unsupported(f"no C for {node.target}")
        try:
            value = run(*args, **kwargs)
        except TypeError as error:
            raise Unsupported(f"no C for this form of {name}") from error
        if isinstance(value, tuple):
            return tuple(self.cast(v, KINDS[t.dtype]) for v, t in zip(value, node.meta["val"], strict=True))
        return self.cast(value, KINDS[node.meta["val"].dtype])

    def _check_cells(self, node: Node) -> None:
        """What meets a sum must have the sum's shape."""
        nodes = [(n, self.values[n]) for n in node.all_input_nodes if isinstance(self.values[n], Value)]
        sums = [v.over for _, v in nodes if v.place == CELL]
        for other, value in nodes:
            if sums and value.place == ELEMENT and not self._fits(shape(other), sums[0]):
                raise Unsupported("a sum meets what has another shape")

    def _check_rounding(self, node: Node, name: str, args: list[Any]) -> None:
        """Narrow integers wrap, and what is compared with narrow numbers is rounded to them: kernels do neither."""
        dtype = node.meta["val"].dtype if isinstance(node.meta["val"], torch.Tensor) else None
        if dtype in _WRAPS and name not in ("where", *LOGICAL):
            raise Unsupported(f"it computes in {str(dtype).removeprefix('torch.')}")
        if any(isinstance(a, float) and a != a for a in args):
            raise Unsupported("a number of it is NaN")
        if name in COMPARISONS and len(args) == 2:
            common = torch.result_type(*(_example(a) for a in node.args[:2]))
            if any(not _survives(a, common) for a in args):
                raise Unsupported("it compares with a number that its type would round")

    def _compared(self, node: Node, args: list[Any]) -> list[Any]:
        """Both sides of a comparison: PyTorch rounds a wider tensor with one element to the other's narrow type."""
        common = torch.result_type(*(_example(a) for a in node.args[:2]))
        wide = [isinstance(a, Node) and isinstance(v := a.meta["val"], torch.Tensor) and v.dtype != common
                for a in node.args]  # fmt: skip
        return [self._rounded(self.cast(v, "f32"), common) if w and common in _SHORT else v
                for v, w in zip(args, wide, strict=True)]  # fmt: skip

    def _rounded(self, value: Value, dtype: torch.dtype) -> Value:
        short = _SHORT[dtype]
        return self._step(f"pb_from_{short}(pb_to_{short}({{0}}))", "f32", [value])

    def _fits(self, sizes: tuple[int, ...], over: tuple[int, ...]) -> bool:
        full = (1,) * (len(self.whole) - len(sizes)) + sizes
        return all(s == (1 if d in over else w) for d, (s, w) in enumerate(zip(full, self.whole, strict=True)))

    def _kind(self, node: Node) -> str:
        """The type that an operation is computed in: its result's, or for conditions that of what they compare."""
        dtype = node.meta["val"].dtype if isinstance(node.meta["val"], torch.Tensor) else node.meta["val"][0].dtype
        if dtype != torch.bool:
            return KINDS[dtype]
        sides = [_example(a) for a in node.args if isinstance(a, (Node, int, float))]
        return KINDS[torch.result_type(*sides)] if len(sides) == 2 else KINDS[torch.result_type(sides[0], sides[0])]

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name in COMPOSITE:
            return lambda *args, **kwargs: COMPOSITE[name](self, *args, **kwargs)
        if name in COMPARISONS:
            return lambda a, b: self._step(f"({{0}} {COMPARISONS[name]} {{1}})", "bool", self._sides(a, b))
        if name in LOGICAL:
            return lambda *args: self._step(LOGICAL[name], "bool", [self._condition(name, a) for a in args])
        if name in HEAVY:
            holes = ", ".join(f"{{{i}}}" for i in range(HEAVY[name]))
            return lambda *args: self._arithmetic(f"pb_{name}_{{t}}({holes})", args, name)
        if name in ARITHMETIC:
            return lambda *args: self._arithmetic(ARITHMETIC[name], args)
        raise AttributeError(name)

    def where(self, condition: Any, a: Any, b: Any) -> Value:
        args = [self.cast(condition, "bool"), self.cast(a, self.kind), self.cast(b, self.kind)]
        return self._step("({0} ? {1} : {2})", self.kind, args)

    def ones_like(self, x: Value) -> Value:
        return Value(literal(1, self.kind), self.kind, NUMBER)

    def _sides(self, a: Any, b: Any) -> list[Value]:
        return [self.cast(a, self.kind), self.cast(b, self.kind)]

    def _condition(self, name: str, value: Any) -> Value:
        if name.startswith("bitwise") and isinstance(value, Value) and value.kind != "bool":
            raise Unsupported(f"{name} of integers")
        return self.cast(value, "bool")

    def _arithmetic(self, template: str, args: tuple[Any, ...], heavy: str = "") -> Value:
        kind = self.kind if self.kind != "bool" else "i64"
        if heavy and kind == "i64":
            raise Unsupported(f"{heavy} of integers")
        template = template.replace("{t}", kind).replace("{c}", C_TYPES[kind])
        return self._step(template, kind, [self.cast(a, kind) for a in args], heavy)

    def cast(self, value: Any, kind: str) -> Value:
        """A value in another type."""
        if not isinstance(value, Value):
            if not isinstance(value, (bool, int, float)):
                raise Unsupported("it computes with sizes" if value is SIZE else f"no C for the argument {value!r}")
            return Value(literal(value, kind), kind, NUMBER)
        if value.kind == kind:
            return value
        return self._step("({0} != 0)" if kind == "bool" else f"(({C_TYPES[kind]}){{0}})", kind, [value])

    def _step(self, template: str, kind: str, args: list[Value], heavy: str = "", place: int | None = None) -> Value:
        key = template, tuple(args), place
        if key not in self._known:
            place, over = self._where(args) if place is None else (place, ())
            value = Value(f"t{len(self._known)}", kind, max(place, SCALAR), over)
            self._known[key] = value
            self.program.steps.append(Step(value, template, tuple(args), heavy))
        return self._known[key]

    def _where(self, args: list[Value]) -> tuple[int, tuple[int, ...]]:
        place = max((a.place for a in args), default=NUMBER)
        cells = {a.over for a in args if a.place == CELL}
        if len(cells) > 1:
            raise Unsupported("sums of different shapes meet")
        return place, next(iter(cells), ())

    def _sum(self, node: Node, args: list[Any]) -> Value:
        value, before = args[0], shape(node.args[0])  # type: ignore[arg-type]
        if value.place <= SCALAR and all(s == 1 for s in before):
            return self.cast(value, KINDS[node.meta["val"].dtype])
        if value.place != ELEMENT or before != self.whole:
            raise Unsupported("it sums a part of the elements")
        dims = args[1] if len(args) > 1 and args[1] else range(len(before))
        over = tuple(sorted(d % len(before) for d in dims))
        kind = KINDS[node.meta["val"].dtype]
        if kind not in ("f32", "f64"):
            raise Unsupported("it counts")
        result = Value(f"s{len(self.program.sums)}", kind, CELL, over)
        self.program.sums.append((result, self.cast(value, kind)))
        return result


KNOWN = {*COMPOSITE, *COMPARISONS, *LOGICAL, *ARITHMETIC, *HEAVY, "where"}


_WRAPS = {torch.uint8, torch.int8, torch.int16, torch.int32}
_NARROW = {torch.bfloat16, torch.float16, *_WRAPS}


def _survives(value: Any, dtype: torch.dtype) -> bool:
    """Whether a number stays what it is in a narrow type; a number that is an argument may not."""
    if isinstance(value, Value):
        return value.place != NUMBER or dtype not in _NARROW
    if dtype not in _NARROW:
        return True
    try:
        return bool(torch.tensor(value, dtype=dtype).item() == value)
    except (RuntimeError, OverflowError):
        return False


def _squeezed(sizes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(s for s in sizes if s != 1)


def _example(arg: Any) -> Any:
    """Something of the type and rank of an argument, to ask PyTorch for the type they are computed in."""
    val = arg.meta["val"] if isinstance(arg, Node) else arg
    if isinstance(val, torch.Tensor):
        return torch.empty((1,) * val.ndim, dtype=val.dtype)
    return 1.0 if isinstance(val, (float, torch.SymFloat)) else 1
