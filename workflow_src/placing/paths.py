"""The paths of ranges: their names from the outermost to the innermost, within a process.

In a path, "/" separates names. A "/" in a name is written as a backslash and "/", a backslash as
two, so that different ranges never have the same path.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.common.intervals import Indices, Union
from workflow_src.common.nesting import NOWHERE


def escaped(name: str) -> str:
    """A range's name as a part of a path."""
    return name.replace("\\", "\\\\").replace("/", "\\/")


@dataclass(frozen=True)
class Paths:
    """All paths: text, process, the number of the path above (or NOWHERE), and depth from 1.

    of_range: the number of each range's path.
    """

    text: npt.NDArray[np.object_]
    process: Indices
    above: Indices
    depth: Indices
    of_range: Indices


def paths_of(ranges: pd.DataFrame) -> Paths:
    """The paths of ranges with `parent`; the one above always has a lower number."""
    name, names = pd.factorize(ranges["name"].to_numpy(dtype=object), sort=True)
    parent, process = ranges["parent"].to_numpy(), ranges["process"].to_numpy()
    code, processes = pd.factorize(process, sort=True)
    depth, of_range = _depths(parent), np.full(len(ranges), NOWHERE)
    keys: list[Indices] = []
    count = 0
    for level in range(1, int(depth.max(initial=0)) + 1):
        rows = np.flatnonzero(depth == level)
        above = np.where(level == 1, -1 - code[rows], of_range[parent[rows]])
        found, inverse = np.unique(np.stack([above, name[rows]]), axis=1, return_inverse=True)
        of_range[rows] = count + inverse
        keys.append(np.vstack([found, np.full(found.shape[1], level)]))
        count += found.shape[1]
    return _written(names, processes, np.hstack([np.empty((3, 0), np.int64), *keys]), of_range)


def _depths(parent: Indices) -> Indices:
    """How many ranges each range lies in, itself included."""
    depth, at = np.ones(len(parent), dtype=np.int64), parent
    padded = np.append(parent, NOWHERE)
    while (at != NOWHERE).any():
        depth += at != NOWHERE
        at = padded[at]
    return depth


def _written(
    names: npt.NDArray[np.object_], processes: Indices, keys: Indices, of_range: Indices
) -> Paths:
    """Paths from rows of the one above (or -1 minus its process's), name and depth."""
    parts = [escaped(name) for name in names]
    text: list[str] = []
    process: list[int] = []
    for above, name in keys[:2].T.tolist():
        text.append(parts[name] if above < 0 else f"{text[above]}/{parts[name]}")
        process.append(int(processes[-1 - above]) if above < 0 else process[above])
    return Paths(
        np.array(text, dtype=object),
        np.array(process, dtype=np.int64),
        np.maximum(keys[0], NOWHERE),
        keys[2],
        of_range,
    )


def path_totals(ranges: pd.DataFrame, work: pd.DataFrame, paths: Paths) -> pd.DataFrame:
    """A row per path, with its text and process.

    ranges have the times of `device_times`, work the number of its `path`, or NOWHERE.
    instances, host_ns: of its ranges; busy_ns, activities: of all work launched in it, own_ns of
    what was launched in none of its inner ranges; wait_ns: of busy_ns, the wait_ns of the work;
    union_ns: time in which a device worked on any of that, added up over devices; span_ns: from the
    start of the first to the end of the last activity of each instance, added up.
    """
    timed = ranges.assign(
        host_ns=ranges["end_ns"] - ranges["start_ns"], instances=1, number=paths.of_range
    )
    columns = ["instances", "host_ns", "busy_ns", "span_ns"]
    sums = timed.groupby("number")[columns].sum().sort_index().reset_index(drop=True)
    at, length = work["path"].to_numpy(), work["duration_ns"].to_numpy()
    inside = at != NOWHERE
    own, wait = (np.zeros(len(paths.text), dtype=np.int64) for _ in range(2))
    np.add.at(own, at[inside], length[inside])
    np.add.at(wait, at[inside], work["wait_ns"].to_numpy()[inside])
    for number in range(len(wait) - 1, -1, -1):
        if paths.above[number] != NOWHERE:
            wait[paths.above[number]] += wait[number]
    union, activities = _unions(paths, work, at)
    return sums.assign(
        process=paths.process,
        path=paths.text,
        own_ns=own,
        wait_ns=wait,
        union_ns=union,
        activities=activities,
    )


def _unions(paths: Paths, work: pd.DataFrame, at: Indices) -> tuple[Indices, Indices]:
    """For each path, the time that its work covers on each device, summed; and how much work."""
    covered = np.zeros(len(paths.text), dtype=np.int64)
    counts = np.zeros(len(paths.text), dtype=np.int64)
    device, devices = pd.factorize(work["device"].to_numpy())
    start, end = work["start_ns"].to_numpy(), work["end_ns"].to_numpy()
    depth, above = np.append(paths.depth, 0), np.append(paths.above, NOWHERE)
    current = at.copy()
    for level in range(int(paths.depth.max(initial=0)), 0, -1):
        rows = np.flatnonzero(depth[current] == level)
        for group, some in _groups(current[rows] * len(devices) + device[rows], rows):
            covered[group // len(devices)] += Union.of(start[some], end[some]).total()
            counts[group // len(devices)] += len(some)
        current[rows] = above[current[rows]]
    return covered, counts


def _groups(key: Indices, rows: Indices) -> Iterator[tuple[int, Indices]]:
    """The rows that have each key, which is small and at least 0."""
    rows, sizes = rows[np.argsort(key, kind="stable")], np.bincount(key)
    found, ends = np.flatnonzero(sizes), np.cumsum(sizes)
    # Not strict: no rows, of no key, are split into one part.
    return zip(found.tolist(), np.split(rows, ends[found][:-1]), strict=False)
