"""Places device work in the ranges that were open when it was launched.

Each thread with ranges of its own is a tree, unless it is a helper (threads.py): its ranges and
launches are placed as if the thread that it works for had made them. Work belongs to the innermost
range that is open in its tree. Of a process without any range, all work belongs to the whole.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.captures.capture import RANGES, UNKNOWN, Capture, Note, as_small, frame, noted
from workflow_src.captures.domains import DEFAULT
from workflow_src.captures.launches import (
    BEFORE,
    NO_CALL,
    NO_CALLS,
    NO_NUMBER,
    REUSED,
    SHARED,
)
from workflow_src.common.intervals import Indices
from workflow_src.common.nesting import NOWHERE, Nesting, flattened, tree
from workflow_src.placing.thread_rows import NONE, rows_by
from workflow_src.placing.threads import WHY, Helped, helped

WHOLE = "(whole)"
"""The path of all work of a process without ranges."""

NO_RANGE = "no range was open at its launch"
OWN_THREAD = "no range was open on the thread that launched it, which has ranges of its own"

REASONS = (NO_RANGE, OWN_THREAD, NO_NUMBER, NO_CALLS, BEFORE, NO_CALL, SHARED, REUSED)
"""Why work has no path."""

IN_TREE = ("process", "thread", "tree")


@dataclass(frozen=True)
class Placed:
    """A capture's ranges with `parent`, and its work with `range` and `reason`.

    parent, range: row numbers of ranges, or NOWHERE; tree: the thread that a range or launch is
    placed with, its own but for a helper's; reason: why work is nowhere, or "".
    main_threads: of each process with ranges.
    """

    ranges: pd.DataFrame
    work: pd.DataFrame
    main_threads: dict[int, int]
    notes: tuple[Note, ...]


@dataclass(frozen=True)
class _Nested:
    """Each range's parent, the range of each activity, and how many ranges overlap."""

    parent: Indices
    owner: Indices
    overlapping: int


def place(capture: Capture, ranges: pd.DataFrame) -> Placed:
    """Place a capture's work in those `ranges` of it that count."""
    every, work, own = _with_wholes(capture, ranges), capture.work, len(ranges)
    helpers = helped(capture, ranges)
    every["tree"] = np.append(helpers.of_range, every["thread"].to_numpy()[own:])
    nested = _nested(every, work.assign(tree=helpers.of_work))
    parent, too_deep = flattened(nested.parent)
    owner, lent = nested.owner, _lent(work, nested.owner, helpers)
    for row, process in enumerate(every["process"].to_numpy()[own:], start=own):
        owner[(work["process"] == process).to_numpy()] = row
    apart = helpers.of_work != work["process"].map(helpers.main).to_numpy()
    counts = {"overlapping": nested.overlapping, "too_deep": too_deep, "shared": helpers.shared}
    return Placed(
        every.assign(parent=parent),
        work.assign(
            range=as_small(owner), tree=helpers.of_work, reason=_reasons(work, owner, apart)
        ),
        helpers.main,
        noted(**counts, **lent),
    )


def _nested(ranges: pd.DataFrame, work: pd.DataFrame) -> _Nested:
    """Nest the ranges of each tree, and place what was launched; both have a `tree`, a thread.

    A helper's ranges are nested with those of the thread that it works for, but not with those of
    its other helpers, which may work at the same time.
    """
    parent, owner, overlapping = np.full(len(ranges), NOWHERE), np.full(len(work), NOWHERE), {}
    start, end = ranges["start_ns"].to_numpy(), ranges["end_ns"].to_numpy()
    groups, nestings = rows_by(ranges[list(IN_TREE)]), dict[tuple[int, ...], Nesting]()
    for key, rows in groups.items():
        above = _own_rows(groups, key)
        every = np.append(above, rows)
        found, numbers = tree(start[every], end[every]), np.append(every, NOWHERE)
        parent[rows] = numbers[found.nesting.parent[len(above) :]]
        nestings[key] = replace(found.nesting, innermost=numbers[found.nesting.innermost])
        overlapping[key] = found.overlapping
    moments = work["launch_ns"].to_numpy()
    for key, rows in rows_by(work[list(IN_TREE)]).items():
        nesting = nestings.get(key) or nestings.get(_own(key))
        if nesting is not None:
            owner[rows] = nesting.at(moments[rows])
    owner[(work["missing"] != "").to_numpy()] = NOWHERE
    # Those of a thread that helpers work for are counted with each of them again.
    again = sum(
        overlapping[_own(key)] for key in groups if _own(key) in groups and key != _own(key)
    )
    return _Nested(parent, owner, sum(overlapping.values()) - again)


def _own_rows(groups: dict[tuple[int, ...], Indices], key: tuple[int, ...]) -> Indices:
    """The rows of the thread that a helper works for."""
    return NONE if key == _own(key) else groups.get(_own(key), NONE)


def _own(key: tuple[int, ...]) -> tuple[int, ...]:
    """The key of what the thread whose tree it is has in it."""
    return key[0], key[2], key[2]


def _lent(work: pd.DataFrame, owner: Indices, helpers: Helped) -> dict[str, int]:
    """How many activities that helpers launched lie in ranges, by why these are helpers."""
    counts = dict.fromkeys(WHY, 0)
    for (process, thread), why in helpers.why.items():
        launched = (work["thread"] == thread) & (work["process"] == process)
        counts[why] += int((launched.to_numpy() & (owner != NOWHERE)).sum())
    return counts


def is_unplaced(paths: "pd.Series[str]") -> "pd.Series[bool]":
    """Which of the paths that work has in tables are a reason why it has none, in brackets."""
    return paths.isin([f"({reason})" for reason in REASONS])


def _reasons(
    work: pd.DataFrame, owner: Indices, apart: npt.NDArray[np.bool_]
) -> npt.NDArray[np.object_]:
    """Why work is in no range, or ""."""
    lost = owner == NOWHERE
    missing = work["missing"].to_numpy()[lost]
    reasons = np.full(len(work), "", dtype=object)
    reasons[lost] = np.where(missing != "", missing, np.where(apart[lost], OWN_THREAD, NO_RANGE))
    return reasons


def _with_wholes(capture: Capture, ranges: pd.DataFrame) -> pd.DataFrame:
    """The ranges, then one over all work of each process that has work and no range.

    Work of an unknown process may be of one that has ranges, if any has.
    """
    having = {*ranges["process"].unique().tolist(), *([UNKNOWN] if len(ranges) else [])}
    columns = ["process", "start_ns", "end_ns", "launch_ns", "missing"]
    without = capture.work.loc[~capture.work["process"].isin(having), columns]
    begun = without["launch_ns"].where(without["missing"] == "", without["start_ns"])
    spans = without.assign(begun=np.minimum(begun, without["start_ns"])).groupby("process")
    found = spans.agg(start_ns=("begun", "min"), end_ns=("end_ns", "max")).reset_index()
    rows = {name: found[name] for name in ("process", "start_ns", "end_ns")} | {
        "name": [WHOLE] * len(found),
        "domain": [DEFAULT] * len(found),
        "thread": np.full(len(found), NOWHERE),
    }
    return pd.concat([ranges, frame(RANGES, rows)], ignore_index=True)
