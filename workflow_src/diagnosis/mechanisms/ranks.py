"""Ranks: gradients reduced too often, communication that nothing hides, a rank that is late."""

import numpy as np
import pandas as pd

from workflow_src.captures.call_kinds import matching
from workflow_src.common.errors import TraceError
from workflow_src.common.intervals import Indices, Union
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.changes import DropGap, DropSynchronization, ScaleWork
from workflow_src.diagnosis.device_work import WAIT_EVENT
from workflow_src.diagnosis.finding import Found, Subject, mechanism, rows_of
from workflow_src.diagnosis.micro_batches import passes
from workflow_src.diagnosis.sequences import main_place, runs
from workflow_src.diagnosis.step import recorded
from workflow_src.placing.ranks import COLLECTIVE, collectives

REDUCING = r"(?i)all_?reduce|reduce_?scatter"
EXPLAINS = 0.5
"""A place explains why a rank is late if it takes so much of the wait longer than in the other."""


def _with_waits(subject: Subject, work: pd.DataFrame) -> pd.DataFrame:
    """Some communication with wait_ns, the part of it in which another rank was waited for."""
    waits = subject.attributed.work["wait_ns"].reindex(work["activity"]).to_numpy()
    return work.assign(wait_ns=waits, waiting=waits / np.maximum(work["device_ns"], 1))


@mechanism("reduced_in_each_micro_batch")
def find_reduced_in_each_micro_batch(subject: Subject) -> list[Found]:
    """Gradients are reduced in each pass through one range, instead of in a step's last one.

    All-reduces in several ranges are a divided model's own. What another rank is waited for, it
    would be waited for later.
    """
    reducing = collectives(subject.work)
    reducing = reducing[reducing["name"].str.contains(REDUCING, regex=True)]
    reducing = passes(subject, reducing)
    reducing = reducing[reducing["passes"] > 1]
    early = _with_waits(subject, reducing[reducing["nth"] < reducing["passes"] - 1])
    if not len(early) or reducing["path"].nunique() > 1:
        return []
    calls, after = _around(subject, early["call"].drop_duplicates().to_numpy())
    changes = (
        ScaleWork(rows_of(early), early["waiting"].to_numpy()),
        DropSynchronization(calls),
        DropGap(calls),
        DropGap(after, int(subject.calls["gap_ns"].median())),
    )
    count, device = subject.a_step(len(early)), subject.ms_a_step(early["device_ns"].sum())
    evidence = "kernels.csv: family communication, calls per step"
    return [Found(main_place(early), count, 0.0, device, changes, evidence)]


def _around(subject: Subject, launches: Indices) -> tuple[Indices, Indices]:
    """Some launches with their neighbors that only let streams wait, and the calls that follow."""
    ordering = matching(subject.recording.calls["name"], WAIT_EVENT)
    ordering[launches] = True
    block = runs(ordering, np.zeros(len(ordering), dtype=bool))
    calls = np.flatnonzero(np.isin(block, block[launches]))
    following = np.setdiff1d(calls + 1, calls)
    return calls, following[following < len(ordering)]


def _sets_the_pace(subject: Subject) -> bool:
    """Whether no other process is known to be waited for more than this one."""
    work = subject.attributed.work
    waits = work.groupby("process")["wait_ns"].sum()
    if len(waits) > 1 and not subject.attributed.waits_known:
        return False
    return int(waits.idxmin()) == subject.process


@mechanism("exposed_communication")
def find_exposed_communication(subject: Subject) -> list[Found]:
    """Communication while the device does nothing else; what is waited for others stays.

    Only of the process that waits least: the others would wait for it all the same.
    """
    is_moving = subject.work["family"] == COLLECTIVE
    moving, others = subject.work[is_moving], subject.work[~is_moving]
    if not len(moving) or not _sets_the_pace(subject):
        return []
    moving = _with_waits(subject, moving)
    start, end = (moving[name].to_numpy() for name in ("start_ns", "end_ns"))
    busy = Union.of(others["start_ns"].to_numpy(), others["end_ns"].to_numpy())
    exposed = moving["device_ns"] - (busy.until(end) - busy.until(start))
    exposed = np.minimum(exposed, moving["device_ns"] - moving["wait_ns"])
    moving = moving.assign(exposed_ns=exposed)
    change = ScaleWork(rows_of(moving), (1 - exposed / moving["device_ns"]).to_numpy())
    count = subject.a_step(int((exposed > 0).sum()))
    device = subject.ms_a_step(exposed.sum())
    evidence = "kernels.csv: family communication; time in which nothing else runs"
    place = main_place(moving.assign(device_ns=exposed))
    return [Found(place, count, 0.0, device, (change,), evidence)]


@mechanism("late_rank")
def find_late_rank(subject: Subject) -> list[Found]:
    """Another process is waited for in collectives, and one place of its tells why.

    A rank that is late by a little everywhere has a slower host or device, which isn't a fault.
    """
    waits = subject.attributed.work.groupby("process")["wait_ns"].sum()
    late = int(waits.idxmin())
    waiting = _with_waits(subject, collectives(subject.work))
    wait_ms = subject.ms_a_step(waiting["wait_ns"].sum())
    if late == subject.process or wait_ms == 0:
        return []
    try:
        other = Subject(subject.attributed, recorded(subject.attributed, late))
    except TraceError:
        return []
    longer = _longer_ms(other, subject)
    if longer.max() < EXPLAINS * wait_ms:
        return []
    change = ScaleWork(rows_of(waiting), (1 - waiting["waiting"]).to_numpy())
    evidence = f"processes.csv: wait_ms; process {late} takes {longer.max():.2f} ms longer here"
    count = subject.a_step(int((waiting["wait_ns"] > 0).sum()))
    return [Found(str(longer.idxmax()), count, 0.0, wait_ms, (change,), evidence)]


def _longer_ms(subject: Subject, other: Subject) -> "pd.Series[float]":
    """By how much a process's host, or its device, takes longer in each path, a step (ms)."""
    return pd.concat(
        [
            _by_path(each(subject), subject).sub(_by_path(each(other), other), fill_value=0)
            for each in (_host_times, _device_times)
        ]
    )


def _by_path(times: pd.DataFrame, subject: Subject) -> "pd.Series[float]":
    sums = times.groupby("path_text")["ns"].sum()
    return sums / NS_PER_MS / subject.step_count


def _host_times(subject: Subject) -> pd.DataFrame:
    calls = subject.calls[~subject.calls["beside"]]
    return calls.assign(ns=calls["gap_ns"] + calls["cost_ns"])


def _device_times(subject: Subject) -> pd.DataFrame:
    work = subject.work[subject.work["family"] != COLLECTIVE]
    return work.assign(ns=work["device_ns"])
