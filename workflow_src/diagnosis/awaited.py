"""What holds the host up inside of its calls: device work that they wait for."""

import numpy as np
import pandas as pd

from workflow_src.captures.call_kinds import matching
from workflow_src.common.intervals import AFTER_ALL, BEFORE_ALL, Indices
from workflow_src.common.nesting import NOWHERE
from workflow_src.diagnosis.device_work import lane_before, last_in_lanes
from workflow_src.diagnosis.recording import SHORT_NS, SYNCHRONIZE

RETURN_NS = 30_000
"""A call waited for more if it returns later than this after what it waited for."""

WHOLE_DEVICE = r"(?:Device|Ctx)Synchronize|Free"


def waits(calls: pd.DataFrame, work: pd.DataFrame) -> pd.DataFrame:
    """A row per activity that a call returns after, as Recording.waits.

    return_ns is as recorded, but a synchronization's at most RETURN_NS. A call that copies waits
    for its own copy if that began before it returned: from pageable memory, a short one doesn't.
    Calls that wait for all streams wait for what ended before they return; others for the last
    activity of the lane where that ended last, or if none ran any more, of the most recent
    launch's.
    """
    waiting = calls[calls["may_wait"]]
    call, begun = waiting.index.to_numpy(), waiting["start_ns"].to_numpy()
    start, end, of_call, lane = (work[n].to_numpy() for n in ("start_ns", "end_ns", "call", "lane"))
    last = last_in_lanes(work, call)
    lanes = np.arange(len(last))[:, None]
    ended, known = np.append(end, AFTER_ALL)[last], last != NOWHERE
    own = known & (np.append(of_call, NOWHERE)[last] == call)
    done = known & (ended <= waiting["end_ns"].to_numpy())
    recent = np.append(lane, NOWHERE)[np.searchsorted(of_call, call, side="right") - 1]
    latest = np.where(done, ended, BEFORE_ALL)
    runs = latest.max(axis=0, initial=BEFORE_ALL) > begun
    chosen = lanes == (np.where(runs, latest.argmax(axis=0), recent) if len(lanes) else recent)
    chosen = done & (chosen | matching(waiting["name"], WHOLE_DEVICE))
    copied = own & (np.append(start, 0)[last] < waiting["end_ns"].to_numpy())
    nth, of = np.nonzero(np.where(own.any(axis=0), copied, chosen).T)
    row = last[of, nth]
    blocked, took = end[row] > begun[nth], waiting["end_ns"].to_numpy()[nth] - end[row]
    synchronizes = (waiting["kind"] == SYNCHRONIZE).to_numpy()[nth]
    took = np.where(synchronizes, np.minimum(took, RETURN_NS), took)
    return_ns = np.where(blocked, took, SHORT_NS)
    found = {"call": call[nth], "work": row, "return_ns": return_ns, "blocked": blocked}
    return pd.DataFrame(found)


def own_costs(calls: pd.DataFrame, work: pd.DataFrame, waiting: pd.DataFrame) -> Indices:
    """How long (ns) each call takes if nothing holds it up.

    Of those held up, at most the usual time of others of the same name, or SHORT_NS. A call that
    waited for its own copy on an idle lane was busy until that began.
    """
    took = (calls["end_ns"] - calls["start_ns"]).to_numpy()
    held = np.isin(np.arange(len(calls)), waiting.loc[waiting["blocked"], "call"])
    usual = pd.Series(took[~held]).groupby(calls["name"].to_numpy()[~held]).median()
    expected = calls["name"].map(usual).fillna(SHORT_NS).to_numpy(copy=True)
    copy = waiting["work"].to_numpy()
    call = work["call"].to_numpy()[copy]
    begun = calls["start_ns"].to_numpy()[waiting["call"]]
    idle = np.append(work["end_ns"].to_numpy(), BEFORE_ALL)[lane_before(work)[copy]] <= begun
    own = (call == waiting["call"].to_numpy()) & idle
    expected[call[own]] = work["start_ns"].to_numpy()[copy[own]] - begun[own]
    return np.where(held, np.minimum(took, expected), took).astype(np.int64)
