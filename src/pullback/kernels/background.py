"""One thread that compiles while eager code serves.

Tracing stays in the caller's thread: PyTorch's tracer changes global state while it runs. What takes long beside it,
importing the tracer and running the compiler, holds nobody up here.
"""

from __future__ import annotations

import atexit
import os
import queue
import threading
from collections.abc import Callable

from pullback._torch import compiler_front_loaded, load_compiler_front
from pullback.kernels.compile import log

Job = Callable[[], None]


class Worker:
    """A thread that starts with its first job and is gone with the process."""

    def __init__(self) -> None:
        self.jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self.thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self.stopped = False

    def submit(self, job: Job) -> None:
        """Run a job when those before it are done."""
        with self._lock:
            if self.stopped:
                return
            self.jobs.put(job)
            if self.thread is None:
                self.thread = threading.Thread(target=self._run, name="pullback-kernels", daemon=True)
                self.thread.start()

    def _run(self) -> None:
        while (job := self.jobs.get()) is not None and not self.stopped:
            try:
                job()
            except Exception as error:  # a kernel that cannot be had is not an error
                log.info("no kernel: %s", error)

    def stop(self) -> None:
        """Wait for the job that is running, and run no other: a thread in C++ must not meet the end of Python."""
        self.stopped = True
        self.jobs.put(None)
        if self.thread is not None:
            self.thread.join(timeout=30)

    def wait(self) -> None:
        """Wait until the jobs so far are done."""
        done = threading.Event()
        self.submit(done.set)
        while not done.wait(0.5) and not self.stopped:
            pass


_worker = Worker()
_loading = False


def submit(job: Job) -> None:
    """Run a job in the background."""
    _worker.submit(job)


def wait() -> None:
    """Wait until everything in the background is done."""
    _worker.wait()


def ready_to_trace() -> bool:
    """Whether tracing can start at once; else its imports start in the background."""
    global _loading
    if compiler_front_loaded():
        return True
    if not _loading:
        _loading = True
        submit(load_compiler_front)
    return False


def _after_fork() -> None:
    """Threads do not live in a forked child."""
    global _worker, _loading
    _worker, _loading = Worker(), False


def _stop() -> None:
    _worker.stop()


os.register_at_fork(after_in_child=_after_fork)
atexit.register(_stop)
