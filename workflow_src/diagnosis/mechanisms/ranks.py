"""Gradients reduced too often, communication that nothing hides, a rank that is late."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from workflow_src.captures.call_kinds import matching
from workflow_src.captures.rows import spans
from workflow_src.common.errors import TraceError
from workflow_src.common.intervals import Union
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.device_work import WAIT_EVENT
from workflow_src.diagnosis.finding import Finding, found
from workflow_src.diagnosis.mechanisms.fusion import runs
from workflow_src.diagnosis.mechanisms.host_gaps import paths_in_gaps
from workflow_src.diagnosis.mechanisms.passes import in_micro_batches, product_runs
from workflow_src.diagnosis.recording import Edit, Edits, Factors
from workflow_src.diagnosis.replay import replay
from workflow_src.diagnosis.subject import LARGE, MANY, MOST, Subject, once, rows_of
from workflow_src.placing.kernel_names import MULTIPLYING
from workflow_src.placing.ranks import COLLECTIVE, collectives

REDUCING = r"(?i)all_?reduce|reduce_?scatter"
SMALL_NS = 100_000
"""Of less time it takes mostly latency: 25 MiB, DDP's bucket, take 100 us at 260 GB/s."""


@once
def communication(subject: Subject) -> pd.DataFrame:
    """The work that communicates; wait_ns: in which another rank was waited for, 0 where that isn't
    known; exposed_ns: of the rest, in which the process's devices do nothing else."""
    is_moving = subject.work["family"] == COLLECTIVE
    moving, busy = subject.work[is_moving], Union.of(*spans(subject.work[~is_moving]))
    waits = subject.attributed.work["wait_ns"].reindex(moving["activity"]).to_numpy()
    start, end = spans(moving)
    alone = moving["device_ns"] - (busy.until(end) - busy.until(start))
    exposed_ns = np.minimum(alone, moving["device_ns"] - waits)
    return moving.assign(wait_ns=waits, exposed_ns=exposed_ns)


def reduced_in_each_micro_batch(subject: Subject) -> Iterator[Finding]:
    """Gradients are reduced in each micro batch's backward pass, instead of in the last one's."""
    reducing = collectives(communication(subject))
    reducing = reducing[matching(reducing["name"], REDUCING)]
    if reducing.empty or not in_micro_batches(subject):
        return
    runs = product_runs(subject)
    reducing = reducing[reducing["call"] >= runs["first"].iloc[0]]
    nth = np.searchsorted(runs["first"], reducing["call"], side="right") - 1
    last = pd.Series(nth, reducing.index).groupby(reducing["step"]).transform("max")
    early = reducing[nth < last]
    if len(early) and not runs["forward"].iloc[nth].any():
        edits = _not_launched(subject, early, _waiting(early))
        yield found(subject, "reduced_in_each_micro_batch", early, *edits)


def _waiting(work: pd.DataFrame) -> Factors:
    return (work["wait_ns"] / work["device_ns"].clip(lower=1)).to_numpy(dtype=np.float64)


def _not_launched(subject: Subject, work: pd.DataFrame, left: Factors) -> Edits:
    """Some work as a share of its time and without its launches.

    With these go their neighbors that only let streams wait; the host takes its usual time before
    the calls that follow.
    """
    ordering = matching(subject.recording.calls["name"], WAIT_EVENT)
    ordering[work["call"]] = True
    block = runs(ordering, np.zeros(len(ordering), dtype=bool))
    calls = np.flatnonzero(np.isin(block, block[work["call"]]))
    following = np.setdiff1d(calls + 1, np.append(calls, len(ordering)))
    after = Edit(following, gap=int(subject.calls["gap_ns"].median()))
    return Edit(work=rows_of(work), factor=left), Edit(calls, gap=0, cost=0), after


def small_collectives(subject: Subject) -> Iterator[Finding]:
    """Many short collectives of one kernel without a product between: one could do for all."""
    moving = collectives(communication(subject))
    products = subject.work.loc[subject.work["family"].isin(MULTIPLYING), "call"].to_numpy()
    before = np.searchsorted(np.sort(products), moving["call"])
    rows = moving.groupby(["step", before, moving["name"].astype(str)], sort=False)["device_ns"]
    small = (rows.transform("size") >= MANY) & (rows.transform("median") < SMALL_NS)
    later = moving[small & (rows.cumcount() > 0)]
    if len(later):
        ns = moving.loc[small, "device_ns"]
        left = 1 - np.minimum(ns.min() / later["device_ns"].clip(lower=1).to_numpy(), 1.0)
        edits = _not_launched(subject, later, left)
        yield found(subject, "small_collectives", moving[small], *edits, device_ns=ns)


def _latest(subject: Subject) -> int:
    waits = subject.attributed.work.groupby("process")["wait_ns"].sum()
    return int(waits.index.to_numpy()[np.argmin(waits)])


def exposed_communication(subject: Subject) -> Iterator[Finding]:
    """Communication while the device does nothing else; what is waited for others stays.

    Only of the process that waits least: the others would wait for it all the same.
    """
    moving = communication(subject)
    several = subject.attributed.work["process"].nunique() > 1
    unknown = several and not subject.attributed.waits_known
    if not len(moving) or unknown or _latest(subject) != subject.recording.process:
        return
    busy, communicating = (Union.of(*spans(work)) for work in (subject.work, moving))
    room_ns = busy.total() - communicating.total()
    hidden = min(room_ns / max(float(moving["exposed_ns"].sum()), 1.0), 1.0)
    left = 1 - hidden * moving["exposed_ns"] / moving["device_ns"].clip(lower=1)
    edit = Edit(work=rows_of(moving), factor=left.to_numpy(dtype=np.float64))
    rows = moving[moving["exposed_ns"] > 0]
    if len(rows):
        yield found(subject, "exposed_communication", rows, edit, device_ns=rows["exposed_ns"])


def late_rank(subject: Subject) -> Iterator[Finding]:
    """Another process is waited for in collectives, and one place of its tells why.

    One that is late by a little in all gaps has a slower host, which isn't a fault.
    """
    waiting = collectives(communication(subject))
    if not waiting["wait_ns"].any() or (late := _latest(subject)) == subject.recording.process:
        return
    try:
        other = Subject.of(subject.attributed, late)
    except TraceError:
        return
    edit = Edit(work=rows_of(waiting), factor=1 - _waiting(waiting))
    saved_ms = (subject.check.replayed_ns - replay(subject.recording, [edit]).step_ns) / NS_PER_MS
    pairs = zip(_times_by_path(other), _times_by_path(subject), strict=True)
    longer = pd.concat([theirs.sub(own, fill_value=0) for theirs, own in pairs])
    if longer.max() >= MOST * saved_ms:
        rows = waiting[waiting["wait_ns"] > 0]
        where, late_ms, ns = str(longer.idxmax()), float(longer.max()), rows["wait_ns"]
        told = {"late": late, "late_ms": late_ms}
        yield found(subject, "late_rank", rows, edit, where=where, device_ns=ns, **told)


def _times_by_path(subject: Subject) -> "list[pd.Series[float]]":
    """What long gaps of the host, and the device but for collectives, take in each path (ms)."""
    calls = subject.own
    calls = calls[calls["gap_ns"] > LARGE * calls["gap_ns"].median()]
    gaps = calls["gap_ns"].groupby(paths_in_gaps(subject, rows_of(calls)))
    work = subject.work[subject.work["family"] != COLLECTIVE].groupby("path")["device_ns"]
    return [each.sum() / NS_PER_MS / subject.step_count for each in (gaps, work)]
