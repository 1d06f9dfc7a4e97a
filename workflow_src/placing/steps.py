"""The steps of a capture: which ranges they are, and the ledger of each.

A step is a range of the name that was asked for. If none was, steps are the outermost ranges of one
path on a process's main thread, if there are several and nearly all work of that thread's ranges is
theirs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.captures.capture import OPERATOR, OVERHEAD, UNKNOWN
from workflow_src.common.intervals import Indices, Union
from workflow_src.placing.ledger import STEP_COLUMNS as OF_STEP
from workflow_src.placing.ledger import Device, step_ledger
from workflow_src.placing.paths import Paths

REPEATED = 3
"""Outermost ranges of one path, from which on they may be steps: two may be a warm-up and a run."""

NEARLY_ALL = 0.9
"""Of the device time in a main thread's ranges. So neither forward nor backward is a step if both
are outermost, but a range is beside which another one fetches data."""

OF_WORK = ("start_ns", "end_ns", "launch_ns", "launch_end_ns")
STEP_COLUMNS = ("process", "path", *OF_STEP[1:])


@dataclass(frozen=True)
class Source:
    """What steps are found in.

    ranges: with busy_ns; of_all_domains: also those that don't count; work: as in Capture;
    held: of its calls those that held the host up; mains: the main thread of each process that has
    ranges.
    """

    ranges: pd.DataFrame
    of_all_domains: pd.DataFrame
    paths: Paths
    work: pd.DataFrame
    held: pd.DataFrame
    mains: dict[int, int]


@dataclass(frozen=True)
class ThreadSteps:
    """The steps of one thread, and what the devices and the host of its process did.

    has_calls: whether the capture holds calls that launched some of the process's work.
    """

    steps: pd.DataFrame
    device: Device
    has_calls: bool


def thread_steps(source: Source, named: str) -> list[ThreadSteps]:
    """The steps of each thread that has any."""
    chosen = step_ranges(source, named)
    return [of_thread(source, rows) for _, rows in chosen.groupby(["process", "thread"])]


def steps(threads: Sequence[ThreadSteps]) -> pd.DataFrame:
    """A row per step, with STEP_COLUMNS: whole nanoseconds, wall = device_active + idle.

    A device is active while any activity of the process runs, whenever it was launched. Causes are
    missing where the capture holds no call that launched something.
    """
    parts = [_ledger(thread) for thread in threads]
    table = pd.concat([pd.DataFrame(columns=list(STEP_COLUMNS), dtype="Int64"), *parts])
    return table.sort_values(["process", "path", "step"], ignore_index=True)


def _ledger(thread: ThreadSteps) -> pd.DataFrame:
    found = step_ledger(thread.steps, thread.device, thread.has_calls)
    process = int(thread.steps["process"].iloc[0])
    return found.rename(columns={"phase": "path"}).assign(process=process)[list(STEP_COLUMNS)]


def step_ranges(source: Source, named: str) -> pd.DataFrame:
    """The ranges that are steps, in order of start, with `path`, `phase` (the same) and `step`.

    number: the path's.
    """
    ranges, number = source.ranges, source.paths.of_range
    found = (ranges["name"] == named).to_numpy() if named else _repeated(source)
    chosen = ranges.assign(path=source.paths.text[number], number=number)[found]
    chosen = chosen.assign(phase=chosen["path"]).sort_values("start_ns")
    return chosen.assign(step=chosen.groupby(["process", "path"]).cumcount())


def _repeated(source: Source) -> npt.NDArray[np.bool_]:
    """Which ranges are steps, if no name was asked for."""
    ranges, path = source.ranges, source.paths.of_range
    main = ranges["process"].map(source.mains) == ranges["thread"]
    outermost = (source.paths.depth[path] == 1) & main.to_numpy()
    count = np.bincount(path[outermost], minlength=len(source.paths.text))
    busy = np.zeros(len(count), dtype=np.int64)
    np.add.at(busy, path[outermost], ranges["busy_ns"].to_numpy()[outermost])
    totals = pd.Series(busy).groupby(source.paths.process).transform("sum").to_numpy()
    is_step = (count >= REPEATED) & (busy > 0) & (busy >= NEARLY_ALL * totals)
    return np.asarray(outermost & is_step[path])


def of_thread(source: Source, chosen: pd.DataFrame) -> ThreadSteps:
    """Steps of one thread."""
    process, thread = (int(chosen[name].iloc[0]) for name in ("process", "thread"))
    work, mine = source.work, (source.work["process"] == process).to_numpy()
    known = mine & (work["launch_ns"] != UNKNOWN) & (work["kind"] != OPERATOR)
    threads = [thread, *_helpers(source, process, work.loc[mine, "thread"].unique())]
    launching = mine & work["thread"].isin(threads)
    elsewhere = _elsewhere(source, process, thread, np.sort(work.loc[launching, "launch_ns"]))
    held = _held_up(source.held, process, threads)
    device = Device.of(work.loc[mine, list(OF_WORK)], held, elsewhere)
    return ThreadSteps(chosen, device, bool(known.any()))


def _helpers(source: Source, process: int, launching: Indices) -> Indices:
    """The threads of a process that launch work and have no ranges."""
    own = source.ranges.loc[source.ranges["process"] == process, "thread"].unique()
    return np.setdiff1d(launching, np.append(own, UNKNOWN))


def _held_up(held: pd.DataFrame, process: int, threads: Sequence[int]) -> pd.DataFrame:
    """The rows of `held` on some threads of a process, and the profiler's overhead."""
    waits = held["thread"].isin(threads) & (held["process"] == process)
    overheads = (held["kind"] == OVERHEAD) & held["process"].isin([process, UNKNOWN])
    return held[waits | overheads]


def _elsewhere(source: Source, process: int, thread: int, launches: Indices) -> Union:
    """When a thread was in ranges, of any domain, that hold none of these launches.

    Such as one that fetches data, which torch marks in a domain of its own.
    """
    ranges = source.of_all_domains
    mine = (ranges["process"] == process) & (ranges["thread"] == thread)
    start, end = (ranges.loc[mine, name].to_numpy() for name in ("start_ns", "end_ns"))
    empty = np.searchsorted(launches, start) == np.searchsorted(launches, end)
    return Union.of(start[empty], end[empty])
