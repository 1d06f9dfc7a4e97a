"""How a phase's work is launched: delays, short kernels, depth of the queue, time in API calls."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.captures.call_kinds import call_kinds
from workflow_src.captures.capture import KERNEL, OPERATOR, OVERHEAD
from workflow_src.common.intervals import Indices
from workflow_src.common.nesting import NOWHERE
from workflow_src.common.units import NS_PER_US
from workflow_src.placing.range_times import whole_steps

SHORT_US = (5, 10)
"""Kernels shorter than these are counted."""

DELAY_BOUNDS_US = (0, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Bounds of the histogram of launch delays. A negative delay means that the kernel started before
its launch call returned."""

Depths = npt.NDArray[np.float64]

PARTS = 10
"""Equal parts of a step, over which the depth of the queue is given."""

DEPTHS = tuple(f"depth_tenth_{n}" for n in range(1, PARTS + 1))

LAUNCH_COLUMNS = (
    *("phase", "launches", "kernels"),
    *(name for n in SHORT_US for name in (f"kernels_under_{n}us", f"kernels_under_{n}us_ns")),
    *("delay_median_us", "depth_median", "depth_max", "empty_queue_share"),
    *DEPTHS,
)


def _in_steps(ranges: pd.DataFrame, activities: pd.DataFrame) -> pd.DataFrame:
    """Activities launched in a step, by a call in the capture, with their `phase` and `step`."""
    at = activities["range"].to_numpy()
    phase = np.append(ranges["phase"].to_numpy(dtype=object), "")[at]
    step = np.append(ranges["step"].to_numpy(dtype=object), NOWHERE)[at]
    launched = (activities["kind"] != OPERATOR) & (activities["launch_ns"] != NOWHERE)
    placed = activities.assign(phase=phase, step=step)
    return placed[launched & (placed["phase"] != "")]


def queue_depths(launch: Indices, start: Indices) -> Indices:
    """How many activities launched before each one the device had not started at its launch.

    launch: start of each launch call; start: of each activity.
    """
    started = np.sort(np.maximum(start, launch))
    before = np.searchsorted(np.sort(launch), launch, side="left")
    depth = np.maximum(before - np.searchsorted(started, launch, side="right"), 0)
    return np.asarray(depth, dtype=np.int64)


def mean_depths(launch: Indices, start: Indices, begin: int, end: int) -> Depths:
    """The mean depth of the launch queue in each of PARTS equal parts of a step.

    An activity is in the queue from the start of its launch call to its own start. begin and end
    are those of the step; as launch and start, in ns.
    """
    edges = np.linspace(0, end - begin, PARTS + 1)
    from_ns, to_ns = (each[:, np.newaxis] - begin for each in (launch, start))
    queued = np.minimum(to_ns, edges[1:]) - np.maximum(from_ns, edges[:-1])
    return np.asarray(np.maximum(queued, 0).sum(axis=0) / np.diff(edges), dtype=np.float64)


def launches(ranges: pd.DataFrame, activities: pd.DataFrame) -> pd.DataFrame:
    """A row per phase, over all of its steps; no rows if the capture has no launches.

    launches: of kernels, copies and sets; kernels; kernels_under_{n}us and their device time
    kernels_under_{n}us_ns; delay_median_us: from the end of a kernel's launch call to its start;
    depth_median and depth_max of the queue that a launch found, and the share of launches that
    found it empty; depth_tenth_{n}: its mean depth in the n-th tenth of a step's time on the host.
    """
    steps, launched = whole_steps(ranges), _in_steps(ranges, activities)
    depth = queue_depths(launched["launch_ns"].to_numpy(), launched["start_ns"].to_numpy())
    rows = []
    for phase, found in launched.assign(depth=depth).groupby("phase", sort=False):
        kernels = found[found["kind"] == KERNEL]
        row = {"phase": phase, "launches": len(found), "kernels": len(kernels)}
        for bound in SHORT_US:
            short = kernels.loc[kernels["duration_ns"] < bound * NS_PER_US, "duration_ns"]
            row[f"kernels_under_{bound}us"] = len(short)
            row[f"kernels_under_{bound}us_ns"] = int(short.sum())
        delay = kernels["start_ns"] - kernels["launch_end_ns"]
        row |= {"delay_median_us": delay.median() / NS_PER_US}
        row |= {"depth_median": found["depth"].median(), "depth_max": found["depth"].max()}
        row |= {"empty_queue_share": (found["depth"] == 0).mean()}
        tenths = []
        own = steps.loc[steps["phase"] == phase, ["step", "start_ns", "end_ns"]]
        for step, begin, end in own.to_numpy().tolist():
            mine = found[found["step"] == step]
            launch, start = (mine[name].to_numpy(np.int64) for name in ("launch_ns", "start_ns"))
            tenths.append(mean_depths(launch, start, begin, end))
        rows.append(row | dict(zip(DEPTHS, np.mean(tenths, axis=0).round(6), strict=True)))
    return pd.DataFrame(rows, columns=list(LAUNCH_COLUMNS))


def launch_delays(ranges: pd.DataFrame, activities: pd.DataFrame) -> pd.DataFrame:
    """A row per phase and bin of the histogram of launch delays of kernels.

    from_us (included) and to_us (excluded), each missing where the bin is open; kernels, and the
    sum of their delays. A bin without kernels has no row.
    """
    launched = _in_steps(ranges, activities)
    launched = launched[launched["kind"] == KERNEL]
    delay = launched["start_ns"] - launched["launch_end_ns"]
    place = np.searchsorted(np.array(DELAY_BOUNDS_US) * NS_PER_US, delay, side="right")
    grouped = launched.assign(bin=place, delay_ns=delay).groupby(["phase", "bin"], as_index=False)
    table = grouped.agg(kernels=("delay_ns", "size"), delay_ns=("delay_ns", "sum"))
    bounds = pd.array([None, *DELAY_BOUNDS_US, None], dtype="Int64")
    at = table["bin"].to_numpy(dtype=np.int64)
    table = table.assign(from_us=bounds[at], to_us=bounds[at + 1])
    return table[["phase", "from_us", "to_us", "kernels", "delay_ns"]]


def api_calls(ranges: pd.DataFrame, calls: pd.DataFrame) -> pd.DataFrame:
    """A row per phase and API call that began in a step of it, on any thread.

    phase, steps, kind (see call_kinds), name, calls and total_ns over all steps.
    """
    steps = whole_steps(ranges)
    calls = calls[calls["kind"] != OVERHEAD]
    begins = calls["start_ns"].to_numpy()
    at = np.searchsorted(steps["start_ns"].to_numpy(), begins, side="right") - 1
    inside = (at >= 0) & (begins < np.append(steps["end_ns"].to_numpy(), 0)[at])
    placed = calls[inside].assign(phase=steps["phase"].to_numpy()[at[inside]])
    placed["total_ns"] = placed["end_ns"] - placed["start_ns"]
    grouped = placed.groupby(["phase", "name"], as_index=False, observed=True)
    table = grouped.agg(calls=("total_ns", "size"), total_ns=("total_ns", "sum"))
    table = table.astype({"name": "str"}).sort_values(
        ["phase", "total_ns", "name"], ascending=[True, False, True]
    )
    of_phase = steps["phase"].value_counts()
    table = table.assign(kind=call_kinds(table["name"]), steps=table["phase"].map(of_phase))
    return table[["phase", "steps", "kind", "name", "calls", "total_ns"]]
