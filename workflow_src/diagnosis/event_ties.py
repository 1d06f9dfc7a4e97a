"""Which activities start only after one of another stream, as their streams waited for events."""

import numpy as np
import pandas as pd

from workflow_src.captures.call_kinds import matching
from workflow_src.common.intervals import BEFORE_ALL
from workflow_src.common.nesting import NOWHERE

WAIT_EVENT = r"StreamWaitEvent"

PAIRS = ("work", "after", "lane")


def event_ties(
    work: pd.DataFrame, places: pd.DataFrame, calls: pd.DataFrame, waits: pd.DataFrame
) -> pd.DataFrame:
    """A row per pair of activities: `work`, and `after`, which its stream waited for.

    places: the device and stream of each activity; waits: Capture.threads.waits of the process.
    Where the capture has none, it is guessed.
    """
    pairs = _recorded(work, places, calls, waits) if len(waits) else _guessed(work, calls)
    # What had started before can't have waited.
    start, end = work["start_ns"].to_numpy(), work["end_ns"].to_numpy()
    held: pd.DataFrame = pairs[end[pairs["after"]] <= start[pairs["work"]]]
    return held.reset_index(drop=True)


def _recorded(
    work: pd.DataFrame, places: pd.DataFrame, calls: pd.DataFrame, waits: pd.DataFrame
) -> pd.DataFrame:
    """Pairs by which record each wait was for, also through streams that did nothing between.

    A wait holds up what is launched on its stream after it. The record stands for what was launched
    on its own stream before it, and for all that this stream had waited for by then.
    """
    launched = np.append(calls["start_ns"].to_numpy(), BEFORE_ALL)[work["call"]]
    waits = waits[waits["wait_ns"] >= calls["start_ns"].iloc[0]]
    of_record = waits[["record_device", "record_stream"]].set_axis(["device", "stream"], axis=1)
    streams = pd.concat([places, waits[["device", "stream"]], of_record], ignore_index=True)
    lane = streams.groupby(["device", "stream"]).ngroup().to_numpy()
    rows = {number: np.flatnonzero(lane[: len(work)] == number) for number in np.unique(lane)}
    at = np.concatenate([waits["wait_ns"], waits["record_ns"]])
    # Of each lane, the last activity of every other one that it has waited for, also by record.
    known: dict[int, dict[int, int]] = {number: {} for number in rows}
    records: dict[int, dict[int, int]] = {}
    found: list[tuple[int, int, int]] = []
    for moment in np.argsort(at, kind="stable").tolist():
        number, wait = int(lane[len(work) + moment]), moment % len(waits)
        own, mine = rows[number], known[number]
        place = int(np.searchsorted(launched[own], at[moment]))
        if moment >= len(waits):
            records[wait] = mine | ({number: int(own[place - 1])} if place else {})
            continue
        news = {of: row for of, row in records[wait].items() if row > mine.get(of, NOWHERE)}
        news.pop(number, None)
        mine |= news
        if place < len(own):
            found += [(int(own[place]), row, of) for of, row in news.items()]
    pairs = pd.DataFrame(found, columns=list(PAIRS), dtype="int64")
    return pairs.groupby(["work", "lane"], as_index=False)["after"].max()


def _guessed(work: pd.DataFrame, calls: pd.DataFrame) -> pd.DataFrame:
    """Pairs by calls that let a stream wait for an event, where nothing says which.

    It is taken to be the stream of the next activity, and to wait for the latest ones of all other
    lanes.
    """
    waiting = np.flatnonzero(matching(calls["name"], WAIT_EVENT))
    lane = work["lane"].to_numpy()
    following = np.unique(np.searchsorted(work["call"].to_numpy(), waiting))
    parts = [pd.DataFrame(columns=list(PAIRS), dtype="int64")]
    for number in np.unique(lane):
        rows = np.flatnonzero(lane == number)
        later = following[(following > rows[0]) & (following < len(work))]
        later = later[lane[later] != number]
        after = rows[np.searchsorted(rows, later) - 1]
        parts.append(pd.DataFrame({"work": later, "after": after, "lane": number}))
    return pd.concat(parts, ignore_index=True)
