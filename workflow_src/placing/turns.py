"""Steps that no range is: turns of a loop's parts, or all that was recorded.

A loop may have ranges for its parts alone: forward, backward, optimizer, forward, ... A step of it
lies from the start of a turn to the start of the next.
"""

import numpy as np
import pandas as pd

from workflow_src.captures.capture import UNKNOWN, Capture
from workflow_src.placing.paths import shapes
from workflow_src.placing.placing import Placed
from workflow_src.placing.step_rules import BY_MODULE, NEARLY_ALL, TURNS, WHOLE
from workflow_src.placing.threads import THREAD

MOST = 256
"""Ranges of a turn: of a step in so many micro batches that no one records more."""

TURN = "(step)"
"""The name of a step."""


def in_turn(placed: Placed, numbered: bool) -> pd.DataFrame:
    """Ranges of the domain TURNS, one a step, of each process that has such a loop.

    Its parts are ranges of the main thread side by side, of at least two names in one order again
    and again, with nearly all device work that is launched meanwhile. A name that is there once
    doesn't count. Nothing tells the end of the last turn.
    numbered: whether names that differ by numbers alone are one.
    """
    ranges = placed.ranges
    main = ranges[ranges["process"].map(placed.main_threads) == ranges["thread"]]
    main = main[main["name"] != BY_MODULE].sort_values("start_ns")
    main = main.assign(called=shapes(main["name"]) if numbered else main["name"])
    main = main[main.duplicated(["process", "parent", "called"], keep=False)]
    busy = main.groupby(["process", "parent"])["busy_ns"].sum()
    most = busy[busy > 0].groupby("process").idxmax()
    parts = [main[:0]]
    for process, parent in most:
        own = main[(main["process"] == process) & (main["parent"] == parent)]
        period = _period(own["called"])
        # The device time of what the process launches meanwhile.
        here = placed.work["launch_ns"].between(own["start_ns"].min(), own["end_ns"].max())
        here &= placed.work["process"] == process
        meanwhile_ns = placed.work.loc[here, "duration_ns"].sum()
        if period and busy[process, parent] >= NEARLY_ALL * meanwhile_ns:
            first = own.iloc[::period]
            ends = first["start_ns"].shift(-1, fill_value=0)
            parts.append(first.assign(name=TURN, domain=TURNS, end_ns=ends)[:-1])
    return pd.concat(parts)[["name", "domain", "start_ns", "end_ns", *THREAD]]


def whole(capture: Capture) -> pd.DataFrame:
    """A range of the domain WHOLE for each process with work, on the thread that launches most,
    from its first launch, or work, to the end of the last."""
    work = capture.work[capture.work["thread"] != UNKNOWN]
    begun = work["launch_ns"].where(work["launch_ns"] != UNKNOWN, work["start_ns"])
    alike = work.assign(start_ns=np.minimum(begun, work["start_ns"])).groupby("process")
    found = alike.agg({"start_ns": "min", "end_ns": "max"})
    found["thread"] = alike["thread"].agg(lambda each: each.mode()[0])
    return found.reset_index().assign(name=WHOLE, domain=WHOLE)


def _period(names: "pd.Series[str]") -> int:
    """After how many of these names they begin anew, if there are two of them; else 0."""
    number, different = pd.factorize(names)
    for period in range(2, min(MOST, len(number) // 2) + 1):
        if (number[period:] == number[:-period]).all():
            return period if len(different) > 1 else 0
    return 0
