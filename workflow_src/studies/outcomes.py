"""What became of a measurement, as a row: its numbers, or why there are none."""

import gc
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from workflow_src.common.summary import summarise
from workflow_src.studies.study import Row


def attempt(measure: Callable[[], Row], release: Callable[[], object]) -> Row:
    """The row of `measure` with status ok; or status oom and the reason.

    Only torch.OutOfMemoryError is oom, after which `release` is called; others pass through.
    """
    import torch

    try:
        return {"status": "ok", "reason": ""} | measure()
    except torch.OutOfMemoryError as error:
        reason = " ".join(str(error).split()).split(". ")[0]
    # Outside the except block: the traceback in there keeps the tensors alive.
    release()
    return {"status": "oom", "reason": reason}


def skipped(after: str) -> Row:
    """The row of what was not tried, since `after`, which needs less memory, ran out of it."""
    return {"status": "skipped", "reason": f"needs more memory than {after}, which ran out"}


def in_turn(
    names: Iterable[str], run: Callable[[str], Row], release: Callable[[], object]
) -> Iterator[tuple[str, Row]]:
    """Each name, in rising order of memory, with its row; those after an oom are skipped."""
    ran_out = ""
    for name in names:
        if ran_out:
            yield name, skipped(ran_out)
            continue
        row = attempt(partial(run, name), release)
        ran_out = name if row["status"] == "oom" else ""
        yield name, row


def free(device: str) -> None:
    """Give cached memory back to the device."""
    import torch

    gc.collect()
    if device == "cuda":
        torch.cuda.empty_cache()


def spread(samples_ns: Sequence[int]) -> Row:
    """Mean, median, std, p20 and p80 in ms as statistics.summarise has them; None for NaN."""
    found = summarise(samples_ns)
    return {name: None if math.isnan(value) else value for name, value in found.items()}
