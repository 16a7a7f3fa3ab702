"""A process group of one, for code that calls collectives and was given none."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

NEEDED = "it needs a process group"  # how the search for arguments words it
SAID = "run in a process group of one: what other ranks would send was not seen"


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """This process is the only rank inside, unless there is a group already."""
    import torch.distributed as dist

    if not dist.is_available() or dist.is_initialized():
        yield
        return
    store = dist.HashStore()  # type: ignore[attr-defined]
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        yield
    finally:
        dist.destroy_process_group()
