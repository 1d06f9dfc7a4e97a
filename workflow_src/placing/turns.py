"""Steps that no range is: between updates, turns of a loop's parts (forward, backward, optimizer,
forward, ...), or all that was recorded."""

import numpy as np
import pandas as pd

from workflow_src.captures.capture import UNKNOWN
from workflow_src.captures.rows import Mask
from workflow_src.common.nesting import NOWHERE
from workflow_src.placing.paths import shapes
from workflow_src.placing.threads import THREAD

UPDATE = "Optimizer.step#"
"""Begins torch's name of its range of an update, before the optimizer's class."""

NEARLY_ALL = 0.9
"""Of the device time in a main thread's ranges, so that neither forward nor backward is a step if
both are outermost. And of steps' lengths, the part that doesn't overlap: jobs that run at the same
time are no steps."""

MOST = 256
"""Ranges of a turn: of a step in so many micro batches that no one records more."""

WHOLE, UPDATES, TURN = "(all that was recorded)", "(from update to update)", "(step)"


def one_after_another(ranges: pd.DataFrame) -> Mask:
    """Which ranges can be steps: they last, and on their thread all that began before have ended.

    So of ranges inside of each other the outermost one is left.
    """
    by = [*THREAD, "start_ns", "end_ns"]
    rows = ranges[by].astype("int64").reset_index(drop=True)
    rows = rows.sort_values(by, ascending=[True, True, True, False])
    threads = [rows[name] for name in THREAD]
    ended = rows["end_ns"].groupby(threads).cummax()
    before = ended.groupby(threads).shift(fill_value=np.iinfo(np.int64).min)
    found = (rows["end_ns"] > rows["start_ns"]) & (rows["start_ns"] >= before)
    return found.sort_index().to_numpy()


def whole(work: pd.DataFrame, name: str = WHOLE) -> pd.DataFrame:
    """A range for each process with work, on the thread that launches most, from its first launch,
    or work, to the end of the last."""
    begun = work["launch_ns"].where(work["launch_ns"] != UNKNOWN, work["start_ns"])
    alike = work.assign(start_ns=np.minimum(begun, work["start_ns"])).groupby("process")
    found = alike.agg({"start_ns": "min", "end_ns": "max"})
    found["thread"] = alike["thread"].agg(lambda each: each.mode()[0])
    return found.reset_index().assign(name=name)


def between_updates(ranges: pd.DataFrame, fewest: int) -> pd.DataFrame:
    """Ranges from the end of each update by torch's optimizer to the end of the next, of a thread.

    Of several optimizers with this many updates, as of a model and its critic, that which updates
    least often; of updates inside of each other the outermost ones.
    """
    updates = ranges[ranges["name"].str.startswith(UPDATE)].sort_values("start_ns")
    # Under emit_nvtx, a name ends with the number of its operator.
    updates = updates.assign(name=updates["name"].str.replace(r",.*", "", regex=True))
    updates = updates[one_after_another(updates)]
    sizes = updates.groupby([*THREAD, "name"], sort=False).size()
    seldom = sizes[sizes >= fewest].sort_values(kind="stable").reset_index().drop_duplicates(THREAD)
    found = updates.merge(seldom[[*THREAD, "name"]])
    return _from_one_to_the_next(found.assign(start_ns=found["end_ns"]), UPDATES)


def in_turn(main: pd.DataFrame, work: pd.DataFrame, numbered: bool) -> pd.DataFrame:
    """Ranges, one a step, of each process that has such a loop; main: ranges of main threads.

    Its parts are ranges side by side, of at least two names in one order again and again, with
    nearly all device work launched meanwhile. A name that is there once doesn't count.
    """
    main = main.assign(called=shapes(main["name"]) if numbered else main["name"])
    main = main[main.duplicated(["process", "parent", "called"], keep=False)]
    busy = main.groupby(["process", "parent"])["busy_ns"].sum()
    most = busy[busy > 0].groupby("process").idxmax()
    parts = [main[:0]]
    for process, parent in most:
        own = main[(main["process"] == process) & (main["parent"] == parent)]
        own = own.sort_values("start_ns")
        period = _period(own["called"])
        # The device time of what the process launches meanwhile.
        here = work["launch_ns"].between(own["start_ns"].min(), own["end_ns"].max())
        meanwhile_ns = work.loc[here & (work["process"] == process), "duration_ns"].sum()
        if period and busy[process, parent] >= NEARLY_ALL * meanwhile_ns:
            parts.append(own.iloc[::period])
    return _from_one_to_the_next(pd.concat(parts), TURN)


def _from_one_to_the_next(ranges: pd.DataFrame, name: str) -> pd.DataFrame:
    ends = ranges.groupby(THREAD)["start_ns"].shift(-1, fill_value=NOWHERE)
    return ranges.assign(name=name, end_ns=ends)[ends != NOWHERE]


def _period(names: "pd.Series[str]") -> int:
    """After how many of these names they begin anew, if there are two of them; else 0."""
    number, different = pd.factorize(names)
    for period in range(2, min(MOST, len(number) // 2) + 1):
        if (number[period:] == number[:-period]).all():
            return period if len(different) > 1 else 0
    return 0
