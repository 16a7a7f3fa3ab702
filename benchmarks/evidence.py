"""Checks the Functions of published packages, with no set-up, and writes what came of it into docs/field.md.

Needs the network: packages are installed into build/evidence, without their dependencies, and checked there by
``pullback check``, or by the call of ``pullback.check`` that evidence.toml gives. Which packages, and what a person
made of every finding at error level, stands there too. A finding that nobody has judged yet is counted as open, never
as true.

    python benchmarks/evidence.py [--again] [NAME ...]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build" / "evidence"
PAGE = ROOT / "docs" / "field.md"
MARKS = "<!-- generated: evidence -->", "<!-- end of evidence -->"
Record = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these packages; the page is left as it is")
    parser.add_argument("--again", action="store_true", help="check again what was checked before")
    options = parser.parse_args()
    data = tomllib.loads((ROOT / "benchmarks" / "evidence.toml").read_text(encoding="utf-8"))
    chosen = [p for p in data["package"] if not options.names or p["name"] in options.names]
    rows = [row(package, report(package, options.again), data) for package in chosen]
    fixed = [f for f in data.get("fixed", []) if not options.names or f["name"] in options.names]
    pairs = [pair(one, options.again) for one in fixed]
    text = "\n".join([*table(rows), "", *judgements(data), "", *fixes(fixed, pairs)])
    if options.names:
        print(text)
    else:
        write(text)
    return 0


def report(package: Record, again: bool = False) -> Record:
    """What the checker says of one version of a package; remembered until asked for again."""
    place = BUILD / f"{package['name']}-{package['version']}"
    part = "-".join(["", *package.get("only", []), *package.get("of", "").split()]).replace("/", "-")
    kept = BUILD / f"{place.name}{part}.json"
    if again or not kept.exists():
        install(place, [f"{package['name']}=={package['version']}", *package.get("needs", [])])
        where = os.pathsep.join([str(place), *[p for p in sys.path if p]])
        subprocess.run(command(package, place, kept), env=os.environ | {"PYTHONPATH": where}, cwd=ROOT, check=False)
    return json.loads(kept.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


CALL = """
import json, pathlib, sys, warnings
warnings.simplefilter("ignore")
import torch
import pullback as pb
torch.manual_seed(0)
from {module} import {of}
report = pb.check({of}, {inputs})
pathlib.Path(sys.argv[1]).write_text(json.dumps(report.to_dict()))
"""


def command(package: Record, place: Path, kept: Path) -> list[str]:
    """Checks a package's files, or one of its functions with the inputs given."""
    if "of" in package:
        return [sys.executable, "-c", CALL.format(**package), str(kept)]
    paths = package.get("only", [package.get("module", package["name"].replace("-", "_"))])
    options = ["--quiet", "--format", "json", "--output", str(kept)]
    return [sys.executable, "-m", "pullback", "check", *[str(place / path) for path in paths], *options]


def install(place: Path, requirements: list[str]) -> None:
    if not place.exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(place)]
        subprocess.run([*pip, *requirements], check=True)


def errors(found: Record) -> Iterator[tuple[Record, Record]]:
    """Targets and their findings at error level."""
    for target in found["targets"]:
        yield from ((target, f) for f in target["findings"] if f["severity"] == "error")


def judged(package: str, target: Record, finding: Record, data: Record) -> bool | None:
    """What a person made of a finding: true, false, or not judged yet."""
    for one in data["judgement"]:
        same = (one["package"], one["target"], one["fault"]) == (package, target["name"], finding["name"])
        if same and one.get("argument", finding["argument"]) == finding["argument"]:
            return bool(one["true"])
    return None


def row(package: Record, found: Record, data: Record) -> list[str]:
    verdicts = [judged(package["name"], target, finding, data) for target, finding in errors(found)]
    here = [t for t in found["targets"] if not elsewhere(t)]
    checked = sum(t["status"] != "unchecked" for t in here)
    numbers = [len(found["targets"]), len(here), checked, *[verdicts.count(v) for v in (True, False, None)]]
    return [f"{package['name']} {package['version']}", *map(str, numbers)]


ELSEWHERE = ("it needs", "it has no implementation", "it has no forward")


def elsewhere(target: Record) -> bool:
    """Whether a target cannot run here at all: it needs a GPU, a compiler's product, other processes."""
    reason = target.get("unchecked") or ""
    return target["status"] == "unchecked" and any(word in reason for word in ELSEWHERE)


def table(rows: list[list[str]]) -> list[str]:
    head = ["package", "Functions", "run here", "checked", "errors true", "false", "open"]
    total = ["*together*", *[str(sum(int(r[i]) for r in rows)) for i in range(1, len(head))]]
    return ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|",
            *["| " + " | ".join(r) + " |" for r in [*rows, total]]]  # fmt: skip


def judgements(data: Record) -> list[str]:
    lines = [f"| {j['package']} | `{j['target']}` | `{j['fault']}` | {'true' if j['true'] else 'false'} | {j['why']} |"
             for j in data["judgement"]]  # fmt: skip
    return ["| package | Function | fault | judged | why |", "|---|---|---|---|---|", *lines]


def pair(one: Record, again: bool) -> tuple[bool, bool]:
    """Whether the bug is found in the version before, and whether the version after is silent."""
    names = [{f["name"] for target, f in errors(report({**one, "version": version}, again))
              if target["name"] == named(one)}
             for version in (one["before"], one["after"])]  # fmt: skip
    return bool(names[0]), not names[1]


def fixes(fixed: list[Record], pairs: list[tuple[bool, bool]]) -> list[str]:
    lines = [f"| {f['name']} | `{named(f)}` | {f['what']} | {f['before']}: {'found' if found else 'missed'} | "
             f"{f['after']}: {'silent' if silent else 'reported'} |"
             for f, (found, silent) in zip(fixed, pairs, strict=True)]  # fmt: skip
    return ["| package | function | bug | before | after |", "|---|---|---|---|---|", *lines]


def named(one: Record) -> str:
    return str(one["of"] if "of" in one else one["target"])


def write(text: str) -> None:
    """Put the tables between their marks in the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(MARKS[0])
    after = rest.partition(MARKS[1])[2]
    PAGE.write_text(f"{before}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{after}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
