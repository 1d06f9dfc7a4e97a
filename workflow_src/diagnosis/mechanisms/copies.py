"""Data that is copied between host and device: from pageable memory, unhidden, or blocking."""

from dataclasses import replace

import numpy as np
import pandas as pd

from workflow_src.captures.capture import PAGEABLE
from workflow_src.common.intervals import Union
from workflow_src.common.nesting import NOWHERE
from workflow_src.diagnosis.copies_table import RARE, SMALL_BYTES, TO_DEVICE, TO_HOST, of_size
from workflow_src.diagnosis.edit import Edit, Edits
from workflow_src.diagnosis.finding import Found, Subject, mechanism, rows_of
from workflow_src.diagnosis.recording import SHORT_NS

MOSTLY = 0.5
"""A copy that other work overlaps for this share of its time is hidden."""


def _prefetched(copies: pd.DataFrame) -> Edits:
    """The copies beside the device's other work, and without the host waiting for them."""
    calls, waits = copies["call"].to_numpy(), copies["wait"].to_numpy()
    waiting = np.concatenate([calls, waits[waits != NOWHERE]]).astype(np.int64)
    return (Edit(np.sort(waiting), cost=SHORT_NS), Edit(work=rows_of(copies), factor=0.0))


def _found(subject: Subject, copies: pd.DataFrame, changes: Edits) -> Found:
    times = copies[["host_ns", "device_ns"]].sum()
    return subject.found_in(copies, changes, *times)


@mechanism("pageable_batch")
def find_pageable_batches(subject: Subject) -> list[Found]:
    """Data comes from pageable memory: the driver copies it twice, and the host waits."""
    sent = of_size(subject, TO_DEVICE, SMALL_BYTES + 1)
    places = sent[sent["memory"] == PAGEABLE].groupby("path_text")
    return [_found(subject, each, _prefetched(each)) for _, each in places]


@mechanism("unhidden_copy")
def find_unhidden_copies(subject: Subject) -> list[Found]:
    """Data comes from pinned memory while the device computes nothing."""
    sent = of_size(subject, TO_DEVICE, SMALL_BYTES + 1)
    sent = sent[sent["memory"] != PAGEABLE]
    work = subject.work
    others = work[~work.index.isin(sent.index)]
    busy = Union.of(others["start_ns"].to_numpy(), others["end_ns"].to_numpy())
    start, end = (work.loc[sent.index, name].to_numpy() for name in ("start_ns", "end_ns"))
    overlap = busy.until(end) - busy.until(start)
    alone = sent[overlap < MOSTLY * sent["device_ns"].to_numpy()]
    return [_found(subject, each, _prefetched(each)) for _, each in alone.groupby("path_text")]


def _to_host(subject: Subject, rare: bool) -> list[Found]:
    """The places from which data comes to the host, in a few steps or in most.

    What it does with data of a few steps, before and after the copies, goes, too: it saves them.
    """
    fetched = of_size(subject, TO_HOST, SMALL_BYTES + 1)
    own, gap = rows_of(subject.own), subject.calls["gap_ns"]
    usual_ns, launching = int(gap[own].median()), subject.work["call"]
    found = []
    for _, each in fetched.groupby("path_text"):
        if (each["step"].nunique() <= RARE * subject.step_count) != rare:
            continue
        waits = each.loc[each["wait"] != NOWHERE, "wait"]
        calls = np.sort(np.concatenate([each["call"], waits])).astype(np.int64)
        first = each.groupby("step")["call"].min().to_numpy()
        after = np.append(own, own[-1:])[np.searchsorted(own, each["last"], side="right")]
        before = np.setdiff1d(own[np.searchsorted(own, first) - 1], launching)
        around = np.concatenate([before, first, np.setdiff1d(after, calls)]) if rare else after[:0]
        changes = (
            Edit(calls, cost=0, drops=True),
            Edit(np.setdiff1d(calls, first), gap=0),
            Edit(around, gap=usual_ns),
        )
        place = _found(subject, each, changes)
        ms = subject.ms_a_step((gap[around] - usual_ns).clip(lower=0).sum())
        found.append(replace(place, host_ms=place.host_ms + ms))
    return found


@mechanism("blocking_save")
def find_blocking_saves(subject: Subject) -> list[Found]:
    """Few of the steps copy much to the host, which waits for it and writes it: a checkpoint."""
    return _to_host(subject, rare=True)


@mechanism("data_to_host")
def find_data_to_host(subject: Subject) -> list[Found]:
    """Each step copies more than numbers to the host."""
    return _to_host(subject, rare=False)
