"""A process's device work as lanes of activities, and what each activity had to wait for."""

import numpy as np
import pandas as pd

from workflow_src.captures.call_kinds import matching
from workflow_src.captures.capture import OPERATOR
from workflow_src.captures.rows import rows_where, spans
from workflow_src.common.intervals import BEFORE_ALL, Indices
from workflow_src.common.nesting import NOWHERE
from workflow_src.placing.attributed import Attributed

PROMPT_NS = 20_000
"""An activity that starts later than this after its launch and the one before it in its lane waited
for something else; nearly all start within 5 us."""

USUAL_DELAY_NS, USUAL_GAP_NS = 2_000, 1_500
"""After the launch, and between two activities of a lane, where the capture doesn't tell: as in
captures of an H100 and of H200s."""

WAIT_EVENT = r"StreamWaitEvent"


def device_work(attributed: Attributed, process: int, calls: pd.DataFrame) -> pd.DataFrame:
    """A row per activity in order of launch, as Recording.work but for latency_ns and gap_ns.

    What none of the calls launched is first, and has no call; of that, what had ended before the
    first of them is left out.
    """
    work, since_ns = attributed.work, calls["start_ns"].min()
    # Of the last steps of ten million activities, all else is let go before columns are made.
    mine = (work["process"] == process) & (work["kind"] != OPERATOR)
    mine &= (work["launch_ns"] >= since_ns) | (work["end_ns"] >= since_ns)
    work = rows_where(work, mine.to_numpy())
    work = work.assign(lane=work.groupby(["device", "stream"]).ngroup().astype("int64"))
    keys = ["thread", "start_ns"]
    known = calls[keys].assign(call=np.arange(len(calls))).drop_duplicates(keys)
    wanted = work[["thread", "launch_ns"]].rename(columns={"launch_ns": "start_ns"})
    call = wanted.merge(known, on=keys, how="left")["call"].fillna(NOWHERE).to_numpy(dtype=np.int64)
    paths = np.append(attributed.paths.text, "")[work["path"].to_numpy()]
    texts = work[["kind", "name", "family"]].assign(path=paths).astype(object)
    texts["step"] = np.append(calls["step"].to_numpy(), NOWHERE)[call]
    table = work[["lane", "start_ns", "end_ns"]].assign(activity=work.index, call=call, **texts)
    table = rows_where(table, ((call != NOWHERE) | (table["end_ns"] >= since_ns)).to_numpy())
    return table.sort_values(["call", "start_ns"], kind="stable", ignore_index=True)


def lane_before(work: pd.DataFrame) -> Indices:
    """The row of the activity before each one in its lane, or NOWHERE."""
    rows = pd.Series(np.arange(len(work)), index=work.index)
    return rows.groupby(work["lane"].to_numpy()).shift(fill_value=NOWHERE).to_numpy()


def timed(
    work: pd.DataFrame, launched_ns: Indices, awaited: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The work with latency_ns and gap_ns, at most usual ones (docs/replay.md), and the ties, of
    pairs as of event_ties; launched_ns: when each activity's launch would return if nothing held it
    up."""
    (start, end), before = spans(work), lane_before(work)
    freed = np.where(before == NOWHERE, BEFORE_ALL, end[before])
    delay, gap = start - launched_ns, start - freed
    by_launch = launched_ns >= freed
    longest_delay = _usual(delay[by_launch & (delay < PROMPT_NS)], USUAL_DELAY_NS)
    longest_gap = _usual(gap[~by_launch & (gap < PROMPT_NS)], USUAL_GAP_NS)
    since = start[awaited["work"]] - end[awaited["after"]]
    return work.assign(
        latency_ns=np.minimum(delay, longest_delay), gap_ns=np.minimum(gap, longest_gap)
    ), awaited.assign(gap_ns=np.minimum(since, longest_gap))


def _usual(values: Indices, otherwise: int) -> int:
    # What nine of ten values don't exceed.
    return int(np.quantile(values, 0.9)) if len(values) else otherwise


def last_in_lanes(work: pd.DataFrame, calls: Indices) -> Indices:
    """A row per lane and a column per call: the last activity that was launched by then, or
    NOWHERE."""
    of_call, lane = work["call"].to_numpy(), work["lane"].to_numpy()
    last = np.full((lane.max(initial=-1) + 1, len(calls)), NOWHERE)
    for number in range(len(last)):
        rows = np.flatnonzero(lane == number)
        at = np.searchsorted(of_call[rows], calls, side="right") - 1
        last[number] = np.append(rows, NOWHERE)[at]
    return last


def event_ties(work: pd.DataFrame, calls: pd.DataFrame) -> pd.DataFrame:
    """A row per pair of activities: `work`, and `after`, which its stream waited for.

    A call that makes a stream wait is taken to be of the stream of the next activity, and to be for
    the last that was launched in each other one, where the recording allows that.
    """
    waiting = np.flatnonzero(matching(calls["name"], WAIT_EVENT))
    following = np.searchsorted(work["call"].to_numpy(), waiting)
    waiting, following = (each[following < len(work)] for each in (waiting, following))
    last, lane = last_in_lanes(work, waiting), work["lane"].to_numpy()
    other, of = np.nonzero((last != NOWHERE) & (np.arange(len(last))[:, None] != lane[following]))
    pairs = pd.DataFrame({"work": following[of], "after": last[other, of], "lane": other})
    pairs = pairs.drop_duplicates(["work", "lane"], keep="last")[["work", "after"]]
    # What had started before can't have waited.
    start, end = spans(work)
    held = end[pairs["after"]] <= start[pairs["work"]]
    return pairs[held].sort_values([*pairs], ignore_index=True)
