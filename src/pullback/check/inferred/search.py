"""A search for arguments that follows the errors: what stands behind the line that failed is changed first."""

from __future__ import annotations

import heapq
import inspect
import itertools
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from pullback import _describe
from pullback.check import battery, tree
from pullback.check.arguments import arguments
from pullback.check.case import Case, Outcome
from pullback.check.inferred import kinds, names, values
from pullback.check.inferred.names import is_parameter
from pullback.check.inferred.source import Method, Names, methods
from pullback.check.probes import contract
from pullback.check.target import Target

SECONDS = 6.0  # for the whole search
MORE = 1.0  # for further sets once one is found
GUESSES = 5
SURE = ("wrong-grad-count", "nested-tuple-return", "recompute-no-enable-grad", "dirty-not-returned", "undefined-name",
        "unknown-torch-attribute", "ctx-attribute-unset", "missing-grad-output", "grad-output-mutated",
        "legacy-nonstatic", "rng-not-saved", "saved-tensor-mutated", "inplace-unmarked")  # fmt: skip
FIRST = (9, 0)  # before anything that varies what failed
LATER = (0, 1)  # after what came further than that
COUNT = r"incorrect number of gradients.*got (\d+)"
DOUBLE = re.compile(r"float != double|double != float|Float.*Double|Double.*Float")
TWINS = ("channel", "last", "scalar", "tensor")  # what a weight and a bias may both be
SQUARE = {"weight": "square", "weight_t": "square", "out": "last"}  # what they are in a layer as wide as its input
GENERAL = ("tensor", "square", "weight_t", "positive")  # kinds of which a domain is a part
DOMAINS = ("spd", "nspd", "tril", "unit", "positive", names.distance, names.squared_distance)  # irreplaceable
BEYOND = 10**9  # the line of an error that comes after backward's last
FINAL = [  # errors that no arguments avert, and what they mean
    ("it has no implementation for the CPU", r"from the 'CPU' backend|CPU backend.*not (impl|avail)"),
    ("it has no forward of its own", r"type object '\w+' has no attribute|NotImplementedError: $"),
    ("it needs a GPU", r"not compiled with CUDA|no NVIDIA driver|No CUDA GPUs|CUDA driver|cuda.*not available"),
    ("it needs a GPU", r"(must|should) be (a |on )?CUDA|not a CUDA tensor"),
    ("it needs a library that is not here", r"triton|Pointer argument|'?_Nothing'? object|'_Nothing'"),
    (
        "it needs a process group",
        r"process group has not been|torch.distributed is not|init_process_group|parallel group is not",
    ),
    (
        "it needs a compiled library",
        r"no attribute '_?C'|'_OpNamespace'|undefined symbol|shared object|No module named",
    ),
]
REFUSED = re.compile(r"invalid gradient at index (\d+)(?: - got \[(.*?)\])?")
LACKS = re.compile(r"'(?:Tensor|Parameter)' object has no attribute '(\w+)'")
PATIENCE = 40  # trials that end so before the search gives up
Values = tuple[Any, ...]


@dataclass(frozen=True)
class State:
    """One set of arguments: the number of the main shape, and for each parameter that of its kind."""

    main: int
    chosen: tuple[int, ...]

    def changed(self, place: int, option: int) -> State:
        """The same with another kind for one parameter."""
        return State(self.main, (*self.chosen[:place], option, *self.chosen[place + 1 :]))


@dataclass
class Tried:
    """How far a set of arguments came: ``sure``, ``all``, ``forward`` or nothing; the error; which line raised it."""

    works: str
    message: str = ""
    stage: int = 0
    line: int = 0
    refused: int | None = None  # the argument whose gradient autograd refuses


class Clock:
    """Seconds of work, so that a busy machine finds what an idle one does; of waiting, a few times as many."""

    def __init__(self, seconds: float) -> None:
        self.work, self.wall = time.process_time() + seconds, time.perf_counter() + 4 * seconds

    def over(self) -> bool:
        """Whether they have passed."""
        return time.process_time() > self.work or time.perf_counter() > self.wall


def search(target: Target) -> tuple[list[Values], str]:
    """A few sets of arguments of different shapes for which forward and backward run, else for which forward runs."""
    return Search(target).run()


class Search:
    """Best first: the sets that came furthest are varied first."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.methods = methods(target)
        self.parameters, self.options = kinds.options(target)
        self.names = Names(tuple(p.name for p in self.parameters), self.methods)
        self.mains = _sorted(values.MAINS, kinds.rank(target), kinds.at_least(target))
        self.queue: list[tuple[Any, ...]] = []
        self.seen: set[State] = set()
        self.order = itertools.count()
        self.found: State | None = None
        self.wide = False
        self.passed, self.required = len(self.parameters), sum(p.default is p.empty for p in self.parameters)

    def run(self) -> tuple[list[Values], str]:
        """The sets found, and the last error of the set that came furthest."""
        self._start()
        clock, best = Clock(SECONDS), Tried("", "nothing tried", -1)
        partly: list[Values] = []
        hiding: State | None = None
        hopeless = 0
        while self.queue and not clock.over() and hopeless < PATIENCE:
            state = heapq.heappop(self.queue)[-1]
            given, tried = self._tried(state)
            if tried.works == "sure":
                return [self._short(given, "sure")], ""
            if tried.works == "all" and (hiding is None or _shows_more(given, self.values(hiding))):
                if not hides(given):
                    self.found = state
                    return self._more(state, given), ""
                clock = Clock(MORE) if hiding is None else clock
                hiding, tried = state, Tried("all", stage=3)
            if tried.works == "forward" and not partly:
                partly.append(given)
            if (tried.stage, tried.line) > (best.stage, best.line):
                best = tried
            hopeless += final(tried.message) != ""
            self._vary(state, tried)
        if hiding is not None:
            self.found = hiding
            return self._more(hiding, self.values(hiding)), ""
        return partly, final(best.message) or best.message

    def _tried(self, state: State) -> tuple[Values, Tried]:
        """The arguments of a state and how far they come; a first error may say how all are to be given."""
        given = self.values(state)
        tried = self.trial(given)
        if not self.wide and DOUBLE.search(tried.message):  # it holds float64 tensors of its own
            self.wide = True
            given = self.values(state)
            tried = self.trial(given)
        if self._leaves_out(tried) and self.trial(self._required(given)).works in ("all", "forward"):
            self.passed = self.required  # backward returns nothing for defaults: nobody passes them
            given = self.values(state)
            tried = self.trial(given)
        return given, tried

    def _leaves_out(self, tried: Tried) -> bool:
        """Whether backward returns nothing for any default: then nobody passes them."""
        count = re.search(COUNT, tried.message)
        return count is not None and int(count[1]) <= self.required

    def _start(self) -> None:
        first = State(0, (0,) * len(self.parameters))
        mains = range(len(self.mains)) if values.has_tensor(self._kinds(first)) else range(1)
        for main in mains:
            progress = FIRST if values.shows(self.mains[main]) else LATER
            self._push(State(main, first.chosen), progress, 0, main)
            constant = tuple(o.index("constant") if "constant" in o[:3] else 0 for o in self.options)
            self._push(State(main, constant), progress, 1, main)

    def _kinds(self, state: State) -> list[Any]:
        return [options[i] for options, i in zip(self.options, state.chosen, strict=True)]

    def values(self, state: State) -> Values:
        """The arguments of a state; NaN stands for what could not be made."""
        try:
            made = values.together(self._kinds(state), self.mains[state.main], [p.name for p in self.parameters])
        except Exception:  # a configuration class that refuses what its fields say
            return ()
        made = values.spliced(made[: self.passed])
        return tree.transform(_wide, made) if self.wide else made

    def _push(self, state: State, progress: tuple[int, int], depth: int, option: int) -> None:
        if state not in self.seen:
            self.seen.add(state)
            stage, line = progress
            heapq.heappush(self.queue, (-stage, -line, depth, option, next(self.order), state))

    def _vary(self, state: State, tried: Tried) -> None:
        """Queue what lies one change away: kinds of the parameters behind the failing line, then other shapes."""
        bare = not values.shows(self.mains[state.main])  # single numbers come far in any code, and mislead
        progress, depth = (tried.stage, 0 if bare else tried.line), sum(map(bool, state.chosen)) + 1
        for place in self._culprits(tried):
            for option in range(len(self.options[place])):
                self._push(state.changed(place, option), progress, depth, option)
        for suggest in (self._of_own_classes, self._of_domains, self._of_sizes, self._of_squares):
            for suggested in suggest(state, tried):
                self._push(suggested, progress, depth, 0)
        for twins in self._twins(state, self._culprits(tried)):
            self._push(twins, progress, 1, 0)
        for main in range(len(self.mains)) if depth > 1 else ():
            self._push(State(main, state.chosen), progress, depth, main + 3)

    def _of_own_classes(self, state: State, tried: Tried) -> Iterator[State]:
        """The same with a class of the author's own that has what a tensor lacks, or with an object of it.

        Such a class takes one tensor: it may be the only one of those that ``*args`` stand for.
        """
        lacking = LACKS.search(tried.message)
        package = getattr(self.target.subject, "__module__", "").partition(".")[0]
        names = [p.name for p in self.parameters]
        several = [place for place, name in enumerate(names) if names.count(name) > 1]
        for place in self._culprits(tried) if lacking else ():
            for kind in kinds.having(package, lacking[1]):  # type: ignore[index]
                if kind not in self.options[place]:
                    self.options[place].append(kind)
                changed = state.changed(place, self.options[place].index(kind))
                yield changed
                for other in several:
                    only = "square" if other == several[0] else "nothing"
                    changed = changed.changed(other, self.options[other].index(only))
                yield changed

    def _of_domains(self, state: State, tried: Tried) -> Iterator[State]:
        """The same with one tensor from the domain that the error speaks of."""
        for kind in names.domains_of(tried.message):
            for place in self._culprits(tried):
                if self.options[place][state.chosen[place]] in GENERAL:
                    yield state.changed(place, self.options[place].index(kind))

    def _of_sizes(self, state: State, tried: Tried) -> Iterator[State]:
        """The same with a size of the main shape in the place of a whole number that a gradient has as a size."""
        refused = REFUSED.search(tried.message)
        sizes = (refused[2] or "").split(", ") if refused else []
        for place, options in enumerate(self.options):
            if type(options[0]) is int and str(options[state.chosen[place]]) in sizes:
                yield from (state.changed(place, options.index(kind)) for kind in ("n0", "n1", "n-1"))

    def _of_squares(self, state: State, tried: Tried) -> Iterator[State]:
        """The same with all weights square at once: as wide as what comes out is added to."""
        kinds = self._kinds(state)
        weights = [place for place in self._culprits(tried) if str(kinds[place]) in SQUARE]
        for place in weights:
            state = state.changed(place, self.options[place].index(SQUARE[kinds[place]]))
        if len(weights) > 1:
            yield state

    def _twins(self, state: State, culprits: list[int]) -> Iterator[State]:
        """The same with another kind for all that are trained, such as a weight and a bias: they go together."""
        places = [place for place in culprits if is_parameter(self.parameters[place].name)]
        alike = all(self.options[place][state.chosen[place]] in TWINS for place in places)  # none is a matrix
        for kind in TWINS if alike and len(places) > 1 else ():
            changed = state
            for place in places:
                changed = changed.changed(place, self.options[place].index(kind))
            yield changed

    def _culprits(self, tried: Tried) -> list[int]:
        everything = list(range(len(self.parameters)))
        if tried.refused is not None and tried.refused < len(everything):
            return [tried.refused]
        for one in self.methods:
            blamed = one.blamed(tried.line)
            if blamed is not None and _inside(one, tried.line):
                behind = self.names.behind(blamed)
                found = [i for i in everything if self.parameters[i].name in behind]
                return found or everything
        return everything

    def _more(self, state: State, first: Values) -> list[Values]:
        """The set found, and others of the same kinds or nearly, that can show as much."""
        good, keys, clock = [first], {_describe.value(first)}, Clock(MORE)
        for other in self._near(state):
            if len(good) >= GUESSES or clock.over():
                break
            given = self.values(other)
            key = _describe.value(given)
            if key not in keys and telling(given, first) and self.trial(given).works == "all":
                keys.add(key)
                good.append(given)
        return good

    def _near(self, state: State) -> Iterator[State]:
        shapes = (State(main, state.chosen) for main in range(len(self.mains)))
        chosen = self._kinds(state)
        others = (state.changed(place, option) for place, parameter in enumerate(self.parameters)
                  if not isinstance(chosen[place], names.Shaped) and chosen[place] not in DOMAINS
                  for option in range(4 if is_parameter(parameter.name) else 3))  # fmt: skip
        for pair in itertools.zip_longest(shapes, others):
            yield from (other for other in pair if other is not None)

    def _short(self, given: Values, works: str = "all") -> Values:
        """Without the defaults, if it comes as far like that: what is not passed needs no gradient."""
        short = self._required(given)
        return short if len(short) < len(given) and self.trial(short).works == works else given

    def _required(self, given: Values) -> Values:
        return given[: self.required] if self.required < len(self.parameters) else given

    def domains(self) -> Iterator[Values]:
        """The set found, its tensors from the domains that the source speaks of: symmetric, triangular and so on."""
        if self.found is None:
            return
        first, tensors = self.values(self.found), [i for i, k in enumerate(self._kinds(self.found)) if k in GENERAL]
        small = names.iterates(self.target.subject) or names.guards(self.target.subject)
        if small:  # it may converge, or be defined, for small numbers only
            yield tree.transform(_small, first)
        for kind in names.domains(self.target.subject):
            for places in dict.fromkeys([tuple(tensors), *[(i,) for i in tensors]]):
                state = self.found
                for place in places:
                    state = state.changed(place, self.options[place].index(kind))
                given = self.values(state)[: len(first)]
                if self.trial(given).works == "all":
                    yield given

    def trial(self, given: Values) -> Tried:
        """How far a set of arguments comes."""
        try:
            made = arguments(self.target, given)
            outcome = Case(self.target, made, made).run()
            if outcome.ok:
                return _finished(outcome)
        except Exception as error:
            return Tried("", str(error))
        message = f"{type(outcome.error).__name__}: {outcome.error}"
        alone = battery.AMBIGUOUS in message and len(self.parameters) == 1  # otherwise another one may be a flag
        excused: tuple[str, ...] = ("wrong-grad-count",) if self.target.variadic is not None else ()
        excused += battery.FROM_CONTAINERS if battery.excused(given) else ()
        sure = [name for name in SURE if name not in excused]
        if contract.certain(outcome, sure) or (outcome.stage == "backward" and alone):
            return Tried("sure", message)
        backward = outcome.stage == "backward"
        line = _line(outcome.error, self.methods) or (BEYOND if backward else 0)
        return Tried("forward" if backward else "", message, int(backward), line, _refused(message, given))


def _is_one(value: Any) -> bool:
    """Whether it hides what it multiplies or divides."""
    return type(value) in (int, float) and value == 1


def hides(given: Values) -> int:
    """In how many ways arguments hide what is wrong: a number is one, no tensor has two dimensions."""
    return sum(map(_is_one, given)) + all(t.ndim < 2 for t in tree.tensors(given))


def _shows_more(given: Values, hiding: Values) -> bool:
    """Whether arguments are of the same types as others that hide something, as much alike in shape, and hide less."""
    same_types = list(map(type, given)) == list(map(type, hiding))
    return same_types and hides(given) < hides(hiding) and _alike(hiding) <= _alike(given)


def _alike(given: Values) -> set[tuple[int, int]]:
    """The pairs of arguments that take gradients and are of one shape: their author may mean no other ones."""
    shapes = [(place, leaf.shape) for place, leaf in enumerate(given) if tree.is_differentiable(leaf)]
    return {(a, b) for (a, one), (b, two) in itertools.combinations(shapes, 2) if one == two}


def _wide(leaf: Any) -> Any:
    """A float32 tensor in float64."""
    single = isinstance(leaf, torch.Tensor) and leaf.dtype is torch.float32
    return leaf.detach().double().requires_grad_(leaf.requires_grad) if single else leaf


def _small(leaf: Any) -> Any:
    return (0.2 * leaf.detach()).requires_grad_(leaf.requires_grad) if tree.is_differentiable(leaf) else leaf


def final(message: str) -> str:
    """What an error means that no arguments avert; empty for any other."""
    found = next((meaning for meaning, pattern in FINAL if re.search(pattern, message, re.IGNORECASE)), "")
    return f"{found}: {message}" if found else ""


def _refused(message: str, given: Values) -> int | None:
    """The argument whose gradient autograd refuses: it counts the tensors among them alone."""
    refused, tensors = REFUSED.search(message), [i for i, v in enumerate(given) if isinstance(v, torch.Tensor)]
    return tensors[int(refused[1])] if refused and int(refused[1]) < len(tensors) else None


def _finished(outcome: Outcome) -> Tried:
    tracked = [out for out in outcome.outputs if out.requires_grad and out.numel()]
    if not tracked:
        return Tried("forward" if outcome.outputs else "", "no output takes a gradient", 2)
    finite = all(bool(torch.isfinite(out).all()) for out in tracked)
    return Tried("all") if finite else Tried("forward", "the output is not finite", 2, 1)


def _line(error: BaseException | None, found: list[Method]) -> int:
    """The line of forward or backward that an error came from."""
    codes = {one.code for one in found}
    trace, line = error.__traceback__ if error else None, 0
    while trace is not None:
        line = trace.tb_lineno if trace.tb_frame.f_code in codes else line
        trace = trace.tb_next
    return line


def _inside(one: Method, line: int) -> bool:
    return one.start <= line <= one.start + (one.tree.end_lineno or 0)


def _sorted(mains: Sequence[values.Shape], rank: int, at_least: int) -> list[values.Shape]:
    return sorted(mains, key=lambda main: (rank > 0 and len(main) != rank, len(main) < at_least))


def telling(given: Sequence[Any], first: Sequence[Any]) -> bool:
    """Whether arguments can show as much as the first ones: as many numbers along as many dimensions.

    Of two elements every permutation is its own inverse, and of one there is none: up to three count.
    """
    ours, theirs = ([(t.is_floating_point(), t.is_complex(), t.shape) for t in tree.tensors(tuple(v))]
                    for v in (given, first))  # fmt: skip
    hiding = any(kinds.hides(a) and not kinds.hides(b) for a, b in zip(given, first, strict=False))
    return (
        len(given) == len(first)
        and len(ours) == len(theirs)
        and not hiding
        and all(
            a[:2] == b[:2] and len(a[2]) == len(b[2]) and all(map(_as_many, a[2], b[2]))
            for a, b in zip(ours, theirs, strict=True)
        )
    )


def _as_many(ours: int, theirs: int) -> bool:
    return (ours > 1) == (theirs > 1) and min(ours, 3) >= min(theirs, 3)


def signature(target: Target) -> inspect.Signature:
    """What the search takes the target's parameters to be."""
    return inspect.Signature(kinds.wanted(target, methods(target)))
