"""Compiled kernels on disk, for the next process.

The directory belongs to the user alone. A library is found by a key of everything it depends on and carries the hash
of its content in its name; owner, mode and hash are checked on the very file that is then loaded. Whatever is not as
it should be counts as absent: kernels are then compiled into a private directory that is gone with the process.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import itertools
import os
import secrets
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from pullback.kernels.compile import CompileError, log

LIMIT = 256 << 20
"""Bytes that the directory may hold; the least recently used files go first."""
_FORMAT = "1"
_serial = itertools.count(1)


class Maker(Protocol):
    """What makes a library of a text."""

    @property
    def identity(self) -> str:
        """What the library depends on, besides the text."""

    def compile(self, text: str, path: Path) -> None:
        """Write the library."""


def directory() -> Path:
    """Where kernels are kept: ``$PULLBACK_CACHE_DIR``, else a folder in the platform's cache for the user."""
    given = os.environ.get("PULLBACK_CACHE_DIR")
    if given:
        return Path(given)
    if sys.platform == "darwin":
        return Path.home() / "Library/Caches/pullback"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "pullback"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pullback"


def library(text: str, compiler: Maker, make: bool = True) -> ctypes.CDLL:
    """The loaded library of a C text: from the cache, or compiled now; ``make`` the directory for it.

    Raises:
        CompileError: If it is not there and cannot be made.
    """
    key = hashlib.sha256("\0".join((_FORMAT, compiler.identity, text)).encode()).hexdigest()[:40]
    with _opened(directory(), make) as folder:
        if folder is not None:
            found = _find(folder, key)
            if found is not None:
                return found
        return _made(text, compiler, key, folder)


def entries() -> list[tuple[str, int, float]]:
    """Name, bytes and time of last use of every kernel in the cache."""
    with _opened(directory(), make=False) as folder:
        return [] if folder is None else _listed(folder)


def clear() -> int:
    """Remove every kernel from the cache; how many there were."""
    with _opened(directory(), make=False) as folder:
        names = [name for name, _, _ in _listed(folder)] if folder is not None else []
        return sum(_removed(name, folder) for name in names)


# ---- the directory


@contextlib.contextmanager
def _opened(path: Path, make: bool = True) -> Iterator[int | None]:
    """A descriptor of the directory if it is ours alone, else ``None``."""
    fd = None
    try:
        if make:
            path.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                path.mkdir(mode=0o700)
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        if not _private(os.fstat(fd)):
            log.info("%s is open to others: kernels are not kept there", path)
            os.close(fd)
            fd = None
    except (OSError, RuntimeError, AttributeError) as error:  # no home; a platform without these flags
        log.info("kernels are not kept: %s", error)
    try:
        yield fd
    finally:
        if fd is not None:
            os.close(fd)


def _private(info: os.stat_result) -> bool:
    return info.st_uid == os.getuid() and not info.st_mode & 0o077


def _listed(folder: int) -> list[tuple[str, int, float]]:
    found = []
    for name in os.listdir(folder):
        with contextlib.suppress(OSError):
            info = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if name.endswith((".so", ".new")) and stat.S_ISREG(info.st_mode):
                found.append((name, info.st_size, info.st_mtime))
    return sorted(found)


def _removed(name: str, folder: int | None) -> bool:
    with contextlib.suppress(OSError):
        os.unlink(name, dir_fd=folder)
        return True
    return False


# ---- loading


def _find(folder: int, key: str) -> ctypes.CDLL | None:
    for name in os.listdir(folder):
        if name.startswith(key) and name.endswith(".so"):
            loaded = _load(folder, name, name[len(key) + 1 : -len(".so")])
            if loaded is not None:
                with contextlib.suppress(OSError):
                    os.utime(name, dir_fd=folder, follow_symlinks=False)
                return loaded
            _removed(name, folder)
    return None


def _load(folder: int, name: str, digest: str) -> ctypes.CDLL | None:
    """Load a file after checking the descriptor that is loaded; ``None`` if anything about it is wrong."""
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder)
    except OSError:
        return None
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode) or info.st_uid != os.getuid() or info.st_mode & 0o022:
            return None
        with os.fdopen(os.dup(fd), "rb") as file:
            content = file.read()
        if _digest(content) != digest:
            return None
        return _linked(fd, name, folder)
    except OSError as error:
        log.info("a kernel in the cache does not load: %s", error)
        return None
    finally:
        os.close(fd)


def _linked(fd: int, name: str, folder: int) -> ctypes.CDLL:
    """The library behind a descriptor; the loader takes equal paths for the same library, so each is spelled anew."""
    if os.path.isdir("/proc/self/fd"):
        return ctypes.CDLL(f"/proc/self/fd/{'./' * next(_serial)}{fd}")
    return ctypes.CDLL(os.path.join(os.readlink(f"/dev/fd/{folder}"), name))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:40]


# ---- making


def _made(text: str, compiler: Maker, key: str, folder: int | None) -> ctypes.CDLL:
    with tempfile.TemporaryDirectory(prefix="pullback-", ignore_cleanup_errors=True) as private:
        path = Path(private) / "kernel.so"
        compiler.compile(text, path)
        content = path.read_bytes()
        if folder is not None:
            name = _kept(folder, key, content)
            loaded = _load(folder, name, _digest(content)) if name else None
            if loaded is not None:
                return loaded
        try:
            return ctypes.CDLL(str(path))
        except OSError as error:
            raise CompileError(str(error)) from error


def _kept(folder: int, key: str, content: bytes) -> str:
    """Write a library under its name, at once and whole; its name, or nothing if it cannot be written."""
    name, new = f"{key}-{_digest(content)}.so", f"{secrets.token_hex(8)}.new"
    try:
        fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o700, dir_fd=folder)
        with os.fdopen(fd, "wb") as file:
            file.write(content)
        os.rename(new, name, src_dir_fd=folder, dst_dir_fd=folder)
        _bound(folder, keep=name)
    except OSError as error:
        log.info("a kernel is not kept: %s", error)
        _removed(new, folder)
        return ""
    return name


def _bound(folder: int, keep: str) -> None:
    listed = sorted(_listed(folder), key=lambda entry: entry[2], reverse=True)
    total = 0
    for name, size, _ in listed:
        total += size
        if total > LIMIT and name != keep:
            _removed(name, folder)
