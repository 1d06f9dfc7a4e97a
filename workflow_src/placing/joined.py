"""Traces of torch.profiler of several ranks of one job as one capture, a process per rank.

Their clocks may be those of different hosts. A collective's kernels end together in all ranks, so
the times of each rank are moved by how far, at the median, its collectives end after those of the
first rank. Where ranks have different numbers of them, times stay as they are.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_src.captures.capture import UNKNOWN, Capture, Note, joined_copies
from workflow_src.captures.merged import DEVICES, numbered
from workflow_src.captures.reading import read
from workflow_src.captures.torch_ranks import Rank, jobs, rank_of
from workflow_src.common.errors import TraceError
from workflow_src.common.intervals import Indices
from workflow_src.placing.families import families
from workflow_src.placing.ranks import collectives, ends_together


def read_all(paths: Sequence[Path]) -> Capture:
    """The capture in one file, or in those of several ranks of one job.

    Raises TraceError if one can't be read, or several aren't of one job.
    """
    if len(paths) == 1:
        return read(paths[0])
    if len(found := jobs(paths)) > 1:
        names = ", ".join(map(str, paths))
        raise TraceError(
            f"{names}: these aren't traces of torch.profiler of one job's ranks, of which each "
            "names another rank, and which overlap in time or have collectives that end together"
        )
    ranks = {rank: path for path in found[0].files if (rank := rank_of(path))}
    return _joined({rank: read(path) for rank, path in ranks.items()})


def _joined(captures: dict[Rank, Capture]) -> Capture:
    """One capture of several ranks' captures, each of one process, whose number becomes the rank.

    Raises TraceError if one has several processes.
    """
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

    def every(table: Callable[[Capture], pd.DataFrame]) -> pd.DataFrame:
        each = zip(parts, ranks, ahead, strict=True)
        moved = [_moved(table(part), rank.number, ns) for part, rank, ns in each]
        return pd.concat(moved, ignore_index=True)

    counts = Counter[tuple[str, str]]()
    for note in (note for part in parts for note in part.notes):
        counts[note.code, note.about] += note.count
    made = [part.recording for part in parts]
    return Capture(
        every(lambda each: each.ranges),
        every(lambda each: each.work),
        every(lambda each: each.calls).astype({"kind": "category", "name": "category"}),
        joined_copies([(part.copies, len(part.work)) for part in parts]),
        every(lambda each: each.thread_names),
        every(lambda each: each.waits),
        (
            Note("ranks", len(parts), f"of {ranks[0].world_size}"),
            *(Note(code, count, about) for (code, about), count in counts.items()),
        ),
        replace(
            made[0],
            launches=sum(each.launches for each in made),
            unanswered=sum(each.unanswered for each in made),
            card=made[0].card if len({each.card for each in made}) == 1 else None,
        ),
        every(lambda each: each.operators).astype({"kind": "category"}),
    )


def _collective_ends(work: pd.DataFrame) -> Indices:
    """When kernels of collectives end (ns) that do so together, in order."""
    found = collectives(work.assign(family=families(work["name"])))
    return np.sort(found["end_ns"].to_numpy()[ends_together(found["name"].tolist())])


def _moved(rows: pd.DataFrame, rank: int, ahead_ns: int) -> pd.DataFrame:
    """Rows whose process is their rank, by a clock that isn't ahead, on devices of its own."""
    found = numbered(rows, rank, rows["process"].to_numpy())
    for name, values in rows.items():
        if name in ("start_ns", "end_ns"):
            found[name] = values - ahead_ns
        elif name in ("launch_ns", "launch_end_ns", "wait_ns", "record_ns"):
            found[name] = (values - ahead_ns).where(values != UNKNOWN, UNKNOWN)
        elif name in ("device", "record_device"):
            own = values.astype("int64") + rank * DEVICES
            found[name] = own.where(values != UNKNOWN, UNKNOWN)
    return found
