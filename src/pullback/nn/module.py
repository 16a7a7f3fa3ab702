"""A module from a record: parameters with initial values and constraints, scalar or per channel."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any, ClassVar

import torch
from torch import nn

from pullback.errors import UsageError
from pullback.functional.record import Parameter, Record
from pullback.nn.value import Value, value_of

KEYWORD, POSITIONAL = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD


class Entry(nn.Module):
    """Base of the modules of the catalogue: an entry of `pullback.functional` with its parameters.

    Every argument that the record lists as learnable is a parameter with as many values as ``num_parameters``: one,
    or one per channel, along the dimension ``channel_dim`` of the input. A parameter that must stay above a bound is
    stored as ``raw_<name>`` and read through softplus; ``module.<name>`` is the value, to read, to assign and to change
    in place.
    """

    record: ClassVar[Record]
    arguments: ClassVar[inspect.Signature]
    hint: ClassVar[str] = "give those"

    def __init__(self, *args: Any, device: Any = None, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__()
        self.given = self.bound(args, kwargs)
        for name in self.record.options:
            setattr(self, name, self.given[name])
        for name, parameter in self.record.parameters.items():
            size = self.size(parameter)
            self.register_parameter(
                stored(name, parameter), nn.Parameter(torch.empty(size, device=device, dtype=dtype))
            )
        self.reset_parameters()

    def bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """What the module is made with, by name, after a look at what can be known to be wrong."""
        who = type(self).__name__
        try:
            bound = self.arguments.bind(*args, **kwargs)
        except TypeError as error:
            raise UsageError(who, f"is made as {who}{self.arguments}", str(error), self.hint) from None
        bound.apply_defaults()
        count = bound.arguments.get("num_parameters", 1)
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            do = "give 1, or the number of channels"
            raise UsageError(who, "num_parameters is a positive whole number", repr(count), do)
        return dict(bound.arguments)

    def __setattr__(self, name: str, value: Any) -> None:
        """Attributes as of any module; a parameter with a constraint takes values, and parameters as values."""
        if isinstance(getattr(type(self), name, None), property):
            object.__setattr__(self, name, value)
        else:
            super().__setattr__(name, value)

    @property
    def num_parameters(self) -> int:
        """How many values each parameter has: 1, or the number of channels."""
        return int(self.given.get("num_parameters", 1))

    def size(self, parameter: Parameter) -> int:
        """How many values one parameter has."""
        if isinstance(parameter.initial, tuple):
            return len(parameter.initial)
        return self.num_parameters if parameter.channels else 1

    def reset_parameters(self) -> None:
        """Give every parameter its initial value again."""
        for name, parameter in self.record.parameters.items():
            self.assign(name, parameter, self.given[name])

    def assign(self, name: str, parameter: Parameter, value: Any) -> None:
        """Set a parameter to a value: of the function's argument, not of what is stored."""
        raw = getattr(self, stored(name, parameter))
        self.refuse_history(name, value)
        with torch.no_grad():
            new = self.numbers(name, value, raw)
            if parameter.above is not None:
                if not bool((new > parameter.above).all()):
                    who, what = type(self).__name__, f"{name} is above {parameter.above:g}"
                    raise UsageError(who, what, str(value), "give a greater value")
                new = (new - least(parameter, raw)).clamp(min=torch.finfo(torch.float64).tiny)
                new = new + torch.log(-torch.expm1(-new))  # the inverse of softplus
            if isinstance(raw, nn.Parameter):
                raw.copy_(new.to(raw.dtype))
            else:  # parametrised by PyTorch's own means
                setattr(self, stored(name, parameter), new.to(raw))

    def refuse_history(self, name: str, value: Any) -> None:
        """Refuse to copy what was computed from something that learns, which then would not."""
        known = isinstance(value, (nn.Parameter, Value))
        if isinstance(value, torch.Tensor) and value.requires_grad and not known:
            do = f"give its .detach(), or call pullback.functional.{self.record.name} with the tensor"
            raise UsageError(type(self).__name__, f"{name} takes numbers, which it copies", "a tensor with history", do)

    def numbers(self, name: str, value: Any, like: torch.Tensor) -> torch.Tensor:
        """A value for a parameter as float64, in the parameter's shape."""
        try:
            return torch.as_tensor(value, dtype=torch.float64, device="cpu").expand_as(like)
        except (TypeError, ValueError, RuntimeError):
            several = f", or {like.numel()} of them" if like.numel() > 1 else ""
            do = "give one; num_parameters says how many there are"
            raise UsageError(type(self).__name__, f"{name} is a number{several}", repr(value), do) from None

    def forward(self, input: torch.Tensor) -> Any:  # noqa: A002 - PyTorch's name
        """The entry's function of the input and the parameters; with ``inplace=True`` it takes the input's place."""
        if isinstance(input, torch.fx.Proxy):
            return leaf(self, input)
        if not self.given.get("inplace"):
            return self.record.function(input, **self.learned(input), **self.settings())
        kept = input.clone() if torch.is_grad_enabled() and input.requires_grad else input
        return input.copy_(self.record.function(kept, **self.settings()))

    def learned(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        """The parameters by name, in the shape that broadcasts with ``x``."""
        return {n: self.shaped(self.value(n, p), p, x) for n, p in self.record.parameters.items()}

    def value(self, name: str, parameter: Parameter) -> torch.Tensor:
        """A parameter as the function takes it."""
        raw: torch.Tensor = getattr(self, stored(name, parameter))
        return raw if parameter.above is None else nn.functional.softplus(raw) + least(parameter, raw)

    def settings(self) -> dict[str, Any]:
        """The hyperparameters: attributes, so that training may change them."""
        return {name: getattr(self, name) for name in self.record.options if name != "inplace"}

    def shaped(self, value: torch.Tensor, parameter: Parameter, x: torch.Tensor) -> torch.Tensor:
        """A parameter per channel along the dimension of the channels; one value, for a single number, as a number."""
        if not parameter.channels and isinstance(parameter.initial, tuple):
            return value
        if value.numel() == 1:
            return value if x.dim() else value.reshape(())
        dim = self.given["channel_dim"]
        dim = min(dim, x.dim() - 1) if dim >= 0 else dim + x.dim()
        if x.dim() == 0 or x.shape[dim] != value.numel():
            raise UsageError(
                type(self).__name__,
                f"dimension {self.given['channel_dim']} of its input has {value.numel()} channels",
                f"an input of shape {tuple(x.shape)}",
                "set num_parameters to the number of channels, or channel_dim to their dimension",
            )
        return value.reshape([-1 if i == dim else 1 for i in range(x.dim())])

    def extra_repr(self) -> str:
        """The arguments that are not the default."""
        defaults = {n: p.default for n, p in self.arguments.parameters.items()}
        given = {n: v.tolist() if isinstance(v, torch.Tensor) else v for n, v in self.given.items()}
        return ", ".join(f"{n}={v!r}" for n, v in given.items() if v != defaults[n])

    @classmethod
    def like(cls, module: nn.Module) -> Entry:
        """The entry with the settings and the very parameters of PyTorch's module of the same name.

        The parameters are the same objects: what is tied, frozen or known to an optimizer stays so.
        """
        names = [n for n in cls.arguments.parameters if isinstance(getattr(module, n, None), (bool, int, float, str))]
        new = cls(**{name: getattr(module, name) for name in names})
        for name, parameter in module.named_parameters(recurse=False):
            new.register_parameter(name, parameter)
        return new


class GatedEntry(Entry):
    """Base of the gated units: the first half of the features along ``dim`` gates the second."""

    def forward(self, gate: torch.Tensor, value: torch.Tensor | None = None) -> Any:
        """The unit of both halves of one input, or of a gate and a value."""
        if isinstance(gate, torch.fx.Proxy):
            return leaf(self, *([gate] if value is None else [gate, value]))
        if value is None:
            dim = self.given["dim"]
            if gate.dim() == 0 or gate.shape[dim] % 2:
                required = f"an even number of features in dimension {dim}, half of them gates"
                raise UsageError(type(self).__name__, required, f"shape {tuple(gate.shape)}", "give gate and value")
            gate, value = gate.chunk(2, dim)
        return self.record.function(gate, value)


def leaf(module: Entry, *inputs: torch.fx.Proxy) -> torch.fx.Proxy:
    """A node that calls the module, as ``torch.fx`` makes one of any module of PyTorch's own."""
    tracer: Any = inputs[0].tracer
    return tracer.create_proxy("call_module", tracer.path_of_module(module), inputs, {})  # type: ignore[no-any-return]


def stored(name: str, parameter: Parameter) -> str:
    """The name of what is stored for a parameter."""
    return name if parameter.above is None else f"raw_{name}"


def least(parameter: Parameter, raw: torch.Tensor) -> float:
    """What is added to softplus, which becomes zero in the end: so much above the bound that quotients stay finite."""
    return float(parameter.above or 0.0) + max(1e-12, torch.finfo(raw.dtype).tiny)


def constrained(name: str, parameter: Parameter) -> property:
    """An attribute that reads and sets a parameter with a constraint."""

    def write(self: Entry, value: Any) -> None:
        self.assign(name, parameter, value)

    def read(self: Entry) -> torch.Tensor:
        return value_of(getattr(self, stored(name, parameter)), self.value(name, parameter), partial(write, self))

    return property(read, write, doc=f"{name}, which stays above {parameter.above:g}.")


def signature(record: Record) -> inspect.Signature:
    """How a module is made: number of parameters, initial values, hyperparameters."""
    several = any(p.channels for p in record.parameters.values())
    first = {"num_parameters": 1} if several else {}
    arguments = {**first, **{n: p.initial for n, p in record.parameters.items()}, **record.options}
    if len(record.tensors) == 2:
        arguments["dim"] = -1
    found = [inspect.Parameter(n, POSITIONAL, default=v) for n, v in arguments.items()]
    if several:
        found.append(inspect.Parameter("channel_dim", KEYWORD, default=record.channel_dim))
    return inspect.Signature(found)


def module_class(record: Record, base: type[Entry] | None = None, package: str = "pullback.nn") -> type[Entry]:
    """The class of the module of a record."""
    parent = base or (GatedEntry if len(record.tensors) == 2 else Entry)
    made = signature(record)
    extras = [inspect.Parameter(n, KEYWORD, default=None) for n in ("device", "dtype")] if record.parameters else []
    names: dict[str, Any] = {
        "record": record,
        "arguments": made,
        "__doc__": described(record, made),
        "__module__": package,
        "__signature__": made.replace(parameters=[*made.parameters.values(), *extras]),
    }
    kept = {n: constrained(n, p) for n, p in record.parameters.items() if p.above is not None}
    return type(record.module, (parent,), names | kept)


def described(record: Record, made: inspect.Signature) -> str:
    """The docstring of a module."""
    learned = [f"{n}{'' if p.above is None else f' (above {p.above:g})'}" for n, p in record.parameters.items()]
    lines = [
        f"{record.summary}\n",
        f"`pullback.functional.{record.name}` as a module.\n",
        f"Formula: ``{record.shown}``\n",
    ]
    lines += [f"Learns: {', '.join(learned)}\n"] if learned else []
    lines += [f"Source: {record.source}\n"] if record.source else []
    example = [f"Example:\n    >>> {record.module}()\n    {record.module}()\n"]
    return "\n".join(lines + example)
