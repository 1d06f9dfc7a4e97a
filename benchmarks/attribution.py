"""How long attribution takes for a synthetic trace: N launches in nested ranges, half of them
from a thread without ranges, like autograd's."""

import argparse

import numpy as np
import pandas as pd

from workflow_src.common.summary import summarize
from workflow_src.measure.timing import time_steps
from workflow_src.placing.attribution import attribute, device_times, number_steps
from workflow_src.traces.trace import Trace

LAUNCHES_PER_BLOCK = 30


def synthetic(launches: int) -> Trace:
    """A trace of train_step ranges with forward, backward and blocks, and its launches."""
    blocks = launches // LAUNCHES_PER_BLOCK
    start = np.arange(blocks) * 1000
    inner = pd.DataFrame({"name": "block", "start_ns": start + 10, "end_ns": start + 900})
    outer = pd.DataFrame(
        {"name": "train_step", "start_ns": start[::20], "end_ns": start[::20] + 19_990}
    )
    ranges = pd.concat([outer, inner], ignore_index=True).assign(process=1, thread=1)
    moment = np.sort(np.random.default_rng(0).integers(0, blocks * 1000, launches))
    activities = pd.DataFrame(
        {"launch_ns": moment, "start_ns": moment, "end_ns": moment + 5, "duration_ns": 5}
    ).assign(kind="kernel", name="k", operator="", process=1, thread=moment % 2 + 1)
    return Trace("nsys", "", ranges, activities)


def work(trace: Trace) -> int:
    """Attribute and time a trace; returns the device time (ns) inside its steps."""
    ranges, activities = attribute(trace)
    timed = device_times(number_steps(ranges), activities)
    return int(timed.loc[timed["parent"] < 0, "busy_ns"].sum())


def main() -> None:
    """Print times for traces of several sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--launches", type=int, nargs="*", default=[30_000, 300_000])
    for launches in parser.parse_args().launches:
        trace = synthetic(launches)
        found = summarize(time_steps(lambda trace=trace: work(trace), lambda: None, 7))
        spread = f"{found['p20_ms']:.0f} to {found['p80_ms']:.0f}"
        print(f"{launches:,} launches: {found['median_ms']:.0f} ms ({spread})")


if __name__ == "__main__":
    main()
