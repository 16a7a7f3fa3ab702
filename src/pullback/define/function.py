"""`Function`: a forward with its rules, and what can be declared about it."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar
from weakref import WeakValueDictionary

from pullback import _describe
from pullback.define import checks
from pullback.define.derivative import Derived
from pullback.define.rule import Rule, read_rule
from pullback.define.signature import Arguments, with_parameter
from pullback.define.ways import WRITERS
from pullback.errors import MissingRuleError, PullbackError

if TYPE_CHECKING:
    from pullback.define.report import Description

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])
Plan = list[tuple[Rule, Callable[..., Any], tuple[str, ...]]]

_serial = itertools.count()
FUNCTIONS: WeakValueDictionary[str, Function[..., Any]] = WeakValueDictionary()  # by token, for graphs that name them


class Function(Generic[P, R]):
    """A differentiable function: a forward, and rules that say what its gradients are.

    ``@pullback.function`` makes one. At run time the decorated name is an ordinary Python function with these
    methods as attributes, so that it pickles, copies, binds and documents itself as the plain function does.

    Example:
        >>> import torch, pullback as pb
        >>> @pb.function
        ... def scale_gradient(x, factor=0.1):
        ...     return x.clone()
        >>> @scale_gradient.grad("x")
        ... def _(g, factor):
        ...     return factor * g
        >>> print(scale_gradient.describe())  # doctest: +ELLIPSIS
        scale_gradient(x, factor=0.1)  (...)
        rules
          x            grad rule (g, factor)  ...
    """

    def __init__(
        self,
        fn: Callable[P, R],
        *,
        inplace: str | None = None,
        autocast: str = "leave",
        keep: str = "lossless",
        fuse: bool | str = "auto",
        opaque: str | None = None,
    ) -> None:
        self.fn, self.inplace, self.autocast, self.keep, self.fuse = fn, inplace, autocast, keep, fuse
        self.name = fn.__name__
        self.where = _describe.place(fn)
        self.arguments = Arguments(inspect.signature(fn))
        self.params = self.arguments.names
        self.token = f"{fn.__module__}:{fn.__qualname__}#{next(_serial)}"
        self.kept: tuple[str, ...] | None = None  # the names that the forward keeps, known after its first call
        self.code: tuple[Callable[..., Any], ...] = ()  # the author's functions, where fn only calls them
        self.compared = False  # whether the rules have been compared with the forward's derivative
        self.linear: bool | None = None  # whether the rules are linear in the cotangent, once it is known
        self._rules: dict[tuple[str, str | None], Rule] = {}
        self._jvps: dict[str, Rule] = {}
        self._nondiff: set[str] = set()
        self._derived: set[str] = set()
        self._plans: dict[Any, Plan] = {}
        self._own_rule: Derived | None = None  # the derivative of the forward itself
        self.general: Any = None  # the autograd.Function for every stack but plain eager, once it is made
        self.face: Any = self  # the Python function that users hold
        self.entries: dict[Any, Callable[..., Any]] = {}  # by argument types: the fast way in
        self.ways_in: list[tuple[Any, Callable[..., Any]]] = []  # those written so far, with the shape of their calls
        self.fronts: list[Any] = []  # what may stand before them
        self.kernels: dict[Any, Any] = {}  # what the way of kernels knows about its calls, by needed arguments
        self.graphs: dict[Any, Any] = {}  # and what that of graphs knows
        self.plain = False  # whether forward under plain autograd may serve a call: nothing is declared about it
        self.operator: Any = None  # what stands for the forward where no stack may look into it
        checks.options(self)
        if opaque is not None:
            self._make_opaque(opaque)
        FUNCTIONS[self.token] = self

    if TYPE_CHECKING:
        __name__: str
        __wrapped__: Callable[P, R]
        __pullback__: Function[P, R]

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
            """The forward's result."""

    # ---- what a user declares

    def grad(
        self, *args: str, of: str | None = None, constant: bool = False, surrogate: bool = False
    ) -> Callable[[F], F]:
        """A decorator that makes a function the rule for ``args``.

        The rule receives the cotangent first; its other parameters name what it needs: arguments of the forward,
        ``out``, or what the forward keeps with `pullback.keep`. What no rule names is not kept. Its result is summed
        down to the argument's shape and cast to its dtype; ``None`` means zero.

        Args:
            *args: The arguments whose gradients the rule returns; several gradients are returned as a tuple.
            of: The kept value whose derivative this is, for second derivatives; the output if not given.
            constant: Allow a rule that never reads its cotangent.
            surrogate: The gradient is meant to differ from the derivative: checks do not compare them.

        Returns:
            A decorator that returns the rule unchanged.

        Raises:
            DefinitionError: If the Function has no such argument, the argument has a rule already, or the rule
                names something that does not exist or never reads its cotangent.

        Example:
            >>> import torch, pullback as pb
            >>> @pb.function
            ... def double(x):
            ...     return 2 * x
            >>> @double.grad("x")
            ... def _(g):
            ...     return 2 * g
            >>> x = torch.ones(2, requires_grad=True)
            >>> double(x).sum().backward(); x.grad
            tensor([2., 2.])
        """
        checks.names(self, "grad", args)

        def attach(rule: F) -> F:
            self.attach(read_rule(self.name, rule, args, of=of, surrogate=surrogate), constant)
            return rule

        return attach

    def jvp(self, *args: Any) -> Any:
        """A decorator that makes a function the forward-mode rule for ``args``; bare: for all arguments with rules.

        The rule receives one tangent for each of ``args``, in order, then names what it needs, and returns the
        tangent of the output. Without it forward mode is derived from the reverse rules.

        Raises:
            DefinitionError: As for `grad`.

        Example:
            >>> import torch, pullback as pb
            >>> @pb.function
            ... def cube(x):
            ...     return x**3
            >>> @cube.grad("x")
            ... def _(g, x):
            ...     return 3 * x**2 * g
            >>> @cube.jvp
            ... def _(t, x):
            ...     return 3 * x**2 * t
            >>> torch.func.jvp(cube, (torch.tensor(2.0),), (torch.tensor(1.0),))
            (tensor(8.), tensor(12.))
        """
        if len(args) == 1 and callable(args[0]):
            named = tuple(p for p in self.params if (p, None) in self._rules) or self.params[:1]
            return self.attach_jvp(named, args[0])
        checks.names(self, "jvp", args)
        return lambda rule: self.attach_jvp(args, rule)

    def derive(self, *args: str) -> Function[P, R]:
        """Take the gradients of ``args`` from the forward itself, beside rules for others. Returns the Function."""
        checks.free(self, "derive", args)
        self._derived.update(args)
        self._changed()
        return self.face  # type: ignore[no-any-return]

    def nondiff(self, *args: str) -> Function[P, R]:
        """Declare that ``args`` get no gradient, even if they require one. Returns the Function."""
        checks.free(self, "nondiff", args)
        self._nondiff.update(args)
        self._changed()
        return self.face  # type: ignore[no-any-return]

    def grad_like(self, args: str | Sequence[str], smooth: Callable[..., Any]) -> Function[P, R]:
        """Give ``args`` the gradient of another function.

        Args:
            args: One or several arguments.
            smooth: The function to borrow the derivative of; its parameters name arguments of the forward.

        Returns:
            The Function.

        Raises:
            DefinitionError: As for `grad`.

        Example:
            >>> import torch, pullback as pb
            >>> @pb.function
            ... def step(x):
            ...     return (x > 0).to(x.dtype)
            >>> _ = step.grad_like("x", lambda x: torch.sigmoid(4 * x))
            >>> x = torch.zeros(1, requires_grad=True)
            >>> step(x).backward(); x.grad
            tensor([1.])
        """
        args = (args,) if isinstance(args, str) else tuple(args)
        checks.names(self, "grad_like", args)
        smooth = with_parameter(smooth, args[0])
        parameters = inspect.signature(smooth).parameters.values()
        wants = tuple(p.name for p in parameters if p.default is p.empty or p.name in self.params)
        unknown = [a for a in args if a not in wants] or [w for w in wants if w not in self.params]
        if unknown:
            raise checks.smooth(self, args, smooth)
        self.attach(Derived(smooth, args, wants, _describe.place(smooth), smooth=True, name=self.name), constant=True)
        return self.face  # type: ignore[no-any-return]

    def fake(self, fn: F) -> F:
        """Say what an opaque forward returns, for tracers that must not run it.

        Args:
            fn: Takes the forward's arguments and returns tensors of the right shapes and dtypes, with any values;
                what the forward keeps, too. Never called with real data.

        Returns:
            ``fn``, unchanged.

        Raises:
            DefinitionError: If the Function is not opaque, or ``fn`` takes other parameters.

        Example:
            >>> import numpy as np, torch, pullback as pb
            >>> @pb.function(opaque="doc::sine")
            ... def sine(x):
            ...     return torch.as_tensor(np.sin(x.numpy()))
            >>> @sine.fake
            ... def _(x):
            ...     return torch.empty_like(x)
            >>> @sine.grad("x")
            ... def _(g, x):
            ...     return g * torch.as_tensor(np.cos(x.numpy()))
            >>> torch.vmap(torch.func.grad(sine))(torch.zeros(2))
            tensor([1., 1.])
        """
        if self.operator is None:
            raise checks.not_opaque(self)
        self.operator.take_fake(fn)
        return fn

    def describe(self, *args: P.args, **kwargs: P.kwargs) -> Description:
        """What this Function is and, given inputs, what it keeps for backward: one readable report."""
        from pullback.define.report import describe

        return describe(self, args, kwargs)

    def source(self, to: str = "function") -> str:
        """The forward with its derived rules as Python code to paste: what ``pullback derive`` prints.

        Args:
            to: ``"function"``, ``"autograd"`` (a plain ``torch.autograd.Function`` that needs no pullback),
                ``"classic"`` (the same in the old form) or ``"latex"``.

        Raises:
            TraceError: If the forward is no formula of operations that can be written down.
            UsageError: If there is no such form.

        Example:
            >>> import torch, pullback as pb
            >>> @pb.function
            ... def swish(x, b):
            ...     return x * torch.sigmoid(b * x)
            >>> "def _(g, x, b):" in swish.source()
            True
        """
        return WRITERS[0](self, to)

    # ---- what the stacks ask

    def rule(self, arg: str, of: str | None = None) -> Rule | None:
        """The rule for an argument, or ``None`` if it gets no gradient.

        Raises:
            MissingRuleError: If nothing says what its gradient is.
        """
        found = self._rules.get((arg, of))
        if found is not None or of is not None or arg in self._nondiff:
            return found
        if arg in self._derived or not any(of is None for _, of in self._rules):
            return self._own
        raise MissingRuleError(
            self.name,
            f"argument {arg!r} requires a gradient and has no rule",
            f"rules for {_describe.names(a for a, o in self._rules if o is None)}",
            f'attach @{self.name}.grad("{arg}"), or say {self.name}.derive("{arg}") or {self.name}.nondiff("{arg}")',
        )

    def jvp_rule(self, arg: str) -> Rule | None:
        """The forward-mode rule for an argument, if there is one."""
        return self._jvps.get(arg)

    def plan(self, needed: tuple[str, ...], of: str | None = None) -> Plan:
        """The rules to run for the needed arguments: each with its callable and the arguments it then serves."""
        key = needed, of
        if key not in self._plans:
            served: dict[Rule, list[str]] = {}
            for arg in needed:
                found = self.rule(arg, of)
                if found is not None:
                    served.setdefault(found, []).append(arg)
            self._plans[key] = [(rule, *rule.bind(args)) for rule, args in served.items()]
        return self._plans[key]

    def wanted(self, needed: tuple[str, ...]) -> set[str]:
        """The names of everything that the rules for the needed arguments want."""
        direct = {want for rule, _, _ in self.plan(needed) for want in rule.wants}
        again = [self._rules[arg, of] for arg, of in self._rules if of in direct and arg in needed]
        return direct.union(*(rule.wants for rule in again))

    def reruns(self) -> bool:
        """Whether the forward itself may have to be run again for a gradient."""
        return not self._rules or bool(self._derived)

    def is_own(self, rule: Rule) -> bool:
        """Whether a rule is the derivative of the forward itself."""
        return rule is self._own_rule

    def sources(self) -> Iterator[Callable[..., Any]]:
        """Every function of the user's that belongs to this Function."""
        if self.operator is not None:
            return  # no stack looks into them
        if self.code:
            yield from self.code
            return
        yield self.fn
        for rule in dict.fromkeys((*self._rules.values(), *self._jvps.values())):
            yield rule.fn

    def declared(self, arg: str, of: str | None = None) -> Rule | None:
        """The rule that was attached for an argument."""
        return self._rules.get((arg, of))

    def all_rules(self) -> list[Rule]:
        """Every declared rule, once, in the order of declaration."""
        return list(dict.fromkeys((*self._rules.values(), *self._jvps.values())))

    def opted_out(self) -> tuple[set[str], set[str]]:
        """The arguments declared as derived, and those declared as not differentiable."""
        return set(self._derived), set(self._nondiff)

    def operator_of(self, rule: Rule) -> Any:
        """The operator that stands for a rule of an opaque Function."""
        return self.operator and self.operator.rules.get(rule)

    def learn_kept(self, names: tuple[str, ...]) -> None:
        """Note what the forward keeps, now that it has run, and check the names that rules ask for."""
        if self.kept is not None and set(names) <= set(self.kept):
            return
        before, self.kept = self.kept, tuple(dict.fromkeys((*(self.kept or ()), *names)))
        try:
            checks.kept(self)
        except PullbackError:
            self.kept = before  # the next call is told, too
            raise

    # ---- plumbing

    def attach(self, rule: Rule, constant: bool = False) -> None:
        """Take a rule, after checking it."""
        checks.free(self, "grad", rule.args, rule.of)
        if type(rule) is Rule:
            checks.cotangent(self, rule, constant)
        checks.wants(self, rule)
        checks.captured(self, rule)
        if self.operator is not None and type(rule) is Rule:
            rule = self.operator.take_rule(rule)
        self._rules.update({(arg, rule.of): rule for arg in rule.args})
        self._changed()

    def attach_jvp(self, args: tuple[str, ...], fn: F) -> F:
        """Take a forward-mode rule, after checking it."""
        rule = read_rule(self.name, fn, args, kind="jvp")
        for arg in args:
            if arg in self._jvps:
                raise checks.taken(self, arg, self._jvps[arg])
        checks.wants(self, rule)
        self._jvps.update(dict.fromkeys(args, rule))
        self._changed()
        return fn

    def _make_opaque(self, name: str) -> None:
        from pullback.define.operators import Forward

        self.operator = Forward(self, name)
        self.fn = self.operator

    @property
    def _own(self) -> Rule:
        if self.operator is not None:
            raise MissingRuleError(
                self.name,
                "an opaque forward cannot be derived",
                "an argument without a rule",
                f'attach rules with @{self.name}.grad("{self.params[0]}")',
            )
        if self.inplace is not None:
            raise MissingRuleError(
                self.name,
                "a Function that works in place cannot be derived from its forward",
                "no rule",
                f'attach @{self.name}.grad("{self.inplace}")',
            )
        if self._own_rule is None:
            self._own_rule = Derived(self.by_name, self.params, self.params, self.where, name=self.name)
        return self._own_rule

    def by_name(self, /, **values: Any) -> Any:
        """Run the forward with its arguments by name."""
        args, keywords = self.arguments.call(values)
        return self.fn(*args, **keywords)

    def _changed(self) -> None:
        self.entries.clear()
        self.ways_in.clear()
        self.fronts.clear()
        self._plans.clear()
        self.linear = None
