"""The paths of ranges: their names from the outermost to the innermost, within a process.

In a path, "/" separates names. A "/" in a name is written as a backslash and "/", a backslash as
two, so that different ranges never have the same path.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.captures.capture import Note
from workflow_src.common.intervals import Indices
from workflow_src.common.nesting import NOWHERE
from workflow_src.placing.shapes import alike, shapes


def escaped(name: str) -> str:
    """A range's name as a part of a path."""
    return name.replace("\\", "\\\\").replace("/", "\\/")


OF_WORK = ("path", "device", "start_ns", "end_ns", "duration_ns", "wait_ns")

MANY = 32
"""This many names may differ by numbers alone; of more, all are one. A reader needs each of a few
layers, but none of the calls that emit_nvtx numbers."""


AT_ONCE = 2**18
"""Activities whose times are added up at a time: few megabytes of copies."""


@dataclass(frozen=True)
class Paths:
    """All paths: text, process, the number of the path above (or NOWHERE), and depth from 1.

    of_range: the number of each range's path. notes: how many names were folded.
    """

    text: npt.NDArray[np.object_]
    process: Indices
    above: Indices
    depth: Indices
    of_range: Indices
    notes: tuple[Note, ...] = ()


def paths_of(ranges: pd.DataFrame, fold_numbers: bool = False) -> Paths:
    """The paths of ranges with `parent`; the one above always has a lower number.

    fold_numbers: whether ranges that differ by numbers alone are one path if they are MANY.
    """
    folding = Folding.of(ranges["name"].to_numpy(dtype=object), fold_numbers)
    parent, process = ranges["parent"].to_numpy(), ranges["process"].to_numpy()
    code, processes = pd.factorize(process, sort=True)
    depth, of_range = _depths(parent), np.full(len(ranges), NOWHERE)
    keys = [np.empty((3, 0), np.int64)]
    count = 0
    for level in range(1, int(depth.max(initial=0)) + 1):
        rows = np.flatnonzero(depth == level)
        above = np.where(level == 1, -1 - code[rows], of_range[parent[rows]])
        inverse, pairs = pd.factorize(above * len(folding.names) + folding.name[rows], sort=True)
        of_range[rows] = count + inverse
        found = np.stack(np.divmod(pairs, len(folding.names)))
        keys.append(np.vstack([found, np.full(found.shape[1], level)]))
        count += found.shape[1]
    return _written(folding, processes, np.hstack(keys), of_range)


@dataclass(frozen=True)
class Folding:
    """The names of ranges: each different one, and the number of each range's.

    notes: how many were folded.
    """

    names: npt.NDArray[np.object_]
    name: Indices
    notes: tuple[Note, ...] = ()

    @classmethod
    def of(cls, names: npt.NDArray[np.object_], fold_numbers: bool) -> "Folding":
        """The names, those that differ by numbers alone as one where they are MANY."""
        name, different = pd.factorize(names, sort=True)
        if not fold_numbers or len(different) <= MANY:
            return cls(different, name)
        folded = np.flatnonzero(alike(different) > MANY)
        if not len(folded):
            return cls(different, name)
        written = different.copy()
        written[folded] = shapes(different[folded])
        number, fewer = pd.factorize(written, sort=True)
        example = f"{different[folded[0]]} as {written[folded[0]]}"
        return cls(fewer, number[name], (Note("folded names", len(folded), example),))


def _depths(parent: Indices) -> Indices:
    """How many ranges each range lies in, itself included."""
    depth, at = np.ones(len(parent), dtype=np.int64), parent
    padded = np.append(parent, NOWHERE)
    while (at != NOWHERE).any():
        depth += at != NOWHERE
        at = padded[at]
    return depth


def _written(folding: Folding, processes: Indices, keys: Indices, of_range: Indices) -> Paths:
    """Paths from rows of the one above (or -1 minus its process's), name and depth."""
    parts = [escaped(name) for name in folding.names]
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
        folding.notes,
    )


def path_totals(ranges: pd.DataFrame, work: pd.DataFrame, paths: Paths) -> pd.DataFrame:
    """A row per path, with its text and process.

    ranges have the times of `device_times`, work the number of its `path`, or NOWHERE.
    instances, host_ns: of its ranges; busy_ns, activities: of all work launched in it, own_ns of
    what was launched in none of its inner ranges; wait_ns: of busy_ns, the wait_ns of the work;
    union_ns: time in which a device worked on any of that, added up over devices; span_ns: from the
    start of the first to the end of the last activity of each instance, added up.
    """
    host, span = ranges["end_ns"] - ranges["start_ns"], ranges["span_ns"]
    of_ranges: dict[str, Indices | int] = {
        "instances": 1, "host_ns": host.to_numpy(), "span_ns": span.to_numpy()
    }  # fmt: skip
    at = work["path"].to_numpy()
    own = _sums(at, work["duration_ns"].to_numpy(), paths)
    wait = _sums(at, work["wait_ns"].to_numpy(), paths)
    totals = {name: _sums(paths.of_range, values, paths) for name, values in of_ranges.items()}
    totals |= {"own_ns": own, "busy_ns": inclusive(own, paths), "wait_ns": inclusive(wait, paths)}
    totals["union_ns"] = _unions(paths, work)
    totals["activities"] = inclusive(_sums(at, 1, paths), paths)
    return pd.DataFrame({"process": paths.process, "path": paths.text, **totals})


def _sums(at: Indices, values: Indices | int, paths: Paths) -> Indices:
    """The sum of values by path, without those of NOWHERE."""
    return added_up(at, values, len(paths.text) + 1)[:-1]


def added_up(at: Indices, values: Indices | int, count: int) -> Indices:
    """The sum of the values at each of `count` places; -1 is the last one."""
    found = np.zeros(count, dtype=np.int64)
    np.add.at(found, at, values)
    return found


def inclusive(own: Indices, paths: Paths) -> Indices:
    """What each path has with all inner ones, from what it has by itself: a row per path."""
    total = own.copy()
    for level in range(int(paths.depth.max(initial=0)), 1, -1):
        rows = np.flatnonzero(paths.depth == level)
        np.add.at(total, paths.above[rows], total[rows])
    return total


def subtrees(paths: Paths) -> tuple[Indices, Indices]:
    """Each path's place in a walk of the tree, outer paths first, and where its inner ones end.

    So a path lies in another one if its place does in that one's places.
    """
    size = inclusive(np.ones(len(paths.text), dtype=np.int64), paths)
    place = np.zeros(len(size), dtype=np.int64)
    for level in range(1, int(paths.depth.max(initial=0)) + 1):
        rows = np.flatnonzero(paths.depth == level)
        above, before = paths.above[rows], np.cumsum(size[rows]) - size[rows]
        # Those of one path above stand together.
        first = np.maximum.accumulate(np.where(np.append(True, above[1:] != above[:-1]), before, 0))
        place[rows] = before if level == 1 else place[above] + 1 + before - first
    return place, place + size


def _unions(paths: Paths, work: pd.DataFrame) -> Indices:
    """For each path, the time that its work covers on each device, summed."""
    covered = np.zeros(len(paths.text), dtype=np.int64)
    if not work["start_ns"].is_monotonic_increasing:
        work = work[["path", "device", "start_ns", "end_ns"]].sort_values("start_ns")
    devices = pd.unique(work["device"].to_numpy())
    until = np.full(len(covered) * len(devices), work["start_ns"].min() if len(work) else 0)
    depth, above = np.append(paths.depth, 0), np.append(paths.above, NOWHERE)
    for first in range(0, len(work), AT_ONCE):
        part = work.iloc[first : first + AT_ONCE]
        device = pd.Index(devices).get_indexer(part["device"])
        start, end = part["start_ns"].to_numpy(), part["end_ns"].to_numpy()
        current = part["path"].to_numpy(dtype=np.int64, copy=True)
        for level in range(int(paths.depth.max(initial=0)), 0, -1):
            rows = np.flatnonzero(depth[current] == level)
            group = current[rows] * len(devices) + device[rows]
            np.add.at(covered, current[rows], _uncovered(group, start[rows], end[rows], until))
            current[rows] = above[current[rows]]
    return covered


def _uncovered(group: Indices, start: Indices, end: Indices, until: Indices) -> Indices:
    """How much of each interval no earlier one of its group covers, so that sums are unions (ns).

    Intervals are in order of start. until: the latest end of each group before these, which becomes
    that of these.
    """
    latest = pd.Series(np.maximum(end, until[group])).groupby(group, sort=False).cummax()
    before = latest.groupby(group, sort=False).shift(fill_value=until.min(initial=0))
    covered = np.maximum(before.to_numpy(), until[group])
    np.maximum.at(until, group, end)
    return np.asarray(np.maximum(end - np.maximum(start, covered), 0))
