"""Runs workers: one process per file, with limits; one that hangs or crashes loses one target, not the rest."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pullback.check import discover, faults
from pullback.check.report import Finding, Report, TargetReport, target_from_dict
from pullback.check.target import portable


@dataclass(frozen=True)
class Limits:
    """What a worker may use: seconds per target and megabytes."""

    seconds: float = 60.0
    memory: int | None = 16_384


@dataclass
class Job:
    """One file or module to check."""

    path: Path | None = None
    module: str | None = None
    only: tuple[str, ...] = ()
    cases: str | None = None
    skip: list[str] = field(default_factory=list)
    index: int = 0
    probes: tuple[str, ...] = ()

    def request(self) -> dict[str, Any]:
        """The job in the form that a worker reads."""
        path = str(self.path.resolve()) if self.path else None
        same = {key: getattr(self, key) for key in ("index", "module", "only", "skip", "probes")}
        return same | {"path": path}


def run(
    jobs: Sequence[Job], workers: int = 1, limits: Limits | None = None, progress: Callable[[str], None] | None = None
) -> Report:
    """Check every job; the report lists targets in the order of the jobs."""
    limits = limits or Limits()
    for index, job in enumerate(jobs):
        job.index = index
    shares = [list(jobs[start::workers]) for start in range(max(1, workers)) if jobs[start::workers]]
    with ThreadPoolExecutor(max_workers=len(shares) or 1) as pool:
        parts = list(pool.map(lambda share: _share(share, limits, progress), shares))
    found = sorted((pair for part in parts for pair in part), key=lambda pair: pair[0])
    return Report([target for _, target in found])


def _label(job: Job) -> str:
    return job.module or portable(str(job.path))


Numbered = list[tuple[int, TargetReport]]


def _share(jobs: list[Job], limits: Limits, progress: Callable[[str], None] | None) -> Numbered:
    """All reports of some jobs, over as many processes as it takes: each that dies loses one target."""
    reports: Numbered = []
    pending = list(jobs)
    while pending:
        lines, ending = _process(pending, limits)
        for line in lines:
            if "report" in line:
                reports.append((line["job"], _placed(target_from_dict(line["report"]))))
        by_index = {job.index: job for job in pending}
        reports += [
            (line["job"], _lost(by_index[line["job"]], line, line["failed"])) for line in lines if "failed" in line
        ]
        ended = {line["job"] for line in lines if "end" in line}
        pending = [job for job in pending if job.index not in ended]
        if progress is not None:
            progress(f"{len(ended)} files checked")
        if not pending:
            break
        last = lines[-1] if lines else {"job": pending[0].index}
        job = by_index[last["job"]]
        reports.append((job.index, _lost(job, last, ending or "the worker stopped")))
        job.skip += [report.name for index, report in reports if index == job.index]
        if "start" not in last:  # it died while the file was being loaded
            pending = [other for other in pending if other is not job]
    return reports


def _lost(job: Job, last: dict[str, Any], ending: str) -> TargetReport:
    """The report of a target whose worker hung (unchecked) or crashed (a finding)."""
    name, line = last.get("start"), last.get("line")
    file = portable(str(job.path)) if job.path else job.module
    report = TargetReport(name or _label(job), "autograd.Function", file, line, inputs="none")
    if ending.startswith("crashed by"):
        report.findings.append(Finding("backward-raises", f"the interpreter {ending} while this target was checked",
                                       cause="native code reads or writes memory that is not its own", probe="worker",
                                       line=line))  # fmt: skip
    report.unchecked = ending
    return report


def _placed(report: TargetReport) -> TargetReport:
    if report.file:
        report.file = portable(report.file)
    return report


def _process(jobs: Sequence[Job], limits: Limits) -> tuple[list[dict[str, Any]], str]:
    """The lines one worker wrote, and how it ended: empty if well."""
    with tempfile.TemporaryDirectory(prefix="pullback-") as folder:
        out, log, work = Path(folder, "out.jsonl"), Path(folder, "log"), Path(folder, "work")
        request = {"jobs": [job.request() for job in jobs], "cases": jobs[0].cases, "out": str(out),
                   "memory": limits.memory}  # fmt: skip
        Path(folder, "request.json").write_text(json.dumps(request), encoding="utf-8")
        work.mkdir()
        with open(log, "wb") as stream:
            worker = subprocess.Popen(
                [sys.executable, "-m", "pullback.check.worker", str(Path(folder, "request.json"))],
                stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT, cwd=work,
                env=_environment(), start_new_session=True,
            )  # fmt: skip
            ending = _watched(worker, out, limits)
        lines = [json.loads(line) for line in _text(out).splitlines() if line.endswith("}")]
        if ending == "failed":
            ending = f"the worker stopped: {(_text(log).strip().splitlines() or ['without a word'])[-1][:300]}"
        return lines, ending


def _environment() -> dict[str, str]:
    paths = [*[p for p in sys.path if p], os.getcwd()]
    return os.environ | {"PYTHONPATH": os.pathsep.join(p for p in paths if p), "MPLBACKEND": "Agg"}


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


START = 90.0  # seconds that loading PyTorch and a file may take on a busy machine


def _watched(worker: subprocess.Popen[bytes], out: Path, limits: Limits) -> str:
    """Wait for a worker; end it when it writes nothing for too long."""
    size, since, allowed = -1, time.monotonic(), START
    while worker.poll() is None:
        now = out.stat().st_size if out.exists() else 0
        if now != size:
            size, since = now, time.monotonic()
            allowed = limits.seconds if '"start"' in (_text(out).splitlines() or [""])[-1] else START
        if time.monotonic() - since > max(allowed, limits.seconds):
            _end(worker)
            return f"stopped after {limits.seconds:g} s"
        time.sleep(0.05)
    if worker.returncode < 0:
        return f"crashed by {signal.Signals(-worker.returncode).name}"
    return "" if worker.returncode == 0 else "failed"


def _end(worker: subprocess.Popen[bytes]) -> None:
    if hasattr(os, "killpg"):
        os.killpg(worker.pid, signal.SIGKILL)
    else:
        worker.kill()
    worker.wait()


def known(name: str) -> bool:
    """Whether a fault's code or name exists."""
    try:
        faults.code(name)
    except KeyError:
        return False
    return True


def jobs(paths: Sequence[str], cases: str | None) -> Iterator[Job]:
    """The jobs that arguments of the command line mean: paths, ``module:name``, or names of modules and packages."""
    for text in paths:
        path = Path(text)
        if path.exists():
            yield from _from_path(path, cases)
        else:
            yield from _from_module(text, cases)


def _from_path(path: Path, cases: str | None) -> Iterator[Job]:
    for file in discover.files(path):
        source = discover.source(file)
        if source.candidates or source.error:
            yield Job(file, cases=cases)


def _from_module(text: str, cases: str | None) -> Iterator[Job]:
    import importlib.util

    name, _, attribute = text.partition(":")
    sys.path.insert(0, os.getcwd())
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        spec = None
    finally:
        sys.path.remove(os.getcwd())
    if spec is None:
        raise LookupError(text)
    if attribute or not spec.submodule_search_locations:
        yield Job(Path(spec.origin) if spec.origin and not attribute else None, name if attribute else None,
                  (attribute,) if attribute else (), cases)  # fmt: skip
        return
    for folder in spec.submodule_search_locations:
        yield from _from_path(Path(folder), cases)
