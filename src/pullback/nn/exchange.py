"""Other activations in a model that exists already."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch import nn

from pullback._torch import share_hooks
from pullback.errors import PullbackError, UsageError
from pullback.nn.module import Entry

WHO = "pullback.nn.replace"
FORMS = "write replace(model, nn.GELU, pb.nn.Swish), or replace(model, {nn.GELU: pb.nn.Swish})"


def replace(model: nn.Module, wanted: Mapping[Any, Any], default: bool = False) -> nn.Module:
    """The model, with modules replaced in place; a module that is used twice stays one."""
    check(model, wanted)
    modules = dict(model.named_modules(remove_duplicate=False))
    found = {path: module for path, module in modules.items() if match(wanted, path, module) is not None}
    if not found:
        if default and any(isinstance(module, Entry) for module in modules.values()):
            return model
        raise nothing(model, wanted)
    made = {id(old): placed(make(match(wanted, path, old), old), old, modules, path) for path, old in found.items()}
    wrapped(modules, found, made)
    if "" in found:
        return made[id(model)]
    for path, old in found.items():
        parent, _, name = path.rpartition(".")
        setattr(modules[parent], name, made[id(old)])
    return model


def check(model: Any, wanted: Mapping[Any, Any]) -> None:
    """Refuse what is no model, and what could not take a module's place."""
    if not isinstance(model, nn.Module):
        raise UsageError(WHO, "takes a model first", f"{type(model).__name__}", "pass the torch.nn.Module")
    for what, by in wanted.items():
        if not callable(by) or hasattr(by, "__pullback__"):
            shown = what if isinstance(what, str) else getattr(what, "__name__", str(what))
            got = f"{getattr(by, '__name__', repr(by))} in the place of {shown}"
            do = "write a class such as pb.nn.Swish, not its name nor the function of pb.functional"
            raise UsageError(WHO, "what takes a module's place is a class, a module or a function", got, do)


def pairs(what: Any, by: Any, counterparts: Mapping[Any, Any]) -> dict[Any, Any]:
    """What is replaced by what: from the forms that a caller may use."""
    if what is None and by is None:
        return dict(counterparts)
    if isinstance(what, Mapping) and by is None:
        return dict(what)
    several = list(what) if isinstance(what, (list, tuple)) else [what]
    meant = all(isinstance(w, str) or (isinstance(w, type) and issubclass(w, nn.Module)) for w in several)
    if by is not None and meant:
        return dict.fromkeys(several, by)
    raise UsageError(
        WHO,
        "is called with a model, and a class or path and what to put there, or a dict of such pairs, or nothing else",
        f"what={what!r}, by={by!r}",
        FORMS,
    )


def match(wanted: Mapping[Any, Any], path: str, module: nn.Module) -> Any:
    """What to put in a module's place, if anything; paths go before classes."""
    by_path = [by for what, by in wanted.items() if isinstance(what, str) and fnmatchcase(path, what)]
    return by_path[0] if by_path else wanted.get(type(module))


def make(by: Any, old: nn.Module) -> nn.Module:
    """What takes the place of one module."""
    if isinstance(by, nn.Module):
        return copy.deepcopy(by)
    try:
        new = called(by, old)
    except TypeError as error:
        if isinstance(error, PullbackError):
            raise
        do = "give a function of the old module: lambda old: …"
        raise UsageError(WHO, "a class is made without arguments", f"{by!r}: {error}", do) from error
    if not isinstance(new, nn.Module):
        raise UsageError(WHO, "what replaces a module is one", f"{type(new).__name__} from {by!r}", "return a module")
    return new


def called(by: Any, old: nn.Module) -> Any:
    """What a class or a function makes of the old module."""
    if isinstance(by, type):
        same = issubclass(by, Entry) and by.__name__ == type(old).__name__
        return by.like(old) if same else by()  # type: ignore[attr-defined]
    return by() if isinstance(by, functools.partial) and isinstance(by.func, type) else by(old)


def placed(new: nn.Module, old: nn.Module, modules: Mapping[str, nn.Module], path: str) -> nn.Module:
    """A new module in the mode of the old one and with its hooks, its own parameters in the device and dtype there."""
    theirs = {id(p) for p in old.parameters()}
    like = next(nearby(modules, path), None)
    if like is not None and not any(id(p) in theirs for p in new.parameters()):
        new = new.to(like.device, like.dtype)
    share_hooks(old, new)
    return new.train(old.training)


def nearby(modules: Mapping[str, nn.Module], path: str) -> Iterator[torch.Tensor]:
    """The floating-point parameters of a module, then those of the modules around it."""
    places = path.split(".") if path else []
    for end in range(len(places), -1, -1):
        yield from (p for p in modules[".".join(places[:end])].parameters() if p.is_floating_point())


def wrapped(modules: Mapping[str, nn.Module], found: Mapping[str, nn.Module], made: Mapping[int, nn.Module]) -> None:
    """Refuse parameters that a wrapper for several processes would not know of."""
    known = {id(p) for module in found.values() for p in module.parameters()}
    new = any(id(p) not in known for old in found.values() for p in made[id(old)].parameters())
    kinds = (nn.parallel.DistributedDataParallel, *sharded())
    wrapper = next((type(m).__name__ for m in modules.values() if isinstance(m, kinds)), "")
    if new and wrapper:
        got = f"a {wrapper}, which would never average their gradients"
        raise UsageError(WHO, "new parameters come before a model is wrapped", got, "replace first, then wrap")


def sharded() -> tuple[type, ...]:
    """The wrappers that shard, where this PyTorch is built with them."""
    if not torch.distributed.is_available():
        return ()
    from torch.distributed.fsdp import FSDPModule, FullyShardedDataParallel

    return FSDPModule, FullyShardedDataParallel


def nothing(model: nn.Module, wanted: Mapping[Any, Any]) -> UsageError:
    """The error of a model without anything to replace."""
    leaves = [m for m in model.modules() if next(m.children(), None) is None]
    kinds = sorted({named(type(m), wanted) for m in leaves})
    names = ", ".join(key if isinstance(key, str) else key.__name__ for key in wanted) or "none is given"
    return UsageError(
        WHO,
        f"needs a module of the model to replace: {names}",
        f"a model of {', '.join(kinds)}",
        "name one of its paths or classes, as classes: nn.GELU; a function that is called in forward is no module",
    )


def named(kind: type, wanted: Mapping[Any, Any]) -> str:
    """A class by its name, with its package where it could be taken for one that is wanted."""
    parents = [w.__name__ for w in wanted if isinstance(w, type) and w is not kind and issubclass(kind, w)]
    if parents:
        return f"{kind.__name__} (a subclass of {parents[0]}, and not meant by it)"
    same = any(isinstance(w, type) and w.__name__ == kind.__name__ for w in wanted)
    return f"{kind.__module__.removesuffix('.modules.activation')}.{kind.__name__}" if same else kind.__name__
