"""Ranks: gradients reduced too often, communication that nothing hides, a rank that is late."""

from dataclasses import replace

import numpy as np
import pandas as pd

from workflow_src.captures.call_kinds import matching
from workflow_src.common.errors import TraceError
from workflow_src.common.intervals import Indices
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.communication import communication, room_ns
from workflow_src.diagnosis.edit import Edit, Edits, Factors
from workflow_src.diagnosis.event_ties import WAIT_EVENT
from workflow_src.diagnosis.facts import LARGE
from workflow_src.diagnosis.finding import Found, Subject, mechanism, rows_of
from workflow_src.diagnosis.host_gaps import paths_in_gaps
from workflow_src.diagnosis.parts import passes
from workflow_src.diagnosis.sequences import main_place, of_work, runs
from workflow_src.placing.ranks import COLLECTIVE, collectives

REDUCING = r"(?i)all_?reduce|reduce_?scatter"
PRODUCTS = ("gemm", "convolution", "attention")
MANY = 8
"""So many collectives in a row could be one."""

SMALL_NS = 100_000
"""A collective of less time takes mostly latency: 25 MiB, DDP's bucket, take 100 us at 260 GB/s."""

EXPLAINS = 0.5
"""A place explains why a rank is late if it takes longer there than the rank that waits, by so much
of what that one would save."""


def _waiting_share(work: pd.DataFrame) -> Factors:
    """The share of each communication's time (with wait_ns) in which it waits."""
    return (work["wait_ns"] / work["device_ns"].clip(lower=1)).to_numpy(dtype=np.float64)


@mechanism("reduced_in_each_micro_batch")
def find_reduced_in_each_micro_batch(subject: Subject) -> list[Found]:
    """Gradients are reduced in each pass through one part of a step, instead of in its last one.

    All-reduces in several parts are a divided model's own. What another rank is waited for, it
    would be waited for later.
    """
    reducing = collectives(communication(subject))
    reducing = reducing[reducing["name"].str.contains(REDUCING, regex=True)]
    if not len(reducing):
        return []
    reducing = passes(subject, reducing)
    reducing = reducing[reducing["passes"] > 1]
    early = reducing[reducing["nth"] < reducing["passes"] - 1]
    if not len(early) or reducing["part"].nunique() > 1:
        return []
    changes, _ = _not_launched(subject, early, _waiting_share(early))
    return [of_work(subject, early, *changes)]


def _not_launched(subject: Subject, work: pd.DataFrame, left: Factors) -> tuple[Edits, Indices]:
    """Some work as a share of its time and without its launches; and the calls that then go.

    With the launches their neighbors go that only let streams wait; before the calls that follow
    the host takes its usual time.
    """
    launches = work["call"].drop_duplicates().to_numpy()
    ordering = matching(subject.recording.calls["name"], WAIT_EVENT)
    ordering[launches] = True
    block = runs(ordering, np.zeros(len(ordering), dtype=bool))
    calls = np.flatnonzero(np.isin(block, block[launches]))
    following = np.setdiff1d(calls + 1, calls)
    after = Edit(following[following < len(ordering)], gap=int(subject.calls["gap_ns"].median()))
    shorter = Edit(work=rows_of(work), factor=left)
    return (shorter, Edit(calls, gap=0, cost=0), after), calls


@mechanism("small_collectives")
def find_small_collectives(subject: Subject) -> list[Found]:
    """Many short collectives in a row, without a product in between: one could do for all.

    What all but the first take beyond the shortest one's time is left: their bytes.
    """
    moving = collectives(communication(subject))
    if not len(moving):
        return []
    run = _between_products(subject, moving)
    rows = moving.groupby(run)["device_ns"].agg(["size", "median"])
    small = rows.index[(rows["size"] >= MANY) & (rows["median"] < SMALL_NS)]
    moving, run = moving[run.isin(small)], run[run.isin(small)]
    later = moving[run.duplicated()]
    if not len(later):
        return []
    latency = np.minimum(moving["device_ns"].min() / later["device_ns"].clip(lower=1), 1.0)
    changes, calls = _not_launched(subject, later, (1 - latency).to_numpy(dtype=np.float64))
    spent = subject.calls.loc[calls, ["gap_ns", "cost_ns"]].to_numpy().sum()
    return [of_work(subject, moving, *changes, host_ns=spent)]


def _between_products(subject: Subject, moving: pd.DataFrame) -> "pd.Series[int]":
    """For each of some work, the number of the run of the same kernel between two products.

    A step's end ends a run, too.
    """
    products = subject.work.loc[subject.work["family"].isin(PRODUCTS), "call"].to_numpy()
    before = np.searchsorted(np.sort(products), moving["call"])
    keys = moving[["step"]].assign(before=before, name=moving["name"].astype(str))
    return keys.groupby(["step", "before", "name"], sort=False).ngroup()


def _latest(subject: Subject) -> int:
    """The process that waits least for the others."""
    waits = subject.attributed.work.groupby("process")["wait_ns"].sum()
    return int(waits.index.to_numpy()[np.argmin(waits)])


@mechanism("exposed_communication")
def find_exposed_communication(subject: Subject) -> list[Found]:
    """Communication while the device does nothing else; what is waited for others stays.

    Without it as much of that is hidden as there is other work to hide it behind.
    Only of the process that waits least: the others would wait for it all the same.
    """
    moving = communication(subject)
    several = subject.attributed.work["process"].nunique() > 1
    if not len(moving) or (several and not subject.attributed.waits_known):
        return []
    if _latest(subject) != subject.process:
        return []
    exposed = moving["exposed_ns"] / moving["device_ns"].clip(lower=1)
    hidden = min(room_ns(subject) / max(float(moving["exposed_ns"].sum()), 1.0), 1.0)
    change = Edit(work=rows_of(moving), factor=(1 - hidden * exposed).to_numpy(dtype=np.float64))
    count, exposed_ns = int((moving["exposed_ns"] > 0).sum()), moving["exposed_ns"].sum()
    place = main_place(moving.assign(device_ns=moving["exposed_ns"]))
    return [subject.found(place, count, (change,), 0, exposed_ns)]


@mechanism("late_rank")
def find_late_rank(subject: Subject) -> list[Found]:
    """Another process is waited for in collectives, and one place of its tells why.

    That is long gaps of its host, or more work on its device. A rank that is late by a little in
    all gaps has a slower host, which isn't a fault.
    """
    waiting = collectives(communication(subject))
    if not waiting["wait_ns"].any() or (late := _latest(subject)) == subject.process:
        return []
    try:
        other = Subject.of(subject.attributed, late)
    except TraceError:
        return []
    change = Edit(work=rows_of(waiting), factor=1 - _waiting_share(waiting))
    saved_ms = (subject.step_ns - subject.step_with(change)) / NS_PER_MS
    longer = _longer_ms(other, subject)
    if longer.max() < EXPLAINS * saved_ms:
        return []
    evidence = f"; process {late} takes {longer.max():.2f} ms longer here"
    count, wait_ns = int((waiting["wait_ns"] > 0).sum()), waiting["wait_ns"].sum()
    found = subject.found(str(longer.idxmax()), count, (change,), 0, wait_ns)
    return [replace(found, evidence=evidence)]


def _longer_ms(subject: Subject, other: Subject) -> "pd.Series[float]":
    """By how much a process's host, or its device, takes longer in each path, a step (ms)."""
    return pd.concat(
        [
            _by_path(each(subject), subject).sub(_by_path(each(other), other), fill_value=0)
            for each in (_long_gaps, _device_times)
        ]
    )


def _by_path(times: pd.DataFrame, subject: Subject) -> "pd.Series[float]":
    sums = times.groupby("path_text")["ns"].sum()
    return sums / NS_PER_MS / subject.step_count


def _long_gaps(subject: Subject) -> pd.DataFrame:
    calls = subject.own
    calls = calls[calls["gap_ns"] > LARGE * calls["gap_ns"].median()]
    return calls.assign(ns=calls["gap_ns"], path_text=paths_in_gaps(subject, rows_of(calls)))


def _device_times(subject: Subject) -> pd.DataFrame:
    work = subject.work[subject.work["family"] != COLLECTIVE]
    return work.assign(ns=work["device_ns"])
