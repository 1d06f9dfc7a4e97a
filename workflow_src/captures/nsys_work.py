"""What devices did, in an nsys export: kernels, copies, sets and whole graphs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.captures.capture import COPY, GRAPH, KERNEL, SET, UNKNOWN, as_small
from workflow_src.captures.exported import COPY_KINDS, WORK_TABLES, Columns, Exported
from workflow_src.captures.nsys_copies import COPIED, copies, labels
from workflow_src.captures.plausible import Window, outside
from workflow_src.captures.rows import in_order, repeated
from workflow_src.common.intervals import Indices

KINDS = {"KERNEL": KERNEL, "MEMCPY": COPY, "MEMSET": SET, "GRAPH_TRACE": GRAPH}
NAMED_BY = {
    "KERNEL": "demangledName",
    "MEMCPY": "copyKind",
    "MEMSET": "value",
    "GRAPH_TRACE": "graphId",
}
TIMES = ("start", "end", "globalPid", "correlationId", "deviceId", "streamId")
NODE = "graphNodeId"
"""Tells apart the kernels of one launch of a graph."""


@dataclass(frozen=True)
class Worked:
    """One table of device work, by time, each activity once.

    total_ns: what the file has of it; bad, twice, impossible: how many rows were left out, without
    a time, equal to another, or at times that can't be.
    """

    kind: str
    columns: Columns
    names: npt.NDArray[np.object_]
    copies: pd.DataFrame
    total_ns: int
    bad: int
    lost_names: int
    twice: int
    impossible: int = 0

    def within(self, window: Window) -> "Worked":
        """The same, but for what lies outside of a window."""
        start, end = self.columns["start"], self.columns["end"]
        lost = outside(start, end, window)
        if not lost.any():
            return self
        kept, place = ~lost, np.cumsum(~lost) - 1
        copied = self.copies[kept[self.copies["work"].to_numpy()]]
        return replace(
            self,
            columns={name: column[kept] for name, column in self.columns.items()},
            names=self.names[kept],
            copies=copied.assign(work=place[copied["work"].to_numpy()]),
            total_ns=self.total_ns - int((end - start)[lost].sum()),
            impossible=int(lost.sum()),
        )


def read_work(found: Exported) -> list[Worked]:
    """The device work of an export, a table after the other."""
    return [_worked(found, key) for key, table in WORK_TABLES.items() if found.has(table)]


def column(parts: Sequence[Worked], name: str) -> Indices:
    """A column of all device work; that of a single table takes no memory of its own."""
    found = [part.columns[name] for part in parts if len(part.names)]
    return found[0] if len(found) == 1 else np.concatenate([np.array([], dtype=np.int64), *found])


def _worked(found: Exported, key: str) -> Worked:
    """The valid rows of one table of device work."""
    table = WORK_TABLES[key]
    kind, named_by = KINDS[key], NAMED_BY[key]
    wanted = tuple(dict.fromkeys((*TIMES, *COPIED.get(kind, ()), named_by)))
    rows = found.timed(table, wanted)
    bad, total_ns = found.rows(table) - len(rows["start"]), found.duration_ns(table)
    again = _by_time(found, table, rows)
    copied = copies(found, kind, rows)
    rows |= {name: as_small(rows[name]) for name in ("correlationId", "deviceId", "streamId")}
    names, lost = _names(found, key, rows.pop(named_by))
    return Worked(kind, rows, names, copied, total_ns - int(again.sum()), bad, lost, len(again))


def _by_time(found: Exported, table: str, rows: Columns) -> Indices:
    """Put rows in order of time, each once; how long (ns) those take that were there before.

    Changes `rows`, so that a column of ten million is let go before the next one is made.
    """
    order = in_order(rows["start"], list(rows.values()))
    again = repeated(order, list(rows.values()))
    if len(again) and found.has_columns(table, NODE):
        nodes = found.timed(table, ("start", "end", NODE))[NODE]
        order = in_order(rows["start"], [*rows.values(), nodes])
        again = repeated(order, [*rows.values(), nodes])
    lengths = rows["end"][again] - rows["start"][again]
    if len(again):
        order = order[~np.isin(order, again)]
    if len(again) or (order[1:] < order[:-1]).any():
        for name in rows:
            rows[name] = rows[name][order]
    return lengths


def _names(found: Exported, key: str, numbers: Indices) -> tuple[npt.NDArray[np.object_], int]:
    """The name of each activity, and how many have only a number for one."""
    inverse, own = pd.factorize(numbers)
    known, lost = _known_names(found, key, own), f"({KINDS[key]} {{}})"
    if key == "GRAPH_TRACE":
        known = {number: f"CUDA graph {number}" for number in own.tolist()}
        known[UNKNOWN] = "CUDA graph"
    if key == "MEMSET":
        known = dict.fromkeys(own.tolist(), "[CUDA memset]")
    texts = [known.get(number, lost.format(number)) for number in own.tolist()]
    is_lost = np.array([number not in known for number in own.tolist()], dtype=bool)
    return np.array(texts, dtype=object)[inverse], int(is_lost[inverse].sum())


def _known_names(found: Exported, key: str, numbers: Indices) -> dict[int, str]:
    if key == "KERNEL":
        return found.texts(numbers)
    if key == "MEMCPY":
        known = labels(found, COPY_KINDS)
        return {number: f"[CUDA memcpy {label}]" for number, label in known.items()}
    return {}
