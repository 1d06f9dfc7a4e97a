"""A subject's device work in the order in which each lane runs it: neighbors, runs, fusion."""

import numpy as np
import pandas as pd

from workflow_src.common.intervals import Indices
from workflow_src.common.nesting import NOWHERE
from workflow_src.diagnosis.edit import Edit, Mask, merged
from workflow_src.diagnosis.finding import Finding, found
from workflow_src.diagnosis.subject import LARGE, Subject, once, rows_of


@once
def in_lanes(subject: Subject) -> pd.DataFrame:
    """Subject.work lane by lane in order of start; `breaks` where the host was long in between.

    breaks: also where a lane begins. A long gap is one of another cause than launching.
    """
    work = subject.work.sort_values(["lane", "start_ns"], kind="stable")
    gaps = subject.recording.calls["gap_ns"]
    breaks = (gaps > LARGE * gaps.median()).to_numpy()[work["call"]]
    breaks[1:] |= np.diff(work["lane"]) != 0
    return work.assign(breaks=breaks)


def runs(members: Mask, breaks: Mask) -> Indices:
    """The number of the run of neighboring members that each row is in, NOWHERE for others."""
    begins = members & (breaks | ~np.append(False, members[:-1]))
    return np.where(members, np.cumsum(begins) - 1, NOWHERE)


def fused(subject: Subject, key: str, chains: pd.DataFrame, left_ns: "pd.Series[int]") -> Finding:
    """Chains of work as one place, each fused into one kernel of left_ns (by `chain`).

    Launches are merged as well, but for calls that launch more than one activity, such as graphs.
    """
    group = np.searchsorted(left_ns.index.to_numpy(), chains["chain"].to_numpy())
    ns = left_ns.to_numpy().astype(np.int64)
    mixed = np.isin(group, group[~chains["alone"]])
    sums = np.bincount(group, chains["device_ns"], len(ns))
    factor = (ns / np.maximum(sums, 1))[group]
    calls = chains["call"].to_numpy()[~mixed]
    shorter = Edit(work=rows_of(chains)[mixed], factor=factor[mixed])
    return found(
        subject, key, chains, shorter, *merged(subject.recording, calls, group[~mixed], ns)
    )


def without_work(subject: Subject, key: str, work: pd.DataFrame) -> Finding:
    """Some work as one place, without it and its launches.

    Of calls that launch other work, too, such as graphs, the work alone goes.
    """
    alone = work["alone"]
    gone = Edit(work["call"].to_numpy()[alone], cost=0, drops=True)
    return found(subject, key, work, Edit(work=rows_of(work[~alone]), factor=0.0), gone)
