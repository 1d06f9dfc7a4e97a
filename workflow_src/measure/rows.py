"""Rows of a measurement: each has a status, running out of memory is one, and its end is said.

A row's status is "ok" or another of common.words.STATES, such as "oom"; `reason` says why.
"""

import gc
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import torch

from workflow_src.common.errors import UnavailableError
from workflow_src.common.units import NS_PER_MS

Row = dict[str, Any]

LONGEST_REASON = 200
"""Of a reason that a library gives, so much is kept."""

CPU_RAN_OUT = re.compile(r"DefaultCPUAllocator: can't allocate memory: you tried to allocate \d+")
"""What torch says where a CPU has no memory left; the error is a plain RuntimeError."""


def attempt(measure: Callable[[], Row], release: Callable[[], object]) -> Row:
    """The row of `measure` with status ok, unless it has its own.

    After an allocator's error `release` is called, and the status is oom; an UnavailableError has
    its own. Other exceptions propagate.
    """
    try:
        return {"status": "ok", "reason": ""} | measure()
    except UnavailableError as error:
        return {"status": error.status, "reason": str(error)}
    except RuntimeError as error:
        reason = out_of_memory(error)
        if not reason:
            raise
    # Outside the except block: the traceback in there keeps the tensors alive.
    release()
    return {"status": "oom", "reason": reason}


def out_of_memory(error: BaseException) -> str:
    """What an allocator of torch says when memory has run out; "" for other errors."""
    if isinstance(error, torch.OutOfMemoryError):
        return " ".join(str(error).split()).split(". ")[0]
    return "CPU out of memory" if CPU_RAN_OUT.search(str(error)) else ""


def skipped(after: str) -> Row:
    """The row of work not tried because `after`, which needs less memory, ran out."""
    return {"status": "skipped", "reason": f"needs more memory than {after}, which ran out"}


def in_turn(
    names: Iterable[str], run: Callable[[str], Row], release: Callable[[], object]
) -> Iterator[tuple[str, Row]]:
    """Each name, in increasing order of memory, with its row; those after an oom are skipped."""
    ran_out = ""
    for name in names:
        if ran_out:
            yield name, skipped(ran_out)
            continue
        row = attempt(partial(run, name), release)
        ran_out = name if row["status"] == "oom" else ""
        yield name, row


def say(line: str) -> None:
    """Print a line at once, between timed regions."""
    print(line, flush=True)


def said(name: str, row: Row) -> Row:
    """`row`, after a line that says how `name` ended: its best time, or why it has none."""
    best = min(row.get("samples_ns") or [0]) / NS_PER_MS
    ended = f"{best:.3f} ms at best" if best else "done"
    if row["status"] != "ok":
        ended = f"{row['status']} ({row['reason']})"
    say(f"{name}: {ended}")
    return row


def free(device: str) -> None:
    """Return cached memory to the device."""
    gc.collect()
    if device == "cuda":
        torch.cuda.empty_cache()
