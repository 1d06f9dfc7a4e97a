"""Which activities start only after one of another stream, as their streams waited for events."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from workflow_src.captures.call_kinds import matching
from workflow_src.captures.capture import UNKNOWN
from workflow_src.common.intervals import BEFORE_ALL
from workflow_src.common.nesting import NOWHERE

WAIT_EVENT = r"StreamWaitEvent"

PAIRS = ("work", "after", "lane")


def event_ties(
    work: pd.DataFrame, places: pd.DataFrame, calls: pd.DataFrame, waits: pd.DataFrame
) -> pd.DataFrame:
    """A row per pair of activities: `work`, and `after`, which its stream waited for.

    places: the device and stream of each activity; waits: Capture.waits of the process. A
    wait whose record isn't among others that are is for one of before the capture.
    """
    told = waits["record_ns"] != UNKNOWN
    waits = waits[told] if told.any() else waits
    pairs = _recorded(work, places, calls, waits) if len(waits) else _guessed(work, calls)
    # What had started before can't have waited.
    start, end = work["start_ns"].to_numpy(), work["end_ns"].to_numpy()
    held = end[pairs["after"]] <= start[pairs["work"]]
    return pairs[held].reset_index(drop=True)


def _recorded(
    work: pd.DataFrame, places: pd.DataFrame, calls: pd.DataFrame, waits: pd.DataFrame
) -> pd.DataFrame:
    """Pairs by which record each wait was for, also through streams that did nothing between.

    A wait holds up what is launched on its stream after it. The record stands for what was launched
    on its own stream before it, and for all that this stream had waited for by then. If it isn't
    known, it is taken to stand for all that was launched before the wait.
    """
    launched = np.append(calls["start_ns"].to_numpy(), BEFORE_ALL)[work["call"]]
    waits = waits[waits["wait_ns"] >= calls["start_ns"].iloc[0]]
    of_record = waits[["record_device", "record_stream"]].set_axis(places.columns, axis=1)
    streams = pd.concat([places, waits[places.columns], of_record], ignore_index=True)
    lane = streams.groupby(list(places.columns)).ngroup().to_numpy()
    rows = {number: np.flatnonzero(lane[: len(work)] == number) for number in np.unique(lane)}
    launches = {number: launched[rows[number]] for number in rows}
    at = np.concatenate([waits["wait_ns"], waits["record_ns"]])
    untold = waits["record_ns"].to_numpy() == UNKNOWN
    # Of each lane, the last activity of every other one that it has waited for, also by record.
    known: dict[int, dict[int, int]] = {number: {} for number in rows}
    records: dict[int, dict[int, int]] = {}
    found: list[tuple[int, int, int]] = []

    def launched_by(moment: int, lanes: Iterable[int]) -> dict[int, int]:
        places = {of: int(np.searchsorted(launches[of], at[moment])) for of in lanes}
        return {of: int(rows[of][place - 1]) for of, place in places.items() if place}

    for moment in np.argsort(at, kind="stable").tolist():
        number, wait = int(lane[len(work) + moment]), moment % len(waits)
        if moment >= len(waits):
            records[wait] = known[number] | launched_by(moment, [number])
            continue
        awaited, mine = launched_by(moment, rows) if untold[wait] else records[wait], known[number]
        news = {of: row for of, row in awaited.items() if row > mine.get(of, NOWHERE)}
        news.pop(number, None)
        mine |= news
        following = rows[number][np.searchsorted(launches[number], at[moment]) :][:1]
        found += [(row, after, of) for row in following.tolist() for of, after in news.items()]
    pairs = pd.DataFrame(found, columns=list(PAIRS), dtype="int64")
    return pairs.groupby(["work", "lane"])[["after"]].max().reset_index()


def _guessed(work: pd.DataFrame, calls: pd.DataFrame) -> pd.DataFrame:
    """Pairs by calls that let a stream wait for an event, where nothing says which.

    It is taken to be the stream of the next activity, and to wait for the latest ones of all other
    lanes.
    """
    waiting = np.flatnonzero(matching(calls["name"], WAIT_EVENT))
    lane = work["lane"].to_numpy()
    following = np.unique(np.searchsorted(work["call"].to_numpy(), waiting))
    following, found = following[following < len(work)], []
    for number in np.unique(lane):
        rows = np.flatnonzero(lane == number)
        later = following[(following > rows[0]) & (lane[following] != number)]
        after = rows[np.searchsorted(rows, later) - 1]
        found.append(np.column_stack([later, after, np.full(len(later), number)]))
    return pd.DataFrame(np.concatenate([np.zeros((0, 3)), *found]), columns=list(PAIRS)).astype(int)
