"""Ranks of one job: how long they wait for each other, and traces of each made one capture.

Processes that communicate call the same collectives in the same order, each group in a stream of
its own. One call's kernels end together, when the last process has come; but a broadcast's sender
may be done before another process has begun. What a kernel takes longer than the shortest one of
its call, it waited. Nothing is told unless all kernels fit that, or all of the time that every
process recorded.

Ranks that were traced one by one may have clocks of different hosts. So their times are moved by
how far, at the median, collectives end after those of the first rank, if equally many.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_src.captures.capture import COLUMNS, KERNEL, UNKNOWN, Capture, Note
from workflow_src.captures.merged import DEVICES
from workflow_src.captures.reading import read
from workflow_src.captures.rows import Mask
from workflow_src.captures.torch_ranks import Rank, grouped, jobs, rank_of
from workflow_src.common.errors import TraceError
from workflow_src.common.intervals import Indices
from workflow_src.placing.families import families

COLLECTIVE = "communication"

ONE_WAY = re.compile(r"_(?:Broadcast|Reduce)_")
"""In names of kernels that move data from one process, or to one, and needn't end together."""

TOGETHER_NS = 100_000
"""Kernels of one call end within this time, by clocks of ranks made one: 40 us in traces of two
ranks on one host."""


def waits(work: pd.DataFrame) -> tuple[Indices, bool, int]:
    """How long each activity (with `family`) waited for other processes (ns), whether that could be
    told of collectives, and how many of their kernels could not be matched."""
    waited = np.zeros(len(work), dtype=np.int64)
    found = collectives(work) if work["process"].nunique() > 1 else work[:0]
    if found["process"].nunique() < 2:
        return waited, False, 0
    # Where not all fit, those that end while each process has ended its first one, not its last.
    of_process = found["end_ns"].groupby(found["process"])
    begin, end = int(of_process.min().max()), int(of_process.max().min())
    inside = found[found["end_ns"].between(begin - TOGETHER_NS, end + TOGETHER_NS)]
    for kernels in (found, inside):
        # Streams that communicate with each other, in the order of their first kernels.
        streams = kernels.sort_values(["start_ns", "end_ns"]).groupby(
            ["process", "device", "stream"], sort=False
        )
        groups = grouped((stream for _, stream in streams), _joins)
        if groups and all(len(group) > 1 for group in groups):
            for group in groups:
                lengths = _of_each("duration_ns", group)
                waited[np.stack([each.index for each in group])] = lengths - lengths.min(axis=0)
            return waited, True, len(found) - len(kernels)
    return waited, False, len(found)


def _joins(stream: pd.DataFrame, group: Sequence[pd.DataFrame]) -> bool:
    """Whether it calls the same collectives as streams of other processes, ending together."""
    names, others = stream["name"].tolist(), [each["process"].iloc[0] for each in group]
    if names != group[0]["name"].tolist() or stream["process"].iloc[0] in others:
        return False
    ends, lengths = (_of_each(name, [*group, stream]) for name in ("end_ns", "duration_ns"))
    fits = np.ptp(ends, axis=0) <= lengths.min(axis=0)
    return bool(fits[ends_together(names)].all())


def _of_each(name: str, streams: Sequence[pd.DataFrame]) -> Indices:
    return np.stack([each[name].to_numpy() for each in streams])


def ends_together(names: Sequence[str]) -> Mask:
    """Which collectives end in all processes at once; all of them where none has to."""
    both_ways = np.array([not ONE_WAY.search(name) for name in names], dtype=bool)
    return both_ways if both_ways.any() else ~both_ways


def collectives(work: pd.DataFrame) -> pd.DataFrame:
    """The kernels (with `family`) that all processes run together: none from one to another."""
    found = work[(work["family"] == COLLECTIVE) & (work["kind"] == KERNEL)]
    return found[~found["name"].str.contains("SendRecv", regex=False).astype(bool)]


def read_all(paths: Sequence[Path]) -> Capture:
    """The capture in one file, or in those of several ranks of one job; else raises TraceError."""
    if len(paths) == 1:
        return read(paths[0])
    if len(found := jobs(paths)) > 1:
        names = ", ".join(map(str, paths))
        raise TraceError(
            f"{names}: these aren't traces of torch.profiler of one job's ranks, of which each "
            "names another rank, and which begin within 10 s of each other"
        )
    ranks = {rank: path for path in found[0] if (rank := rank_of(path))}
    return _joined({rank: read(path) for rank, path in ranks.items()})


def _joined(captures: dict[Rank, Capture]) -> Capture:
    for rank, capture in captures.items():
        own = [process for process in capture.processes if process != UNKNOWN]
        if len(own) > 1:
            raise TraceError(
                f"the trace of rank {rank.number} holds {len(own)} processes: give it alone"
            )
    ranks, parts = [*captures], [*captures.values()]
    ends = [_collective_ends(capture.work) for capture in parts]
    alike = len({len(each) for each in ends}) == 1 and len(ends[0]) > 0
    ahead = [int(np.median(each - ends[0])) if alike else 0 for each in ends]

    before = np.cumsum([0, *(len(part.work) for part in parts)])
    tables = {
        name: pd.concat([
            part.copies.assign(work=part.copies["work"] + first)
            if name == "copies"
            else _moved(getattr(part, name), rank.number, ns)
            for part, rank, ns, first in zip(parts, ranks, ahead, before, strict=False)
        ])
        for name in COLUMNS
    }  # fmt: skip
    counts = Counter[tuple[str, str]]()
    for note in (note for part in parts for note in part.notes):
        counts[note.code, note.about] += note.count
    notes = [Note(code, count, about) for (code, about), count in counts.items()]
    made = [part.recording for part in parts]
    launches, unanswered = (
        sum(getattr(each, name) for each in made) for name in ("launches", "unanswered")
    )
    card = made[0].card if len({each.card for each in made}) == 1 else None
    by = replace(made[0], launches=launches, unanswered=unanswered, card=card)
    return Capture.of(tables, (Note("ranks", len(parts), f"of {ranks[0].world_size}"), *notes), by)


def _collective_ends(work: pd.DataFrame) -> Indices:
    found = collectives(work.assign(family=families(work["name"])))
    return np.sort(found["end_ns"].to_numpy()[ends_together(found["name"].tolist())])


def _moved(rows: pd.DataFrame, rank: int, ahead_ns: int) -> pd.DataFrame:
    """Rows whose process is their rank, by a clock that isn't ahead, on devices of its own."""
    found = rows.assign(process=rows["process"].where(rows["process"] == UNKNOWN, rank))
    times = ("start_ns", "end_ns", "launch_ns", "launch_end_ns")
    by = {"device": rank * DEVICES} | dict.fromkeys(times, -ahead_ns)
    for name in {*by} & {*rows}:
        values = rows[name].astype("int64")
        found[name] = (values + by[name]).where(values != UNKNOWN, UNKNOWN)
    return found
