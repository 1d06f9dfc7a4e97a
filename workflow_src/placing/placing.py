"""Places device work in the ranges that were open when it was launched (docs/captures.md).

Each thread with ranges is a tree, unless it is a helper (threads.py): its ranges and launches are
placed as if the thread that it works for had made them.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from workflow_src.captures.capture import UNKNOWN, Capture, Note, as_small, counted, frame
from workflow_src.captures.domains import DEFAULT
from workflow_src.captures.rows import spans
from workflow_src.common.intervals import Indices
from workflow_src.common.nesting import NOWHERE, Nesting, flattened, tree
from workflow_src.placing.threads import NONE, helped, rows_by
from workflow_src.placing.turns import whole

WHOLE = "(whole)"

REASONS = NO_RANGE, NO_CALL = "no range was open at its launch", "its launch is not in the capture"

OF_ROWS = (16, 32)
"""Bits of the numbers of ranges, paths and names: there is one for each activity."""


@dataclass(frozen=True)
class Placed:
    """A capture's ranges with `parent`, and its work with `range`.

    parent, range: row numbers of ranges, or NOWHERE; busy_ns of ranges: the device time launched in
    each and in its inner ones; tree: the thread that a range or launch is placed with.
    main_threads: by process.
    """

    ranges: pd.DataFrame
    work: pd.DataFrame
    main_threads: dict[int, int]
    notes: tuple[Note, ...]


def place(capture: Capture, ranges: pd.DataFrame) -> Placed:
    """Place a capture's work in those `ranges` of it that count."""
    own, helpers = len(ranges), helped(capture, ranges)
    ranges = _with_wholes(capture, ranges)
    ranges["tree"] = np.append(helpers.of_range, ranges["thread"].to_numpy()[own:])
    work = capture.work
    parent, owner, overlapping = nested(ranges, work.assign(tree=helpers.of_work))
    parent, too_deep = flattened(parent)
    lent = int((owner[helpers.lent] != NOWHERE).sum())
    for row, process in enumerate(ranges["process"].to_numpy()[own:], start=own):
        owner[(work["process"] == process).to_numpy()] = row
    work = work.assign(range=as_small(owner, OF_ROWS), tree=helpers.of_work)
    ranges = ranges.assign(parent=parent, busy_ns=_busy(parent, work))
    notes = counted({"overlapping": overlapping, "too deep": too_deep, "lent": lent})
    return Placed(ranges, work, helpers.main, notes)


def nested(ranges: pd.DataFrame, work: pd.DataFrame) -> tuple[Indices, Indices, int]:
    """Each range's parent, the range of each activity, and how many ranges overlap.

    A helper's ranges aren't nested with those of other helpers, which may work at the same time.
    """
    parent, owner = np.full(len(ranges), NOWHERE), np.full(len(work), NOWHERE)
    start, end = spans(ranges)
    moments = work["launch_ns"].to_numpy()
    columns = ["process", "tree", "thread"]
    pushed, launched = rows_by(ranges[columns]), rows_by(work[columns])
    overlapping, trees = 0, dict[tuple[int, ...], Nesting]()
    for key in sorted({*pushed, *launched}, key=lambda key: key[1] != key[2]):
        caller = (*key[:2], key[1])
        rows, mine = pushed.get(key, NONE), launched.get(key, NONE)
        if len(rows):
            above = pushed.get(caller, NONE) if key != caller else NONE
            trees[key] = tree(start, end, np.append(above, rows))
            parent[rows] = trees[key].parent[len(above) :]
            overlapping += trees[key].overlapping
            overlapping -= trees[caller].overlapping if len(above) else 0
        if found := trees.get(key) or trees.get(caller):
            owner[mine] = found.at(moments[mine])
    owner[moments == UNKNOWN] = NOWHERE
    return parent, owner, overlapping


def _busy(parent: Indices, work: pd.DataFrame) -> Indices:
    # Those of NOWHERE come last.
    parent, busy = np.append(parent, NOWHERE), np.zeros(len(parent) + 1, dtype=np.int64)
    at, duration = work["range"].to_numpy(), work["duration_ns"].to_numpy()
    while (at != NOWHERE).any():
        np.add.at(busy, at, duration)
        at = parent[at]
    return busy[:-1]


def is_unplaced(paths: "pd.Series[str]") -> "pd.Series[bool]":
    """Which of tables' paths are a reason why work has none, in brackets."""
    return paths.isin([f"({reason})" for reason in REASONS])


def _with_wholes(capture: Capture, ranges: pd.DataFrame) -> pd.DataFrame:
    """The ranges, then one over all work of each process that has work and no range.

    Work of an unknown process may be of one that has ranges, if any has.
    """
    having = {*ranges["process"].unique().tolist(), *([UNKNOWN] if len(ranges) else [])}
    without = capture.work[~capture.work["process"].isin(having)]
    wholes = whole(without, WHOLE).assign(domain=DEFAULT, thread=NOWHERE)
    return pd.concat([ranges, frame("ranges", wholes)], ignore_index=True)
