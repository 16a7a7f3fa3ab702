"""Every fault of the corpus is found and called by its name; nothing above a note is said about the right files."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from pullback.check import check

CORPUS = Path(__file__).parents[1] / "corpus"
FILES = sorted(CORPUS.glob("*.py"))


def load(path: Path) -> ModuleType:
    name = f"corpus_{path.stem.replace('-', '_')}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


def subject(module: ModuleType):
    """What the file is about, and how it is called."""
    thing, call = getattr(module, module.EXPECT["class"]), getattr(module, "call", None)
    return (call, None) if isinstance(thing, type) and issubclass(thing, torch.nn.Module) else (thing, call)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_corpus(path: Path) -> None:
    module = load(path)
    fn, call = subject(module)
    report = check(fn, *module.make_inputs(), intended=getattr(module, "intended", None), call=call)
    if module.EXPECT["fault"] is None:
        assert [f.name for f in report if f.severity != "note"] == []
        assert report.ok
    else:
        assert module.EXPECT["fault"] in report.names(), str(report)


def test_the_corpus_is_there() -> None:
    assert len(FILES) == 87
