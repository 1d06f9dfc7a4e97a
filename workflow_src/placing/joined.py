"""Traces of torch.profiler of several ranks of one job as one capture, a process per rank.

Their clocks may be those of different hosts. A collective's kernels end together in all ranks, so
the times of each rank are moved by how far, at the median, its collectives end after those of the
first rank. Where ranks have different numbers of them, times stay as they are.
"""

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_src.captures.capture import UNKNOWN, Capture, Note, Threads, joined_copies
from workflow_src.captures.merged import numbered
from workflow_src.captures.reading import read
from workflow_src.captures.recording import together
from workflow_src.captures.torch_ranks import Rank, jobs, rank_of
from workflow_src.common.errors import TraceError
from workflow_src.common.intervals import Indices
from workflow_src.placing.families import families
from workflow_src.placing.ranks import collectives, ends_together

DEVICES = 2**16
"""More than a rank has. Ranks of one job never share one, whatever number it has in each."""


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
    files = found[0].files
    ranks = [rank for path in files if (rank := rank_of(path))]
    return joined([read(path) for path in files], ranks)


def joined(captures: Sequence[Capture], ranks: Sequence[Rank]) -> Capture:
    """One capture of several ranks' captures, each of one process, whose number becomes the rank.

    Raises TraceError if one has several processes.
    """
    ends = [_collective_ends(capture.work) for capture in captures]
    alike = len({len(each) for each in ends}) == 1 and len(ends[0]) > 0
    parts = [
        _as_rank(capture, rank.number, int(np.median(end - ends[0])) if alike else 0)
        for capture, rank, end in zip(captures, ranks, ends, strict=True)
    ]
    tables = {
        name: pd.concat([getattr(part, name) for part in parts], ignore_index=True)
        for name in ("ranges", "work", "calls")
    }
    threads = Threads(
        *(
            pd.concat([getattr(part.threads, field.name) for part in parts], ignore_index=True)
            for field in fields(Threads)
        )
    )
    notes = (Note("ranks", len(parts), f"of {ranks[0].world_size}"), *_notes(parts))
    total = sum(part.total_ns for part in parts)
    tables["calls"] = tables["calls"].astype(dict.fromkeys(("kind", "name"), "category"))
    copies = joined_copies([(part.copies, len(part.work)) for part in parts])
    recording = together([part.recording for part in parts])
    return Capture(
        **tables, total_ns=total, copies=copies, threads=threads, notes=notes, recording=recording
    )


def _collective_ends(work: pd.DataFrame) -> Indices:
    """When kernels of collectives end (ns) that do so together, in order."""
    found = collectives(work.assign(family=families(work["name"])))
    return np.sort(found["end_ns"].to_numpy()[ends_together(found["name"].tolist())])


def _as_rank(capture: Capture, rank: int, ahead_ns: int) -> Capture:
    """A capture whose process is its rank, by a clock that isn't ahead."""
    names, flows = capture.threads.names, capture.threads.flows
    waits = capture.threads.waits
    recorded = waits["record_ns"]
    own = [process for process in capture.processes if process != UNKNOWN]
    if len(own) > 1:
        raise TraceError(f"the trace of rank {rank} holds {len(own)} processes: give it alone")
    return replace(
        capture,
        ranges=_moved(capture.ranges, rank, ahead_ns),
        work=_moved(capture.work, rank, ahead_ns),
        calls=_moved(capture.calls, rank, ahead_ns),
        threads=Threads(
            numbered(names, rank, names["process"].to_numpy()),
            numbered(flows, rank, flows["process"].to_numpy()).assign(
                start_ns=flows["start_ns"] - ahead_ns
            ),
            numbered(waits, rank, waits["process"].to_numpy()).assign(
                device=_device(waits["device"], rank),
                record_device=_device(waits["record_device"], rank),
                wait_ns=waits["wait_ns"] - ahead_ns,
                record_ns=recorded.where(recorded == UNKNOWN, recorded - ahead_ns),
            ),
        ),
    )


def _moved(rows: pd.DataFrame, rank: int, ahead_ns: int) -> pd.DataFrame:
    found = numbered(rows, rank, rows["process"].to_numpy()).assign(
        start_ns=rows["start_ns"] - ahead_ns,
        end_ns=rows["end_ns"] - ahead_ns,
    )
    if "device" in rows:
        launched = rows["missing"] == ""
        found["device"] = _device(rows["device"], rank)
        for name in ("launch_ns", "launch_end_ns"):
            found[name] = (rows[name] - ahead_ns).where(launched, rows[name])
    return found


def _device(device: pd.Series, rank: int) -> pd.Series:
    """The number of a rank's device, which no other rank's has."""
    return (device.astype("int64") + rank * DEVICES).where(device != UNKNOWN, UNKNOWN)


def _notes(parts: Sequence[Capture]) -> list[Note]:
    """The notes of all, those of one thing as one."""
    counts: dict[tuple[str, str], int] = {}
    for note in (note for part in parts for note in part.notes):
        counts[note.code, note.about] = counts.get((note.code, note.about), 0) + note.count
    return [Note(code, count, about) for (code, about), count in counts.items()]
