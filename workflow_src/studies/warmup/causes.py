"""Derives why first steps are slow: what the host did in them, and how long they took in trials."""

from collections.abc import Iterable, Sequence

from workflow_src.common.units import NS_PER_MS
from workflow_src.studies.study import Row
from workflow_src.studies.warmup.host_time import CATEGORIES, FIRST_LAUNCH, split
from workflow_src.studies.warmup.settled import settled_median

WHOLE = "whole"
PARTS = (WHOLE, *CATEGORIES)
"""The rows of a phase: the whole step, and each category of the host's time in it."""


def derive(rows: Iterable[Row]) -> list[Row]:
    """The table's rows: a row per phase and part of traced steps, and per process and phase.

    first_step_ms: of the first step; settled_ms: the median of the last half of the steps, of each
    part by itself; extra_ms: their difference. Rows without a measurement stay as they are.
    """
    traced: dict[str, list[Row]] = {}
    found = []
    for row in rows:
        if row["status"] != "ok":
            found.append(row)
        elif row["sweep"] == "traced":
            # Points measured before points kept the calls have a row per step, already split.
            for step in split(row) if "threads" in row else [row]:
                traced.setdefault(step["phase"], []).append(step)
        else:
            times = _times([ns / NS_PER_MS for ns in row["steps_ns"]])
            kept = {key: row[key] for key in row if key not in ("steps_ns", "build_ns")}
            found.append(kept | times | {"build_ms": row["build_ns"] / NS_PER_MS})
    return [part for steps in traced.values() for part in _parts(steps)] + found


def _times(steps: Sequence[float]) -> Row:
    settled = settled_median(steps)
    return {"first_step_ms": steps[0], "settled_ms": settled, "extra_ms": steps[0] - settled}


def _parts(steps: Sequence[Row]) -> list[Row]:
    """A row per part of a phase's steps, which are in order."""
    same = ("config", "size", "context", "batch", "sweep", "status", "reason", "phase")
    about = {key: steps[0][key] for key in same if key in steps[0]}
    found = []
    for part in PARTS:
        ns = [step["wall_ns"] if part == WHOLE else step["ns"][part] for step in steps]
        row = about | {"part": part} | _times([value / NS_PER_MS for value in ns])
        calls = [step["calls"].get(part) for step in steps]
        if calls[0] is not None:
            row |= {"first_calls": calls[0], "settled_calls": settled_median(calls)}
        kernels = {"kernels": steps[0]["kernels"]} if part == FIRST_LAUNCH else {}
        found.append(row | kernels)
    return found
