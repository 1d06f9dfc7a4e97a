"""What a capture comes to: the totals of its processes, and the notes of its reading."""

from collections.abc import Sequence

import pandas as pd

from workflow_src.captures.capture import NOTES, OPERATOR, Note
from workflow_src.captures.rows import rows_where
from workflow_src.common.nesting import NOWHERE
from workflow_src.placing.attributed import Attributed
from workflow_src.placing.placing import WHOLE


def summary(found: Attributed, step_counts: "pd.Series[int]") -> pd.DataFrame:
    """A row per process, also of those without device work, and one for all."""
    work = found.work[["process", "path", "duration_ns"]]
    # Operators of a CPU are on no device.
    on_devices = found.work.loc[found.work["kind"] != OPERATOR, ["process", "device", "stream"]]
    streams = on_devices.drop_duplicates()
    ranges = found.placed.ranges
    ranges = ranges[(ranges["name"] != WHOLE) | (ranges["thread"] != NOWHERE)]
    rows: list[dict[str, object]] = []
    for process in found.capture.processes:
        tables = (work, streams, ranges)
        its = (rows_where(each, (each["process"] == process).to_numpy()) for each in tables)
        main = found.placed.main_threads.get(process)
        rows.append({"process": str(process), "main_thread": main, **_totals(*its)})
        rows[-1]["steps"] = int(step_counts.get(process, 0))
    every = _totals(work, streams, ranges)
    rows.append({"process": "all", "main_thread": None, **every, "steps": step_counts.sum()})
    by = found.capture.recording
    about = {"profiler": by.profiler, "version": by.version}
    table = pd.DataFrame(rows).astype({"main_thread": "Int64"})
    steps_of = table.pop("steps")
    return table.assign(**about, steps=steps_of, steps_by=found.ranged.steps.rule.value)


def _totals(work: pd.DataFrame, streams: pd.DataFrame, ranges: pd.DataFrame) -> dict[str, int]:
    duration = work["duration_ns"].to_numpy()
    total_ns = int(duration.sum())
    placed_ns = int(duration.sum(where=(work["path"] != NOWHERE).to_numpy()))
    return {
        "ranges": len(ranges),
        "threads_with_ranges": len(ranges[["process", "thread"]].drop_duplicates()),
        "devices": int(streams["device"].nunique()),
        "streams": len(streams),
        "activities": len(work),
        "total_ns": total_ns,
        "placed_ns": placed_ns,
        "unplaced_ns": total_ns - placed_ns,
    }


def notes_table(notes: Sequence[Note]) -> pd.DataFrame:
    """A row per note, with what it means."""
    rows = [(note.code, note.count, note.about, NOTES[note.code]) for note in notes]
    return pd.DataFrame(rows, columns=["note", "count", "about", "meaning"])


def sentences(tables: dict[str, pd.DataFrame]) -> list[str]:
    """What the command prints: the totals, then a line per note."""
    every, paths = tables["summary"].iloc[-1], len(tables["paths"])
    lines = [
        f"{every['total_ns']} ns of device time in {every['activities']} activities: "
        f"{every['placed_ns']} ns in {paths} paths, {every['unplaced_ns']} ns in none"
    ]
    for _, note in tables["notes"].iterrows():
        about = f" ({note['about']})" if note["about"] else ""
        lines.append(f"{note['count']}{about}: {note['meaning']}")
    return lines
