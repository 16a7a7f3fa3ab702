"""C text from a program.

A kernel runs over chunks of elements, a chunk over blocks that fit the first-level cache, a block in several small
loops: one for each vector function, so that each keeps its constants in registers. Nothing in the text comes from
the user's names; numbers are hexadecimal floats.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

import torch

from pullback.kernels.operations import ALIKE, MENDED
from pullback.kernels.program import C_TYPES, CELL, ELEMENT, KINDS, SCALAR, Operand, Output, Program, Step, Value

CHUNK = 16384
"""Elements that one thread takes at a time, at least."""
BUFFERS = 24576
"""Bytes of the first-level cache that the buffers of a block may take."""
STORAGE = {
    torch.float32: "float", torch.float64: "double", torch.bfloat16: "uint16_t", torch.float16: "uint16_t",
    torch.bool: "uint8_t", torch.int64: "int64_t", torch.int32: "int32_t", torch.int16: "int16_t",
    torch.int8: "int8_t", torch.uint8: "uint8_t",
}  # fmt: skip
_READ = {torch.bfloat16: "pb_from_bf16({})", torch.float16: "pb_from_f16({})", torch.bool: "({} != 0)"}
_WRITE = {torch.bfloat16: "pb_to_bf16({})", torch.float16: "pb_to_f16({})"}


@dataclass(frozen=True)
class Source:
    """The text of a kernel and the order of what it is called with.

    Args:
        text: The C.
        elements: The operands that have a place in the geometry, by index; then come the outputs.
        stored: The outputs that have a place in the geometry, by index.
        groups: For each place of the geometry that a group of sums has: the dimensions summed over.
        after: The operands that are read beside sums, with the group: they must be laid out as the sums are.
    """

    text: str
    elements: tuple[int, ...]
    stored: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]
    after: tuple[tuple[int, tuple[int, ...]], ...]

    @property
    def own(self) -> str:
        """The text without what all kernels begin with."""
        return self.text.removeprefix(header()).strip()


def emit(program: Program) -> Source:
    """The C of a program."""
    return _Writer(program).source()


@cache
def header() -> str:
    """The C that every kernel begins with."""
    here = files("pullback.kernels")
    return "".join((here / name).read_text(encoding="utf-8") for name in ("maths.h", "blocks.h"))


class _Writer:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.outputs = [o for o in program.outputs if o is not None]
        wanted = self._wanted()
        self.steps = [s for s in program.steps if s.value in wanted]
        self.sums = [(result, value) for result, value in program.sums if result in wanted]
        self.groups = tuple(dict.fromkeys(result.over for result, _ in self.sums))
        self.elements = [i for i, o in enumerate(program.operands) if not o.scalar and self._reads(o, wanted)]
        self.stored = [i for i, o in enumerate(self.outputs) if o.value.place == ELEMENT]
        self.loops = list(_loops([s for s in self.steps if s.value.place == ELEMENT]))
        self.kept = self._kept()

    def source(self) -> Source:
        """The text and how to call it."""
        text = "\n".join([header(), *self._job(), *self._block(), *self._work(), *self._after(), *self._entry(), ""])
        groups = {r.over for r, _ in self.sums}
        outs = self.program.outputs
        assert groups == set(self.groups)
        stored = tuple(i for i, o in enumerate(outs) if o is not None and o.value.place == ELEMENT)
        return Source(text, tuple(self.elements), stored, self.groups, tuple(self._beside()))

    # ---- what is needed

    def _wanted(self) -> set[Value]:
        made = {s.value: s.args for s in self.program.steps} | {r: (v,) for r, v in self.program.sums}
        wanted, todo = set[Value](), [o.value for o in self.outputs]
        while todo:
            value = todo.pop()
            if value not in wanted:
                wanted.add(value)
                todo.extend(made.get(value, ()))
        return wanted

    def _reads(self, operand: Operand, wanted: set[Value]) -> bool:
        return any(v.name == operand.name for v in wanted)

    def _kept(self) -> dict[str, Value]:
        """The element values that outlive their loop: in buffers."""
        home = {s.value.name: i for i, loop in enumerate(self.loops) for s in loop}
        kept = {}
        for i, loop in enumerate(self.loops):
            for step in loop:
                if step.heavy in MENDED:
                    kept.update({v.name: v for v in (step.value, *step.args) if v.name in home})
                kept.update({a.name: a for a in step.args if home.get(a.name, i) != i})
        kept.update({v.name: v for _, v in self.sums if v.name in home})
        return kept

    # ---- parts of the text

    def _job(self) -> Iterator[str]:
        yield "typedef struct {"
        yield "  int64_t n, chunk, next; const int64_t *g; double *part;"
        yield from (f"  const {STORAGE[o.dtype]} *{o.name};" for o in self.program.operands)
        yield from (f"  {STORAGE[o.dtype]} *o{i};" for i, o in enumerate(self.outputs))
        yield from (f"  double {h};" for h in self.program.numbers)
        yield f"  int64_t cells[{len(self.groups) + 1}], at[{len(self.sums) + 1}], size; int packed;"
        yield "} pb_job;"

    def _scalars(self) -> Iterator[str]:
        """What depends on numbers and single elements alone."""
        yield from (f"  const double {h} = J->{h};" for h in self.program.numbers)
        for o in self.program.operands:
            if o.scalar:
                yield f"  const {C_TYPES[KINDS[o.dtype]]} {o.name} = {_read(o.dtype, f'*J->{o.name}')};"
        for step in self.steps:
            if step.value.place <= SCALAR:  # one value: no need for vectors, so the standard function, right everywhere
                plain = replace(step, template=f"{step.heavy}({{0}})") if step.heavy in MENDED else step
                yield f"  const {_statement(plain)}"

    def _block(self) -> Iterator[str]:
        size = self._block_size()
        yield "static void pb_block(const pb_job *J, int64_t lo, int64_t hi, double *part) {"
        yield "  const int64_t *g = J->g; (void)part; (void)g;"
        yield from self._scalars()
        for i in self.elements:
            o = self.program.operands[i]
            yield f"  {C_TYPES[KINDS[o.dtype]]} b_{o.name}[{size}] __attribute__((aligned(64)));"
            if _read(o.dtype, "") != "":
                yield f"  {STORAGE[o.dtype]} r_{o.name}[{size}] __attribute__((aligned(64)));"
        for i in self.stored:
            out = self.outputs[i]
            yield f"  {C_TYPES[out.value.kind]} b_o{i}[{size}] __attribute__((aligned(64)));"
            if out.dtype in _WRITE or STORAGE[out.dtype] != C_TYPES[out.value.kind]:
                yield f"  {STORAGE[out.dtype]} r_o{i}[{size}] __attribute__((aligned(64)));"
        for v in self.kept.values():
            yield f"  {C_TYPES[v.kind]} k_{v.name}[{size}] __attribute__((aligned(64)));"
        yield f"  for (int64_t q = lo; q < hi; q += {size}) {{"
        yield f"    const int64_t m = hi - q < {size} ? hi - q : {size}, v = (m + 15) / 16 * 16;"
        for place, i in enumerate(self.elements):
            yield from self._load(place, self.program.operands[i])
        yield from self._targets()
        for loop in self.loops or [[]]:
            yield from self._loop(loop)
        yield from self._stores()
        yield from self._adds()
        yield "  }"
        yield "}"

    def _block_size(self) -> int:
        count = len(self.kept) + sum(_read(self.program.operands[i].dtype, "") != "" for i in self.elements)
        count += len(self.elements) + len(self.stored)
        wide = any(v.kind in ("f64", "i64") for v in self.kept.values())
        size = 1024
        while size > 128 and size * count * (8 if wide else 4) > BUFFERS:
            size //= 2
        return size

    def _load(self, place: int, o: Operand) -> Iterator[str]:
        """A pointer to the block of an operand: into the tensor where it fits as it is, else into a buffer."""
        c, n, width = C_TYPES[KINDS[o.dtype]], o.name, o.dtype.itemsize
        direct = STORAGE[o.dtype] == c
        buffer = f"b_{n}" if direct else f"r_{n}"
        raw = f"const {STORAGE[o.dtype]} *{'p' if direct else 'w'}_{n}"
        word = f"uint{8 * width}_t"
        yield f"    {raw} = {buffer};"
        if o.packed:
            yield f"    if (J->packed) pb_unpack(b_{n}, J->{n} + q / 8, m);"
            yield "    else {"
        yield f"    if (PB_LINEAR(g, {place})) {{"
        yield f"      if (m == v) {'p' if direct else 'w'}_{n} = J->{n} + q;"
        yield f"      else memcpy({buffer}, J->{n} + q, {width} * (size_t)m);"
        yield "    }"
        yield f"    else pb_gather_{width}(({word} *){buffer}, (const {word} *)J->{n},"
        yield f"                           g, PB_STRIDES(g, {place}), q, m);"
        if not direct:
            yield f"    for (int64_t j = 0; j < v; j++) b_{n}[j] = {_read(o.dtype, f'w_{n}[j]')};"
        if o.packed:
            yield "    }"
        if not direct:
            yield f"    const {c} *p_{n} = b_{n};"

    def _targets(self) -> Iterator[str]:
        for at, i in enumerate(self.stored):
            out, place = self.outputs[i], len(self.elements) + at
            c = C_TYPES[out.value.kind]
            if STORAGE[out.dtype] == c:
                yield f"    {c} *restrict q_o{i} = PB_LINEAR(g, {place}) && m == v ? J->o{i} + q : b_o{i};"
            else:
                yield f"    {c} *restrict q_o{i} = b_o{i};"

    def _loop(self, loop: list[Step]) -> Iterator[str]:
        """One loop over the block, and the repair of what its vector function gets wrong."""
        made = {s.value.name for s in loop}
        last = loop is (self.loops or [[]])[-1] or not self.loops
        stores = [(i, self.outputs[i].value) for i in self.stored]
        stores = [(i, v) for i, v in stores if v.name in made or (last and not self._computed(v))]
        mended = [s for s in loop if s.heavy in MENDED]
        stores = [(i, v) for i, v in stores if not any(s.value == v for s in mended)]
        if not loop and not stores:
            return
        yield "    _Pragma(PB_SIMD)"
        yield "    for (int64_t j = 0; j < v; j++) {"
        for v in dict.fromkeys(a for s in loop for a in s.args):
            if v.name not in made:
                yield from self._fetch(v)
        for _, v in stores:
            if v.name not in made and v not in {a for s in loop for a in s.args}:
                yield from self._fetch(v)
        for step in loop:
            yield f"      const {_statement(step)}"
            if step.value.name in self.kept:
                yield f"      k_{step.value.name}[j] = {step.value.name};"
        yield from (f"      q_o{i}[j] = {v.name};" for i, v in stores)
        yield "    }"
        for step in mended:
            yield from self._mend(step)

    def _mend(self, step: Step) -> Iterator[str]:
        (x,), y = step.args, f"k_{step.value.name}"
        pointer = self._pointer(x)
        yield f"    if (pb_beyond_{x.kind}({pointer}, m)) pb_mend_{step.heavy}_{x.kind}({pointer}, {y}, m);"
        for i in self.stored:
            if self.outputs[i].value == step.value:
                yield f"    memcpy(q_o{i}, {y}, sizeof *{y} * (size_t)m);"

    def _computed(self, value: Value) -> bool:
        return any(value == s.value for loop in self.loops for s in loop)

    def _pointer(self, value: Value) -> str:
        return f"k_{value.name}" if value.name in self.kept else f"p_{value.name}"

    def _fetch(self, value: Value) -> Iterator[str]:
        if value.place == ELEMENT:
            yield f"      const {C_TYPES[value.kind]} {value.name} = {self._pointer(value)}[j];"

    def _stores(self) -> Iterator[str]:
        """Outputs of another storage type, or of another layout, leave their buffers."""
        for at, i in enumerate(self.stored):
            out, place = self.outputs[i], len(self.elements) + at
            storage, width = STORAGE[out.dtype], out.dtype.itemsize
            word, c = f"uint{8 * width}_t", C_TYPES[out.value.kind]
            buffer = f"b_o{i}" if storage == c else f"r_o{i}"
            if out.packed:
                yield f"    if (J->packed) pb_pack(J->o{i} + q / 8, b_o{i}, m);"
                yield "    else {"
            if storage != c:
                yield f"    for (int64_t j = 0; j < v; j++) {buffer}[j] = {_write(out.dtype, f'b_o{i}[j]')};"
            direct = "m != v" if storage == c else "1"
            yield f"    if (!PB_LINEAR(g, {place}))"
            yield f"      pb_scatter_{width}(({word} *)J->o{i}, ({word} *){buffer}, g, PB_STRIDES(g, {place}), q, m);"
            yield f"    else if ({direct}) memcpy(J->o{i} + q, {buffer}, {width} * (size_t)m);"
            if out.packed:
                yield "    }"

    def _adds(self) -> Iterator[str]:
        for at, (result, value) in enumerate(self.sums):
            place = len(self.elements) + len(self.stored) + self.groups.index(result.over)
            k, v = value.kind, self._pointer(value)
            yield f"    if (J->cells[{self.groups.index(result.over)}] == 1) part[J->at[{at}]] += pb_sum_{k}({v}, m);"
            yield f"    else pb_add_{k}(part + J->at[{at}], {v}, g, {place}, q, m);"

    def _work(self) -> Iterator[str]:
        yield "static void pb_work(void *job) {"
        yield "  pb_job *J = job;"
        yield "  for (;;) {"
        yield "    int64_t c = __atomic_fetch_add(&J->next, 1, __ATOMIC_RELAXED), lo = c * J->chunk;"
        yield "    if (lo >= J->n) return;"
        yield "    double *part = J->part + c * J->size;"
        yield "    for (int64_t k = 0; k < J->size; k++) part[k] = 0;"
        yield "    pb_block(J, lo, lo + J->chunk < J->n ? lo + J->chunk : J->n, part);"
        yield "  }"
        yield "}"

    # ---- after the sums

    def _after(self) -> Iterator[str]:
        yield "static void pb_after(const pb_job *J) {"
        yield "  const double *part = J->part; (void)part;"
        yield from self._scalars()
        for i, o in enumerate(self.outputs):
            if o.value.place <= SCALAR:
                yield f"  *J->o{i} = {_write(o.dtype, o.value.name)};"
        for at, group in enumerate(self.groups):
            yield f"  for (int64_t c = 0; c < J->cells[{at}]; c++) {{"
            for k, (result, _) in enumerate(self.sums):
                if result.over == group:
                    c = C_TYPES[result.kind]
                    yield f"    const {c} {result.name} = ({c})part[J->at[{k}] + c];"
            for operand in self._operands_beside(group):
                c, n = C_TYPES[KINDS[operand.dtype]], operand.name
                yield f"    const {c} {n} = {_read(operand.dtype, f'J->{n}[c]')};"
            yield from (f"    const {_statement(s)}" for s in self._cell_steps(group))
            for i, o in enumerate(self.outputs):
                if o.value.place == CELL and o.value.over == group:
                    yield f"    J->o{i}[c] = {_write(o.dtype, o.value.name)};"
            yield "  }"
        yield "}"

    def _cell_steps(self, group: tuple[int, ...]) -> list[Step]:
        """The steps of one group, with the element steps that they use, which have the group's shape."""
        made = {s.value: s for s in self.steps}
        wanted = {s.value for s in self.steps if s.value.place == CELL and s.value.over == group}
        todo = list(wanted)
        while todo:
            for arg in made[todo.pop()].args:
                if arg.place == ELEMENT and arg in made and arg not in wanted:
                    wanted.add(arg)
                    todo.append(arg)
        return [s for s in self.steps if s.value in wanted]

    def _operands_beside(self, group: tuple[int, ...]) -> list[Operand]:
        names = {a.name for s in self._cell_steps(group) for a in s.args if a.place == ELEMENT}
        return [o for o in self.program.operands if o.name in names]

    def _beside(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        for group in self.groups:
            yield from ((self.program.operands.index(o), group) for o in self._operands_beside(group))

    # ---- the way in

    def _entry(self) -> Iterator[str]:
        arguments = [f"const void *{o.name}" for o in self.program.operands]
        arguments += [f"void *o{i}" for i in range(len(self.outputs))]
        arguments += [f"double {h}" for h in self.program.numbers]
        names = [o.name for o in self.program.operands] + [f"o{i}" for i in range(len(self.outputs))]
        first, given = (
            "int64_t n, const int64_t *g, pb_pool pool, int threads",
            ", ".join((*names, *self.program.numbers)),
        )
        yield f"static int pb_run(int packed, {first}, {', '.join(arguments)}) {{"
        yield "  pb_job J; double few[64];"
        yield "  J.n = n; J.g = g; J.next = 0; J.size = 0; J.part = few; J.packed = packed;"
        yield from (f"  J.{name} = {name};" for name in (*names, *self.program.numbers))
        yield f"  if (n > 0 && ({' || '.join(f'!{name}' for name in names)})) return 1;"
        for i in self.stored:
            yield f"  pb_large(o{i}, n * {self.outputs[i].dtype.itemsize});"
        tail = len(self.elements) + len(self.stored) + len(self.groups)
        for at in range(len(self.groups)):
            yield f"  J.cells[{at}] = g ? g[1 + g[0] + {tail} * (g[0] + 1) + {at}] : 1;"
        for at, (result, _) in enumerate(self.sums):
            yield f"  J.at[{at}] = J.size; J.size += J.cells[{self.groups.index(result.over)}];"
        yield f"  int many = J.size > {len(self.sums)};"
        yield "  int64_t most = 32 * J.size < n / 16 ? 32 * J.size : n / 16, least = many ? 4 * J.size : 0;"
        yield "  J.chunk = most > least ? most : least;"
        yield f"  J.chunk = many && J.chunk > {CHUNK} ? (J.chunk + 1023) / 1024 * 1024 : {CHUNK};"
        yield "  int64_t chunks = (n + J.chunk - 1) / J.chunk, doubles = (chunks ? chunks : 1) * J.size;"
        yield "  if (doubles > 64 && !(J.part = malloc(sizeof(double) * (size_t)doubles))) return 2;"
        yield "  if (!chunks) for (int64_t k = 0; k < J.size; k++) J.part[k] = 0;"
        yield "  if (pool && threads > 1 && chunks > 1) pool(pb_work, &J, (unsigned)threads, 0);"
        yield "  else pb_work(&J);"
        yield "  for (int64_t c = 1; c < chunks; c++)"
        yield "    for (int64_t k = 0; k < J.size; k++) J.part[k] += J.part[c * J.size + k];"
        yield "  pb_after(&J);"
        yield "  if (J.part != few) free(J.part);"
        yield "  return 0;"
        yield "}"
        for packed, name in enumerate(("pb_kernel", "pb_packed")[: 1 + self.program.packs]):
            yield '__attribute__((visibility("default")))'
            yield f"int {name}({first}, {', '.join(arguments)}) {{"
            yield f"  return pb_run({packed}, n, g, pool, threads, {given});"
            yield "}"
            yield from self._by_arrays(name, len(names))

    def _by_arrays(self, name: str, pointers: int) -> Iterator[str]:
        """The same entry for callers that know only at run time how many operands there are."""
        given = [f"p[{i}]" for i in range(pointers)] + [f"h[{i}]" for i in range(len(self.program.numbers))]
        common = "int64_t n, const int64_t *g, pb_pool pool, int threads"
        yield '__attribute__((visibility("default")))'
        yield f"int {name}_at({common}, void *const *p, const double *h) {{"
        yield f"  return {name}(n, g, pool, threads, {', '.join(given)});"
        yield "}"


def _loops(steps: list[Step]) -> Iterator[list[Step]]:
    """The steps in loops, each with one vector function at most, or several that have most of their work in common."""
    loop: list[Step] = []
    for step in _paired(steps):
        if loop and _apart(loop, step):
            yield loop
            loop = []
        loop.append(step)
    if loop:
        yield loop


def _paired(steps: list[Step]) -> Iterator[Step]:
    """The steps, those that have most of their work in common side by side."""
    rest = list(steps)
    while rest:
        first = rest[0]
        late = {s.value for s in rest}
        alike = [s for s in rest if s is first or (_work(s) == _work(first) != () and late.isdisjoint(s.args))]
        yield from alike
        rest = [s for s in rest if s not in alike]


def _work(step: Step) -> tuple[Any, ...]:
    """What a vector function works out before it comes to its own."""
    return (ALIKE.get(step.heavy, step.heavy), step.args[0]) if step.heavy else ()


def _apart(loop: list[Step], step: Step) -> bool:
    """Whether a step begins a new loop; what is mended later can only be used in the next one."""
    if loop[-1].heavy in MENDED or step.heavy:
        return any(s.heavy and _work(s) != _work(step) for s in loop)
    return False


def _statement(step: Step) -> str:
    return f"{C_TYPES[step.value.kind]} {step.value.name} = {step.template.format(*(a.name for a in step.args))};"


def _read(dtype: torch.dtype, text: str) -> str:
    """A stored element as the type it is computed in; empty for empty text where storage and type are one."""
    if dtype in _READ:
        return _READ[dtype].format(text)
    c = C_TYPES[KINDS[dtype]]
    return text if STORAGE[dtype] == c else f"(({c}){text})"


def _write(dtype: torch.dtype, text: str) -> str:
    if dtype in _WRITE:
        return _WRITE[dtype].format(text)
    return text if dtype not in STORAGE else f"(({STORAGE[dtype]}){text})"


def outputs(program: Program) -> list[Output]:
    """The outputs that a kernel writes, in the order in which it takes them."""
    return [o for o in program.outputs if o is not None]
