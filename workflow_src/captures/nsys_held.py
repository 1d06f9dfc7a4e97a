"""What held the host of a program up, in an nsys export: waiting calls, and nsys's own overhead.

Each function returns a row per call or overhead, with HELD; `process` is nsys's own number.
"""

import re

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.captures.call_kinds import BLOCKING
from workflow_src.captures.capture import API, HELD, OVERHEAD, PAGEABLE_COPY, frame
from workflow_src.captures.exported import OVERHEADS, RUNTIME, WORK_TABLES, Exported
from workflow_src.captures.launches import Calls, that_launched
from workflow_src.captures.store import Among

PAGEABLE = 0
"""The kind of host memory that isn't pinned, in the columns srcKind and dstKind."""


def waits(found: Exported) -> pd.DataFrame:
    """The calls that return only when a device has done something, by their names."""
    names = found.texts(RUNTIME, "nameId") if found.has(RUNTIME) else {}
    waiting = {number: name for number, name in names.items() if re.search(BLOCKING, name)}
    if not waiting:
        return frame(HELD, {name: [] for name in HELD})
    return _rows(found, RUNTIME, API, waiting, Among("nameId", tuple(waiting)))


def overheads(found: Exported) -> pd.DataFrame:
    """The time that nsys recorded as its own."""
    if not found.has(OVERHEADS):
        return frame(HELD, {name: [] for name in HELD})
    return _rows(found, OVERHEADS, OVERHEAD, {})


def _rows(
    found: Exported, table: str, kind: str, names: dict[int, str], among: Among | None = None
) -> pd.DataFrame:
    rows = found.timed(table, ("start", "end", "globalTid", "nameId"), among)
    thread = rows["globalTid"]
    columns = {
        "kind": np.full(len(thread), kind, dtype=object),
        "name": [names.get(number, kind) for number in rows["nameId"].tolist()],
        "start_ns": rows["start"],
        "end_ns": rows["end"],
        "process": thread >> 24,
        "thread": thread & 0xFFFFFF,
    }
    return frame(HELD, columns)


def pageable_copies(found: Exported, calls: Calls) -> pd.DataFrame:
    """The calls that copied from or to host memory that isn't pinned."""
    copying = _copying(found, calls)
    count = int(copying.sum())
    columns = {
        "kind": [PAGEABLE_COPY] * count,
        "name": [PAGEABLE_COPY] * count,
        "start_ns": calls.start[copying],
        "end_ns": calls.end[copying],
        "process": calls.process[copying],
        "thread": calls.thread[copying],
    }
    return frame(HELD, columns)


def _copying(found: Exported, calls: Calls) -> npt.NDArray[np.bool_]:
    copies, sides = WORK_TABLES["MEMCPY"], ("srcKind", "dstKind")
    if not found.has(copies) or not all(found.has_column(copies, side) for side in sides):
        return np.zeros(len(calls.start), dtype=bool)
    rows = found.integers(copies, ("globalPid", "correlationId", *sides))
    pageable = (rows["srcKind"] == PAGEABLE) | (rows["dstKind"] == PAGEABLE)
    process, number = rows["globalPid"][pageable] >> 24, rows["correlationId"][pageable]
    return that_launched(process, number, calls)
