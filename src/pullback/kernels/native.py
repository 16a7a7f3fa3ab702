"""The node in C++: built once for each version of PyTorch, in the background, and never required.

Built, it is kept in the cache of kernels, and later processes load it without a compiler. A build that the end of the
process interrupts is begun anew by the next one; ``pullback cache --build`` waits for it.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, Protocol

import torch

from pullback._torch import cxx11_abi
from pullback.kernels import background, cache
from pullback.kernels.compile import CompileError, log

LOADED: list[Node] = []
"""The node, once it is there."""
_SECONDS = 900
_waiting: weakref.WeakSet[Waiting] = weakref.WeakSet()
_lock = threading.Lock()


class Waiting(Protocol):
    """What wants to be told when the node is there."""

    def install(self) -> None:
        """It is there."""


@dataclass(frozen=True)
class Node:
    """What the library gives: the type of what stands before a Function, and that of what is known about kernels."""

    way: Any
    recipe: Any


@dataclass(frozen=True)
class Builder:
    """A compiler for C++, with what PyTorch's headers ask for; without a command only what is kept can be had."""

    command: tuple[str, ...] = ()
    polite: bool = False

    @property
    def flags(self) -> tuple[str, ...]:
        """How it is called; nothing in it depends on the processor."""
        home = Path(torch.__file__).parent
        include = (home / "include", home / "include/torch/csrc/api/include", Path(sysconfig.get_paths()["include"]))
        libraries = ("-ltorch_cpu", "-ltorch_python", "-lc10")
        return (
            "-std=c++20", "-O1", "-fPIC", "-shared", "-w", "-fvisibility=hidden",
            f"-D_GLIBCXX_USE_CXX11_ABI={cxx11_abi():d}",
            *(f"-I{path}" for path in include), "-x", "c++", "-", f"-L{home / 'lib'}", *libraries,
        )  # fmt: skip

    @property
    def identity(self) -> str:
        """What the library depends on, besides the text; the compiler itself is not among it."""
        versions = (torch.__version__, str(torch.version.git_version), str(sysconfig.get_config_var("SOABI")))
        return "\n".join(("node", *versions, str(cxx11_abi()), sysconfig.get_platform()))

    def compile(self, text: str, path: Path) -> None:
        """Write the library, by a process that ends with this one; a polite one gives way to others.

        Raises:
            CompileError: If there is no compiler, or it fails or is stopped.
        """
        if not self.command:
            raise CompileError("it is not in the cache")
        polite = ("nice", "-n", "19") if self.polite and shutil.which("nice") else ()
        with _Running((*polite, *self.command, *self.flags, "-o", str(path))) as process:
            _, errors = process.communicate(text, timeout=_SECONDS)
        if process.returncode:
            raise CompileError(f"{self.command[0]} ended with {process.returncode}: {errors.strip()[:500]}")


class _Running:
    """A process that is stopped when this one ends."""

    now: ClassVar[set[subprocess.Popen[str]]] = set()

    def __init__(self, command: tuple[str, ...]) -> None:
        self.command = command

    def __enter__(self) -> subprocess.Popen[str]:
        pipe, environment = subprocess.PIPE, {**os.environ, "LC_ALL": "C"}
        try:
            self.process = subprocess.Popen(
                self.command, stdin=pipe, stdout=subprocess.DEVNULL, stderr=pipe, text=True, env=environment
            )
        except OSError as error:
            raise CompileError(f"{self.command[0]}: {error}") from error
        self.now.add(self.process)
        return self.process

    def __exit__(self, *_: object) -> None:
        self.now.discard(self.process)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def wanted() -> bool:
    """Whether the node may be used at all: ``PULLBACK_NODE=0`` says no."""
    gil = not sysconfig.get_config_var("Py_GIL_DISABLED")
    return os.environ.get("PULLBACK_NODE", "") != "0" and sys.platform == "linux" and gil


def when_loaded(front: Waiting) -> None:
    """Have ``front`` installed as soon as the node is there; perhaps never, perhaps in another thread."""
    with _lock:
        if not LOADED:
            _waiting.add(front)
            return
    front.install()


_asked: set[str] = set()


def look() -> None:
    """Load the node in the background if an earlier process has built it."""
    _once("look", lambda: _load(Builder()))


def begin() -> None:
    """Build the node in a thread of its own, for it takes long."""
    _once("begin", _builder.start)


def _once(what: str, job: Callable[[], Any]) -> None:
    with _lock:
        if what in _asked or LOADED or not wanted():
            return
        _asked.add(what)
    background.submit(lambda: job() and None)


_building = threading.Lock()


def wait(polite: bool = False) -> bool:
    """Build and load the node now; whether it is there."""
    with _building:
        return bool(LOADED) or (wanted() and (_load(Builder()) or _load(Builder(_command(), polite))))


_builder = threading.Thread(target=wait, args=(True,), name="pullback-node", daemon=True)


def _command() -> tuple[str, ...]:
    """The compiler for C++, if there is one, and Python's headers."""
    given = shlex.split(os.environ.get("CXX", ""))
    if not (Path(sysconfig.get_paths()["include"]) / "Python.h").is_file():
        return ()
    return tuple(given) or next(((p,) for name in ("c++", "g++", "clang++") if (p := shutil.which(name))), ())


def _text() -> str:
    return files("pullback.kernels").joinpath("node.cpp").read_text(encoding="utf-8")


def _load(builder: Builder) -> bool:
    try:
        library = cache.library(_text(), builder, make=bool(builder.command))
        types = ctypes.PyDLL(library._name, handle=library._handle).pb_types
        types.restype = ctypes.py_object
        node = Node(*types())
    except (CompileError, OSError, RuntimeError, AttributeError, subprocess.SubprocessError) as error:
        log.info("no node in C++: %s", error)
        return False
    with _lock:
        LOADED.append(node)
        fronts = list(_waiting)
        _waiting.clear()
    os.register_at_fork(after_in_child=library.pb_forked)
    for front in fronts:
        front.install()
    return True


def _stop() -> None:
    """Nobody waits for a build at the end of a process, and no thread in C++ must meet the end of Python."""
    for process in list(_Running.now):
        process.kill()
    if _builder.is_alive():
        _builder.join(timeout=10)


def _after_fork() -> None:
    """A build goes on in the parent alone."""
    global _building, _lock
    _building, _lock = threading.Lock(), threading.Lock()


atexit.register(_stop)
os.register_at_fork(after_in_child=_after_fork)
