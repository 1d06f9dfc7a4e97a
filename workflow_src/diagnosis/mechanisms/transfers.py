"""Copies between host and device, frees of memory, and waits."""

from collections.abc import Iterator
from math import inf

import numpy as np
import pandas as pd

from workflow_src.captures.capture import PAGEABLE
from workflow_src.captures.rows import spans
from workflow_src.common.intervals import Indices, Union
from workflow_src.common.nesting import NOWHERE
from workflow_src.diagnosis.finding import Finding, found
from workflow_src.diagnosis.recording import ALLOCATE, FREE, SHORT_NS, SYNCHRONIZE, Edit
from workflow_src.diagnosis.subject import MOST, NUMBER, Subject, once, rows_of
from workflow_src.placing.paths import common_path

TO_DEVICE, TO_HOST = "HtoD", "DtoH"

SMALL_BYTES = 1024
"""A copy of at most so much carries numbers, not data: its time doesn't depend on its size."""


@once
def transfers(subject: Subject) -> pd.DataFrame:
    """A row per copy between host and device, by its row of work.

    wait: the synchronization directly after it on its thread, or NOWHERE; last: the later one of
    both; memory: the host's.
    """
    copies = subject.copies
    copies = copies[copies["direction"].isin([TO_DEVICE, TO_HOST])]
    call = subject.work.loc[copies.index, "call"].to_numpy(dtype=np.int64)
    calls, own = subject.calls, rows_of(subject.own)
    following = np.append(own, NOWHERE)[np.searchsorted(own, call, side="right")]
    after, made = calls.reindex(following), calls.loc[call].set_index(copies.index)
    awaited = (after["kind"] == SYNCHRONIZE).to_numpy()
    awaited = awaited & (after["thread"].to_numpy() == made["thread"].to_numpy())
    to_device = copies["direction"] == TO_DEVICE
    table: pd.DataFrame = made[["step", "path"]].assign(
        call=call,
        wait=np.where(awaited, following, NOWHERE),
        last=np.where(awaited, following, call),
        direction=copies["direction"].astype(object),
        memory=np.where(to_device, copies["source"], copies["target"]),
        bytes=copies["bytes"],
        device_ns=subject.work["device_ns"],
    )
    return table.sort_values("call")


def of_size(subject: Subject, direction: str, least: float, most: float = inf) -> pd.DataFrame:
    """The transfers in one direction of so many bytes."""
    every = transfers(subject)
    return every[(every["direction"] == direction) & every["bytes"].between(least, most)]


def calls_of(copies: pd.DataFrame) -> Indices:
    """The calls that made some transfers and those that waited for them, in order."""
    return np.setdiff1d(np.concatenate([copies["call"], copies["wait"]]), [NOWHERE])


def folded(paths: "pd.Series[str]") -> "pd.Series[str]":
    """Paths, without the numbers by which alike ones differ."""
    return paths.str.replace(NUMBER, "", regex=True)


def sent_data(subject: Subject) -> Iterator[Finding]:
    """Data is copied to the device, from pageable memory or beside no work."""
    sent = of_size(subject, TO_DEVICE, SMALL_BYTES + 1)
    pageable, work = sent["memory"] == PAGEABLE, subject.work
    others, own = work.drop(sent.index[~pageable]), work.loc[sent.index]
    busy, (start, end) = Union.of(*spans(others)), spans(own)
    overlap = busy.until(end) - busy.until(start)
    alone = overlap < MOST * sent["device_ns"]
    key = np.select([pageable, alone], ["pageable_batch", "unhidden_copy"], "")
    for (reason, _), each in sent[key != ""].groupby([key[key != ""], "path"]):
        edits = Edit(calls_of(each), cost=SHORT_NS), Edit(work=rows_of(each), factor=0.0)
        yield found(subject, str(reason), each, *edits)


def fetched_data(subject: Subject) -> Iterator[Finding]:
    """Data is copied to the host: data_to_host in most steps, blocking_save in few."""
    fetched = of_size(subject, TO_HOST, SMALL_BYTES + 1)
    own, gap = rows_of(subject.own), subject.calls["gap_ns"]
    usual_ns = int(gap[own].median())
    for _, each in fetched.groupby("path"):
        rare = each["step"].nunique() <= MOST * subject.step_count
        calls, first = calls_of(each), each.groupby("step")["call"].min().to_numpy()
        after = np.append(own, own[-1:])[np.searchsorted(own, each["last"], side="right")]
        around = np.concatenate([first, np.setdiff1d(after, calls)]) if rare else after[:0]
        edits = (
            Edit(calls, cost=0, drops=True),
            Edit(np.setdiff1d(calls, first), gap=0),
            Edit(around, gap=usual_ns),
        )
        yield found(subject, "blocking_save" if rare else "data_to_host", each, *edits)


def synchronizations(subject: Subject) -> Iterator[Finding]:
    """The host waits for the device, and copies nothing."""
    waits = subject.own[subject.own["kind"] == SYNCHRONIZE]
    waits = waits[~waits.index.isin(transfers(subject)["wait"])]
    for _, each in waits.groupby(folded(waits["path"])):
        yield found(subject, "synchronize", each, Edit(rows_of(each), cost=0))


def memory(subject: Subject) -> Iterator[Finding]:
    """Device memory is freed and fetched again, as by torch.cuda.empty_cache()."""
    is_memory = subject.own["kind"].isin([ALLOCATE, FREE])
    calls = subject.own.assign(run=(~is_memory).cumsum())[is_memory]
    freed = calls[calls["kind"] == FREE]
    if freed["step"].nunique() >= MOST * subject.step_count:  # Of few steps it is warm-up.
        again = calls[calls["run"].duplicated()]
        edits = Edit(rows_of(calls), cost=0, drops=True), Edit(rows_of(again), gap=0)
        where = common_path(freed["path"])
        yield found(subject, "empty_cache", calls, *edits, where=where)
