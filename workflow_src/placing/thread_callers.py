"""Which of several threads a helper works for, at each time.

A helper's work comes in units: its outermost ranges, with all that is in them, and its launches
outside. Streams tell first: autograd runs each operator of backward on the stream of the forward
operator that it differentiates, so a unit that launches on streams that one caller alone launches
on is that caller's. Else flows tell, of torch.profiler: a unit is part of the operator of backward
that a flow last led to. Where neither tells, it is the caller whose silence the unit fits.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from workflow_src.common.intervals import Indices
from workflow_src.placing.thread_rows import NONE, Thread, ThreadRows
from workflow_src.placing.thread_turns import Mask, Spans, fitting

UNTOLD = -1
"""In place of a caller's index, where evidence is missing."""


@dataclass(frozen=True)
class Units:
    """The units of a helper's work: first its outermost ranges, then its launches outside.

    of_ranges, of_launches: the unit of each of its ranges, and of each of its launches.
    """

    spans: Spans
    of_ranges: Indices
    of_launches: Indices


def units_of(rows: ThreadRows, thread: Thread) -> Units:
    """The units of a thread's work."""
    whole, launched = rows.outermost(thread), rows.launches.get(thread, NONE)
    work = rows.capture.work
    begin, end = (work[name].to_numpy()[launched] for name in ("launch_ns", "launch_end_ns"))
    unit, outside = _within(whole, begin)
    unit[outside] = len(whole) + np.arange(int(outside.sum()))
    spans = Spans(np.append(whole.start, begin[outside]), np.append(whole.end, end[outside]))
    # A range of no length begins where a unit does, though it isn't open there.
    return Units(spans, _within(whole, rows.times(thread)[0])[0], unit)


def _within(whole: Spans, moments: Indices) -> tuple[Indices, Mask]:
    """The span that began last before each moment, and whether it had ended."""
    at = np.searchsorted(whole.start, moments, side="right") - 1
    ends = np.append(whole.end, np.iinfo(np.int64).min)
    return at, np.asarray(moments >= ends[at])


def callers_of(
    rows: ThreadRows, thread: Thread, callers: Sequence[Thread], units: Units
) -> tuple[Indices, int]:
    """The index among `callers` of each unit's, and how many units fit several about as well."""
    found = np.zeros(len(units.spans), dtype=np.int64)
    if len(callers) == 1:
        return found, 0
    found = _by_streams(rows, thread, callers, units)
    found = np.where(found == UNTOLD, _by_flows(rows, thread, callers, units.spans), found)
    if not (untold := found == UNTOLD).any():
        return found, 0
    fits, alike = fitting(units.spans, [rows.caller(caller) for caller in callers])
    return np.where(untold, fits, found), int((alike & untold).sum())


def _by_streams(
    rows: ThreadRows, thread: Thread, callers: Sequence[Thread], units: Units
) -> Indices:
    """The caller that alone launches on the streams on which most launches of each unit are."""
    streams = [rows.streams(caller) for caller in callers]
    owners = {
        stream: [index for index, others in enumerate(streams) if stream in others]
        for stream in rows.streams(thread)
    }
    work = rows.capture.work.iloc[rows.launches.get(thread, NONE)]
    votes = np.zeros((len(units.spans), len(callers)), dtype=np.int64)
    for stream, (owner, *others) in ((each, own) for each, own in owners.items() if own):
        if not others:
            on_it = (work["device"] == stream[0]) & (work["stream"] == stream[1])
            np.add.at(votes[:, owner], units.of_launches[on_it.to_numpy()], 1)
    return np.where(votes.any(axis=1), votes.argmax(axis=1), UNTOLD)


def _by_flows(rows: ThreadRows, thread: Thread, callers: Sequence[Thread], spans: Spans) -> Indices:
    """The caller whose forward the last flow before the end of each unit came from."""
    place = {number: index for index, (_, number) in enumerate(callers)}
    flows = rows.flows.get(thread)
    flows = flows[flows["forward_thread"].isin(list(place))] if flows is not None else flows
    if flows is None or flows.empty:
        return np.full(len(spans), UNTOLD)
    # A range of autograd's holds the operator that a flow leads to.
    last = np.searchsorted(flows["start_ns"].to_numpy(), spans.end) - 1
    return np.asarray(flows["forward_thread"].map(place).to_numpy()[np.maximum(last, 0)])
