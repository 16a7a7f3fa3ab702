"""Other activations in a model that exists already."""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch import nn

from pullback.errors import UsageError
from pullback.nn.module import Entry

WHO = "pullback.nn.replace"


def replace(model: nn.Module, wanted: Mapping[Any, Any]) -> nn.Module:
    """The model, with modules replaced in place; a module that is used twice stays one."""
    check(model, wanted)
    modules = dict(model.named_modules(remove_duplicate=False))
    found = {path: module for path, module in modules.items() if match(wanted, path, module) is not None}
    if not found:
        raise nothing(model, wanted)
    like = next((p for p in model.parameters() if p.is_floating_point()), None)
    made = {id(old): placed(make(match(wanted, path, old), old), old, like) for path, old in found.items()}
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
        if not callable(by):
            name = what if isinstance(what, str) else getattr(what, "__name__", str(what))
            got = f"{by!r} in the place of {name}"
            raise UsageError(WHO, "what takes a module's place is a class, a module or a function", got, "pass one")


def pairs(what: Any, by: Any, counterparts: Mapping[Any, Any]) -> dict[Any, Any]:
    """What is replaced by what: from the forms that a caller may use."""
    if what is None and by is None:
        return dict(counterparts)
    if isinstance(what, Mapping) and by is None:
        return dict(what)
    if (isinstance(what, str) or (isinstance(what, type) and issubclass(what, nn.Module))) and by is not None:
        return {what: by}
    raise UsageError(
        WHO,
        "is called with a model, and a class or path and what to put there, or a dict of such pairs, or nothing else",
        f"what={what!r}, by={by!r}",
        "write replace(model, nn.GELU, pb.nn.Swish), or replace(model, {nn.GELU: pb.nn.Swish})",
    )


def match(wanted: Mapping[Any, Any], path: str, module: nn.Module) -> Any:
    """What to put in a module's place, if anything; paths go before classes."""
    by_path = [by for what, by in wanted.items() if isinstance(what, str) and fnmatchcase(path, what)]
    return by_path[0] if by_path else wanted.get(type(module))


def make(by: Any, old: nn.Module) -> nn.Module:
    """What takes the place of one module."""
    if isinstance(by, nn.Module):
        return copy.deepcopy(by)
    if isinstance(by, type):
        same = issubclass(by, Entry) and by.__name__ == type(old).__name__
        new = by.like(old) if same else by()  # type: ignore[attr-defined]
    else:
        new = by() if isinstance(by, functools.partial) and isinstance(by.func, type) else by(old)
    if not isinstance(new, nn.Module):
        raise UsageError(WHO, "what replaces a module is one", f"{type(new).__name__} from {by!r}", "return a module")
    return new


def placed(new: nn.Module, old: nn.Module, like: torch.Tensor | None) -> nn.Module:
    """A new module in the mode of the old one, where and in the dtype that the model is."""
    return (new if like is None else new.to(like.device, like.dtype)).train(old.training)


def nothing(model: nn.Module, wanted: Mapping[Any, Any]) -> UsageError:
    """The error of a model without anything to replace."""
    kinds = sorted({type(m).__name__ for m in model.modules() if next(m.children(), None) is None})
    names = ", ".join(key if isinstance(key, str) else key.__name__ for key in wanted)
    return UsageError(
        WHO,
        f"needs a module of the model to replace: {names}",
        f"a model of {', '.join(kinds)}",
        "name one of its classes or paths; a function that is called in forward is no module",
    )
