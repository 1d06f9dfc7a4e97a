"""Ranks: gradients reduced too often, communication that nothing hides, a rank that is late."""

from collections.abc import Iterator
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
from workflow_src.diagnosis.finding import MANY, MOST, Finding, Subject, kind, rows_of
from workflow_src.diagnosis.host_gaps import paths_in_gaps
from workflow_src.diagnosis.parts import passes
from workflow_src.diagnosis.sequences import runs
from workflow_src.placing.ranks import COLLECTIVE, collectives

REDUCING = r"(?i)all_?reduce|reduce_?scatter"
PRODUCTS = ("gemm", "convolution", "attention")
SMALL_NS = 100_000
"""A collective of less time takes mostly latency: 25 MiB, DDP's bucket, take 100 us at 260 GB/s."""


@kind
def reduced_in_each_micro_batch(subject: Subject) -> Iterator[Finding]:
    """Gradients are reduced in each pass through one part of a step, instead of in its last one.

    All-reduces in several parts are a divided model's own. What another rank is waited for, it
    would be waited for later.
    """
    reducing = collectives(communication(subject))
    reducing = reducing[matching(reducing["name"], REDUCING)]
    if reducing.empty:
        return
    reducing = passes(subject, reducing)
    reducing = reducing[reducing["passes"] > 1]
    early = reducing[reducing["nth"] < reducing["passes"] - 1]
    if len(early) and reducing["part"].nunique() == 1:
        edits, _ = _not_launched(subject, early, _waiting(early))
        yield subject.found("reduced_in_each_micro_batch", early, *edits)


def _waiting(work: pd.DataFrame) -> Factors:
    """The share of each communication's time (with wait_ns) in which it waits."""
    return (work["wait_ns"] / work["device_ns"].clip(lower=1)).to_numpy(dtype=np.float64)


def _not_launched(subject: Subject, work: pd.DataFrame, left: Factors) -> tuple[Edits, Indices]:
    """Some work as a share of its time and without its launches; and the calls that then go.

    With the launches their neighbors go that only let streams wait; before the calls that follow
    the host takes its usual time.
    """
    ordering = matching(subject.recording.calls["name"], WAIT_EVENT)
    ordering[work["call"]] = True
    block = runs(ordering, np.zeros(len(ordering), dtype=bool))
    calls = np.flatnonzero(np.isin(block, block[work["call"]]))
    following = np.setdiff1d(calls + 1, np.append(calls, len(ordering)))
    after = Edit(following, gap=int(subject.calls["gap_ns"].median()))
    shorter = Edit(work=rows_of(work), factor=left)
    return (shorter, Edit(calls, gap=0, cost=0), after), calls


@kind
def small_collectives(subject: Subject) -> Iterator[Finding]:
    """Many short collectives in a row, without a product in between: one could do for all.

    What all but the first take beyond the shortest one's time is left: their bytes. A run is of the
    same kernel in a step.
    """
    moving = collectives(communication(subject))
    products = subject.work.loc[subject.work["family"].isin(PRODUCTS), "call"].to_numpy()
    before = np.searchsorted(np.sort(products), moving["call"])
    rows = moving.groupby(["step", before, moving["name"].astype(str)], sort=False)["device_ns"]
    small = (rows.transform("size") >= MANY) & (rows.transform("median") < SMALL_NS)
    later = moving[small & (rows.cumcount() > 0)]
    if len(later):
        latency_ns = moving["device_ns"].where(small).min()
        left = 1 - np.minimum(latency_ns / later["device_ns"].clip(lower=1).to_numpy(), 1.0)
        edits, calls = _not_launched(subject, later, left)
        spent = subject.calls.loc[calls, ["gap_ns", "cost_ns"]].to_numpy().sum()
        yield subject.found("small_collectives", moving[small], *edits, host_ns=spent)


def _latest(subject: Subject) -> int:
    """The process that waits least for the others."""
    waits = subject.attributed.work.groupby("process")["wait_ns"].sum()
    return int(waits.index.to_numpy()[np.argmin(waits)])


@kind
def exposed_communication(subject: Subject) -> Iterator[Finding]:
    """Communication while the device does nothing else; what is waited for others stays.

    Without it as much of that is hidden as there is other work to hide it behind.
    Only of the process that waits least: the others would wait for it all the same.
    """
    moving = communication(subject)
    several = subject.attributed.work["process"].nunique() > 1
    unknown = several and not subject.attributed.waits_known
    if not len(moving) or unknown or _latest(subject) != subject.process:
        return
    exposed_ns = moving["exposed_ns"].sum()
    exposed = moving["exposed_ns"] / moving["device_ns"].clip(lower=1)
    hidden = min(room_ns(subject) / max(float(exposed_ns), 1.0), 1.0)
    edit = Edit(work=rows_of(moving), factor=(1 - hidden * exposed).to_numpy(dtype=np.float64))
    rows = moving.assign(device_ns=moving["exposed_ns"])[moving["exposed_ns"] > 0]
    if len(rows):
        yield subject.found("exposed_communication", rows, edit)


@kind
def late_rank(subject: Subject) -> Iterator[Finding]:
    """Another process is waited for in collectives, and one place of its tells why.

    That is long gaps of its host, or more work on its device. A rank that is late by a little in
    all gaps has a slower host, which isn't a fault: a place explains most of what is saved.
    """
    waiting = collectives(communication(subject))
    if not waiting["wait_ns"].any() or (late := _latest(subject)) == subject.process:
        return
    try:
        other = Subject.of(subject.attributed, late)
    except TraceError:
        return
    edit = Edit(work=rows_of(waiting), factor=1 - _waiting(waiting))
    saved_ms = (subject.step_ns - subject.step_with(edit)) / NS_PER_MS
    pairs = zip(_times_by_path(other), _times_by_path(subject), strict=True)
    longer = pd.concat([theirs.sub(own, fill_value=0) for theirs, own in pairs])
    if longer.max() >= MOST * saved_ms:
        rows = waiting.assign(device_ns=waiting["wait_ns"])[waiting["wait_ns"] > 0]
        found = subject.found("late_rank", rows, edit, where=str(longer.idxmax()))
        evidence = f"; process {late} takes {longer.max():.2f} ms longer here"
        yield replace(found, evidence=evidence)


def _times_by_path(subject: Subject) -> "list[pd.Series[float]]":
    """What long gaps of the host, and the device but for collectives, take in each path (ms)."""
    calls = subject.own
    calls = calls[calls["gap_ns"] > LARGE * calls["gap_ns"].median()]
    gaps = calls["gap_ns"].groupby(np.array(paths_in_gaps(subject, rows_of(calls)), dtype=object))
    work = subject.work[subject.work["family"] != COLLECTIVE].groupby("path_text")["device_ns"]
    return [each.sum() / NS_PER_MS / subject.step_count for each in (gaps, work)]
