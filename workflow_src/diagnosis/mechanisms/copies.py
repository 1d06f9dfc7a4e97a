"""Data that is copied between host and device: from pageable memory, unhidden, or blocking."""

from collections.abc import Iterator

import numpy as np

from workflow_src.captures.capture import PAGEABLE
from workflow_src.common.intervals import Union
from workflow_src.diagnosis.edit import Edit
from workflow_src.diagnosis.finding import Finding, found, kind
from workflow_src.diagnosis.recording import SHORT_NS
from workflow_src.diagnosis.subject import MOST, Subject, rows_of
from workflow_src.diagnosis.transfers import (
    SMALL_BYTES,
    TO_DEVICE,
    TO_HOST,
    calls_of,
    of_size,
)


@kind
def sent_data(subject: Subject) -> Iterator[Finding]:
    """Data is copied to the device; without it, beside other work, and the host doesn't wait.

    pageable_batch: from pageable memory: the driver copies it twice, and the host waits;
    unhidden_copy: from pinned memory while the device computes nothing.
    """
    sent = of_size(subject, TO_DEVICE, SMALL_BYTES + 1)
    pageable, work = sent["memory"] == PAGEABLE, subject.work
    others, own = work.drop(sent.index[~pageable]), work.loc[sent.index]
    busy = Union.of(others["start_ns"].to_numpy(), others["end_ns"].to_numpy())
    overlap = busy.until(own["end_ns"].to_numpy()) - busy.until(own["start_ns"].to_numpy())
    alone = overlap < MOST * sent["device_ns"]
    key = np.select([pageable, alone], ["pageable_batch", "unhidden_copy"], "")
    for (reason, _), each in sent[key != ""].groupby([key[key != ""], "path_text"]):
        edits = Edit(calls_of(each), cost=SHORT_NS), Edit(work=rows_of(each), factor=0.0)
        yield found(subject, str(reason), each, *edits)


@kind
def fetched_data(subject: Subject) -> Iterator[Finding]:
    """Data is copied to the host: by data_to_host in most steps, or in few, as by blocking_save.

    What the host does with data of a few steps, before and after the copies, goes, too: it saves
    them.
    """
    fetched = of_size(subject, TO_HOST, SMALL_BYTES + 1)
    own, gap = rows_of(subject.own), subject.calls["gap_ns"]
    usual_ns, launching = int(gap[own].median()), subject.work["call"]
    for _, each in fetched.groupby("path_text"):
        rare = each["step"].nunique() <= MOST * subject.step_count
        calls, first = calls_of(each), each.groupby("step")["call"].min().to_numpy()
        after = np.append(own, own[-1:])[np.searchsorted(own, each["last"], side="right")]
        before = np.setdiff1d(own[np.searchsorted(own, first) - 1], launching)
        around = np.concatenate([before, first, np.setdiff1d(after, calls)]) if rare else after[:0]
        edits = (
            Edit(calls, cost=0, drops=True),
            Edit(np.setdiff1d(calls, first), gap=0),
            Edit(around, gap=usual_ns),
        )
        yield found(subject, "blocking_save" if rare else "data_to_host", each, *edits)
