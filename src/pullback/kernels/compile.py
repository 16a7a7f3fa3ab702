"""From C text to a shared library, by the compiler at hand.

Compilers are tried in the order ``$CC``, cc, gcc, clang and Python's ziglang. Flags that a compiler does not take are
left out, once; without fused multiply-add or without the flags that keep rounding as written there are no kernels.
"""

from __future__ import annotations

import functools
import importlib.util
import logging
import os
import platform
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

log = logging.getLogger("pullback")

_ALWAYS = (
    "-O2", "-ftree-vectorize", "-fPIC", "-shared", "-std=gnu11", "-w", "-fvisibility=hidden", "-ffp-contract=off",
)  # fmt: skip
_TRIED = (
    ("-fno-math-errno", "-fno-trapping-math"),
    ("-march=native",),
    ("-mcpu=native",),
    ("-fvect-cost-model=dynamic",),
    ("-fno-thread-jumps",),  # threaded, selections become stores under masks: several times slower
    ("-mprefer-vector-width=512",),
    ("-fopenmp-simd", '-DPB_SIMD="omp simd"'),
)
_PROBE = """
#ifndef PB_SIMD
#define PB_SIMD "GCC ivdep"
#endif
#if !defined(__FMA__) && !defined(__aarch64__) && !defined(__riscv)
#error no fused multiply-add
#endif
int pb_probe(int n) { int s = 0; _Pragma(PB_SIMD) for (int i = 0; i < n; i++) s += i; return s; }
"""
_SECONDS = 120


class CompileError(Exception):
    """No library came of it; the text says why."""


class Unsupported(Exception):  # noqa: N818 - no error: the eager rules serve, and `describe` gives the reason
    """A graph that no kernel is made for."""


class Misfit(Exception):  # noqa: N818 - no error: the eager rules serve this call
    """Tensors that a kernel cannot take."""


@dataclass(frozen=True)
class Compiler:
    """A compiler that works here: its command, the flags it takes, and what it calls itself."""

    command: tuple[str, ...]
    flags: tuple[str, ...]
    version: str

    @property
    def identity(self) -> str:
        """What its output depends on, besides the text."""
        return "\n".join((*self.flags, self.version, processor(), "".join(platform.libc_ver()), sys.platform))

    def compile(self, text: str, path: Path) -> None:
        """Write a library.

        Raises:
            CompileError: If the compiler does not accept the text or cannot run.
        """
        _run((*self.command, *self.flags, "-x", "c", "-", "-o", str(path), "-lm"), text)


@functools.cache
def compiler() -> Compiler | None:
    """The first compiler that works, or ``None``."""
    for command in _candidates():
        try:
            return _probed(command)
        except CompileError as error:
            log.info("%s cannot make kernels: %s", " ".join(command), error)
    return None


def _candidates() -> list[tuple[str, ...]]:
    given = shlex.split(os.environ.get("CC", ""))
    named = [tuple(given)] if given else []
    found = [(path,) for name in ("cc", "gcc", "clang") if (path := shutil.which(name))]
    zig = [(sys.executable, "-m", "ziglang", "cc")] if importlib.util.find_spec("ziglang") else []
    return [*named, *found, *zig]


def _probed(command: tuple[str, ...]) -> Compiler:
    """The compiler with every flag it takes; all at once where it takes them all."""
    every = tuple(flag for group in _TRIED if group != ("-mcpu=native",) for flag in group)
    if not _accepts(command, (*_ALWAYS, *every)):
        taken = [group for group in _TRIED if _accepts(command, (*_ALWAYS, *_fma(group)))]
        every = tuple(flag for group in taken for flag in group)
        _run((*command, *_ALWAYS, *every, "-x", "c", "-", "-o", os.devnull), _PROBE)
    return Compiler(command, (*_ALWAYS, *every), _run((*command, "--version"), "").partition("\n")[0])


def _fma(group: tuple[str, ...]) -> tuple[str, ...]:
    """The flags of a group, with what the probe asks for where only another group can bring it."""
    return group if any("native" in flag for flag in group) else (*group, "-D__FMA__")


def _accepts(command: tuple[str, ...], flags: tuple[str, ...]) -> bool:
    try:
        _run((*command, *flags, "-x", "c", "-", "-o", os.devnull), _PROBE)
    except CompileError:
        return False
    return True


def _run(command: tuple[str, ...], text: str) -> str:
    try:
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, timeout=_SECONDS, check=False, env=_environment()
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise CompileError(f"{command[0]}: {error}") from error
    if done.returncode:
        raise CompileError(f"{command[0]} ended with {done.returncode}: {done.stderr.strip()[:500]}")
    return done.stdout


def _environment() -> dict[str, str]:
    """The user's, in the language that messages and floats are written in."""
    return {**os.environ, "LC_ALL": "C"}


@functools.cache
def processor() -> str:
    """What the processor can do: a library made for one crashes on another."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.machine() + platform.processor()
    kinds = {line for line in lines if line.startswith(("flags", "Features", "model name", "CPU part"))}
    return "\n".join([platform.machine(), *sorted(kinds)])
