"""Out of memory as a result: work in increasing order of memory, each with a status.

A row's status is "ok", "oom" or "skipped"; `reason` says why it is not ok.
"""

import gc
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import torch

Row = dict[str, Any]


def attempt(measure: Callable[[], Row], release: Callable[[], object]) -> Row:
    """The row of `measure` with status ok (unless it has its own), or status oom and the reason.

    Only torch.OutOfMemoryError counts as oom, after which `release` is called; any other exception
    propagates.
    """
    try:
        return {"status": "ok", "reason": ""} | measure()
    except torch.OutOfMemoryError as error:
        reason = " ".join(str(error).split()).split(". ")[0]
    # Outside the except block: the traceback in there keeps the tensors alive.
    release()
    return {"status": "oom", "reason": reason}


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


def free(device: str) -> None:
    """Return cached memory to the device."""
    gc.collect()
    if device == "cuda":
        torch.cuda.empty_cache()
