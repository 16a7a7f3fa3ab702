"""Loads somebody's file in a worker: as a module of its package, by itself, or as a slice."""

from __future__ import annotations

import ast
import builtins
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import linecache
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pullback.check import discover
from pullback.check.inferred import names


def load(source: discover.Source) -> tuple[types.ModuleType, list[str]]:
    """The loaded module, and notes on how it was loaded."""
    wanted = {found.name for found in source.candidates} | set(HELPERS)
    wanted |= {f"{found.name}{suffix}" for found in source.candidates for suffix in SUFFIXES}
    if source.path.suffix == ".ipynb":
        return _slice(source, wanted), ["loaded as a slice: the notebook's cells were not run"]
    if not discover.has_work(ast.parse(source.text)):
        try:
            return _module(source.path), []
        except BaseException as error:  # whatever importing it raises, even SystemExit
            reason = f"{type(error).__name__}: {str(error)[:120]}"
            return _slice(source, wanted), [f"loaded as a slice: importing it raises {reason}"]
    return _slice(source, wanted), ["loaded as a slice: the file does work when it is imported"]


HELPERS = ("make_inputs", "intended", "reference", "call")
SUFFIXES = ("_inputs", "_intended", "_reference", "_call")


def _module(path: Path) -> types.ModuleType:
    root, parts = path.parent, [path.stem] if path.stem != "__init__" else []
    while (root / "__init__.py").exists():
        parts.insert(0, root.name)
        root = root.parent
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    if len(parts) > 1 or path.stem == "__init__":
        return importlib.import_module(".".join(parts))
    spec = importlib.util.spec_from_file_location(path.stem.replace("-", "_"), path)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(spec.name, module)
    spec.loader.exec_module(module)
    return module


def _slice(source: discover.Source, wanted: set[str]) -> types.ModuleType:
    """Statement by statement; what fails is left out, modules that are missing are stood in for."""
    text = discover.sliced(source.text, wanted)
    module = types.ModuleType(f"pullback_slice_{source.path.stem.replace('-', '_').replace('.', '_')}")
    module.__file__ = str(source.path)
    module.__package__ = _package(source.path)
    sys.modules[module.__name__] = module
    name = str(source.path)
    if source.path.suffix == ".ipynb":
        linecache.cache[name] = (len(source.text), None, source.text.splitlines(keepends=True), name)
    with _Absent():
        for node in ast.parse(text).body:
            code = compile(ast.Module([node], []), name, "exec", dont_inherit=True)
            try:
                exec(code, vars(module))
            except BaseException as error:  # a definition that cannot be had is left out
                vars(module).setdefault("__failed__", []).append(f"line {node.lineno}: {error}")
    return module


def nested(module: types.ModuleType, source: discover.Source, found: discover.Found) -> Any:
    """A class defined inside another class or a function, if it can be had without calling anything."""
    value: Any = module
    for name in found.path:
        value = getattr(value, name, None)
    if value is not None and value is not module and hasattr(value, found.name):
        return getattr(value, found.name)
    tree = ast.parse(source.text)
    node = next(n for n in ast.walk(tree)
                if isinstance(n, ast.ClassDef) and n.lineno == found.line and n.name == found.name)  # fmt: skip
    space: dict[str, Any] = {}
    missing = _free(node) - set(vars(module)) - set(vars(builtins)) - {found.name}
    try:
        if missing:
            space = _surroundings(module, source, tree, node, missing)
        exec(_code([node], source), space if missing else vars(module), space)
    except BaseException:  # it needed more than its names say
        return None
    return space.get(found.name)


def _code(body: list[ast.stmt], source: discover.Source) -> types.CodeType:
    return compile(ast.Module(body, []), str(source.path), "exec", dont_inherit=True)


def _surroundings(
    module: types.ModuleType, source: discover.Source, tree: ast.Module, node: ast.ClassDef, missing: set[str]
) -> dict[str, Any]:
    """The names that a class takes from the function around it: its parameters by their names, what is made of them."""
    around = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.lineno < node.lineno
              and (n.end_lineno or 0) >= (node.end_lineno or 0)]  # fmt: skip
    space = dict(vars(module))
    for function in sorted(around, key=lambda n: n.lineno):
        space |= _parameters(function, space)
        needed = discover.leads_to(ast.Module(function.body, []), missing)
        for statement in (n for n in function.body if n.lineno < node.lineno):
            kinds = (ast.FunctionDef, ast.Import, ast.ImportFrom)
            if discover.bound(statement) & needed or isinstance(statement, kinds):
                exec(_code([statement], source), space)
    if not missing <= set(space):
        raise LookupError(missing - set(space))
    return space


def _parameters(function: ast.FunctionDef, space: dict[str, Any]) -> dict[str, Any]:
    """Values for the parameters of a function that makes a class: defaults, else what the names say."""
    arguments = function.args.args
    given = dict(zip([a.arg for a in reversed(arguments)], reversed(function.args.defaults), strict=False))
    found = {}
    for argument in arguments:
        likely = [k for k in names.by_name(argument.arg) if not names.is_tensor(k)]
        default = given.get(argument.arg)
        value = (
            eval(compile(ast.Expression(default), "<default>", "eval"), dict(space)) if default is not None else None
        )
        found[argument.arg] = value if value is not None else [*likely, 0.7][0]
    return found


def _free(node: ast.ClassDef) -> set[str]:
    """The names that a class takes from around it."""
    read = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    own = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    own |= {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
    own |= {n.name for n in ast.walk(node) if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    return read - own


def _package(path: Path) -> str:
    parts: list[str] = []
    root = path.parent
    while (root / "__init__.py").exists():
        parts.insert(0, root.name)
        root = root.parent
    return ".".join(parts)


class _Stub(types.ModuleType):
    """Stands in for a module that is not installed: everything in it exists, nothing in it works."""

    __pullback_stub__ = True

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Nothing(f"{self.__name__}.{name}")


class _Nothing:
    """Something from a module that is not installed."""

    __pullback_stub__ = True

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if any(hasattr(value, "requires_grad") for value in (*args, *kwargs.values())):  # it is asked to compute
            raise ModuleNotFoundError(f"_Nothing object: {self._name} is not installed here")
        if len(args) == 1 and callable(args[0]) and not kwargs:
            return args[0]  # a decorator
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Nothing(f"{self._name}.{name}")

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (object,)

    def __getitem__(self, item: Any) -> Any:
        return self

    def __bool__(self) -> bool:
        return False


class _Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """While active, an import that finds nothing gives a stand-in."""

    def __enter__(self) -> _Absent:
        sys.meta_path.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        sys.meta_path.remove(self)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """A stand-in for anything not found elsewhere; torch and the standard library are left to fail."""
        top = name.partition(".")[0]
        if top in sys.stdlib_module_names or top in ("torch", "numpy", "pullback", "pullback_lint"):
            return None
        parent = sys.modules.get(name.rpartition(".")[0])
        if parent is not None and not hasattr(parent, "__pullback_stub__") and hasattr(parent, "__file__"):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """The stand-in."""
        stub = _Stub(spec.name)
        stub.__path__ = []
        return stub

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing to run."""
