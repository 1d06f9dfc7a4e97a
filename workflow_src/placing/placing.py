"""Places device work in the ranges that were open when it was launched.

Each thread with ranges of its own is a tree. Work launched on it belongs to its innermost open
range; work launched on a thread without ranges, such as autograd's, to the innermost range that is
open on its process's main thread: the first one, if it has ranges, or else the one with most. So
does work on a thread whose ranges are all a library's, outside of these. Of a process without any
range, all work belongs to the whole.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.captures.capture import RANGES, UNKNOWN, Capture, Note, frame, noted
from workflow_src.captures.domains import DEFAULT, is_library
from workflow_src.common.intervals import Indices
from workflow_src.common.nesting import NOWHERE, Nesting, flattened, tree

WHOLE = "(whole)"
"""The path of all work of a process without ranges."""

NO_RANGE = "no range was open at its launch"
OWN_THREAD = "no range was open on the thread that launched it, which has ranges of its own"


@dataclass(frozen=True)
class Placed:
    """A capture's ranges with `parent`, and its work with `range` and `reason`.

    parent, range: row numbers of ranges, or NOWHERE; reason: why work is nowhere, or "".
    main_threads: of each process with ranges.
    """

    ranges: pd.DataFrame
    work: pd.DataFrame
    main_threads: dict[int, int]
    notes: tuple[Note, ...]


@dataclass(frozen=True)
class _Trees:
    """The trees of all threads, in row numbers of the ranges.

    number: the tree of a (process, thread) that has ranges; main: that of a process's main thread.
    """

    nestings: list[Nesting]
    number: dict[tuple[int, int], int]
    main: dict[int, int]


def place(capture: Capture, ranges: pd.DataFrame) -> Placed:
    """Place a capture's work in those `ranges` of it that count."""
    every = _with_wholes(capture, ranges)
    work, own = capture.work, len(ranges)
    trees, nested, overlapping = _trees(every)
    parent, too_deep = flattened(nested)
    thread_of = {number: thread for (_, thread), number in trees.number.items()}
    mains = {process: thread_of[number] for process, number in trees.main.items()}
    tree_of, apart = _tree_of(work, trees)
    owner = _owners(work, trees, tree_of)
    lent = _lend(work, every, trees, owner)
    for row, process in enumerate(every["process"].to_numpy()[own:], start=own):
        owner[(work["process"] == process).to_numpy()] = row
    return Placed(
        every.assign(parent=parent),
        work.assign(range=owner, reason=_reasons(work, owner, apart)),
        {process: mains[process] for process in ranges["process"].unique().tolist()},
        noted(overlapping=overlapping, too_deep=too_deep, lent=lent),
    )


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


def _by_thread(rows: pd.DataFrame) -> dict[tuple[int, int], Indices]:
    """The row numbers of each process and thread."""
    groups = rows.reset_index(drop=True).groupby(["process", "thread"]).indices
    found = {}
    for key, numbers in groups.items():
        process, thread = np.asarray(key).tolist()
        found[process, thread] = np.asarray(numbers, dtype=np.int64)
    return found


def _trees(ranges: pd.DataFrame) -> tuple[_Trees, Indices, int]:
    """The tree of each thread, each range's parent, and how many ranges overlap."""
    parent, overlapping = np.full(len(ranges), NOWHERE), 0
    nestings: list[Nesting] = []
    start, end = ranges["start_ns"].to_numpy(), ranges["end_ns"].to_numpy()
    threads = _by_thread(ranges)
    for rows in threads.values():
        found, own = tree(start[rows], end[rows]), np.append(rows, NOWHERE)
        parent[rows] = own[found.nesting.parent]
        overlapping += found.overlapping
        innermost = own[found.nesting.innermost]
        nestings.append(Nesting(parent[rows], found.nesting.times, innermost))
    number = {key: n for n, key in enumerate(threads)}
    # On Linux a process's first thread, which nearly always trains, has the process's number.
    order = sorted(threads, key=lambda key: (key[0] != key[1], -len(threads[key]), key))
    main = {process: number[process, thread] for process, thread in reversed(order)}
    return _Trees(nestings, number, main), parent, overlapping


def _tree_of(work: pd.DataFrame, trees: _Trees) -> tuple[Indices, npt.NDArray[np.bool_]]:
    """The tree that each launch belongs to, or NOWHERE, and whether it isn't the main thread's."""
    found, apart = np.full(len(work), NOWHERE), np.zeros(len(work), dtype=bool)
    for (process, thread), rows in _by_thread(work).items():
        main = trees.main.get(process, NOWHERE)
        found[rows] = trees.number.get((process, thread), main)
        apart[rows] = found[rows] != main
    found[(work["missing"] != "").to_numpy()] = NOWHERE
    return found, apart


def _lend(work: pd.DataFrame, ranges: pd.DataFrame, trees: _Trees, owner: Indices) -> int:
    """Place launches that have no range, on threads without the program's, by the main thread's.

    Changes `owner`; returns how many launches of such threads lie in the main thread's ranges.
    """
    only = ranges["domain"].map(is_library).groupby([ranges["process"], ranges["thread"]]).all()
    of_program, lent = {key for key, library in only.items() if not library}, 0
    known = work.loc[work["missing"] == "", ["process", "thread"]]
    is_range = np.append(ranges["thread"].to_numpy() != NOWHERE, False)
    for key, numbers in _by_thread(known).items():
        main = trees.main.get(key[0])
        if key in of_program or main is None:
            continue
        rows = known.index.to_numpy()[numbers]
        asking = rows[owner[rows] == NOWHERE] if key in trees.number else rows
        owner[asking] = trees.nestings[main].at(work["launch_ns"].to_numpy()[asking])
        lent += int(is_range[owner[asking]].sum())
    return lent


def _owners(work: pd.DataFrame, trees: _Trees, tree_of: Indices) -> Indices:
    """The innermost range open at each launch in its tree, or NOWHERE."""
    owner, moments = np.full(len(work), NOWHERE), work["launch_ns"].to_numpy()
    order = np.argsort(tree_of, kind="stable")
    bounds = np.searchsorted(tree_of[order], np.arange(len(trees.nestings) + 1))
    for number, nesting in enumerate(trees.nestings):
        rows = order[bounds[number] : bounds[number + 1]]
        owner[rows] = nesting.at(moments[rows])
    return owner
