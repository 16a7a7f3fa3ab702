"""Settings from `[tool.pullback]` in pyproject.toml."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class ConfigError(Exception):
    """The settings cannot be used."""


class Config(NamedTuple):
    """What `[tool.pullback]` may set.

    Attributes:
        root: The directory of the pyproject.toml.
        select: Codes, prefixes of codes or names to report; empty for all.
        ignore: Codes, prefixes of codes or names not to report.
        exclude: Globs of paths to leave out.
        per_file_ignores: For a glob of paths, what is not reported there.
        baseline: A file of known findings.
        level: The least severity to report.
        strict: Whether warnings count for the exit status.
    """

    root: Path | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    baseline: str | None = None
    level: str | None = None
    strict: bool = False


OTHERS = frozenset({"cases"})
"""Settings that belong to other commands."""


def load(start: Path) -> Config:
    """The settings of the nearest pyproject.toml that has them.

    Args:
        start: Where to begin to look, upwards.

    Raises:
        ConfigError: The file or a setting is malformed.
    """
    for directory in (start, *start.parents):
        path = directory / "pyproject.toml"
        if path.is_file():
            table = _table(path)
            if table is not None:
                return _config(path, table)
    return Config()


def _table(path: Path) -> dict[str, object] | None:
    text = path.read_text(encoding="utf-8")
    if "tool.pullback" not in text:
        return None
    import tomllib

    try:
        found = tomllib.loads(text).get("tool", {}).get("pullback")
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: {error}") from None
    return found if isinstance(found, dict) else None


def _config(path: Path, table: dict[str, object]) -> Config:
    known = set(Config._fields) - {"root"}
    values: dict[str, object] = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        if name in OTHERS:
            continue
        if name not in known:
            wanted = ", ".join(sorted(item.replace("_", "-") for item in known | OTHERS))
            raise ConfigError(f"{path}: unknown setting `tool.pullback.{key}`; known are {wanted}")
        values[name] = _checked(path, key, name, value)
    return Config(root=path.parent, **values)  # type: ignore[arg-type]


def _checked(path: Path, key: str, name: str, value: object) -> object:
    """A setting in the type it must have."""
    if name == "strict" and isinstance(value, bool):
        return value
    if name in {"baseline", "level"} and isinstance(value, str):
        return value
    if name == "per_file_ignores" and isinstance(value, dict) and all(map(_is_strings, value.values())):
        return tuple((glob, tuple(keys)) for glob, keys in value.items())
    if name in {"select", "ignore", "exclude"} and _is_strings(value):
        return tuple(value)  # type: ignore[arg-type]
    raise ConfigError(f"{path}: `tool.pullback.{key}` cannot be {value!r}")


def _is_strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)
