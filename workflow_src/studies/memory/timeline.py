"""Active memory over a recorded step: what lives by kind, where in the step, and where it peaks."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workflow_src.common.units import MIB, NS_PER_MS
from workflow_src.studies.study import Row

KINDS = ("parameters", "state", "gradients", "activations", "temporaries")
"""What memory is held for: parameters with the model's buffers and the batch, the optimizer's
state, gradients, what the forward pass left for the backward pass, and all else."""

LARGEST = 8
"""How many kinds of allocations of a record are told."""

Mark = Sequence[Any]
"""Events so far, the clock (ns), the path; see measure.py."""


class Place(NamedTuple):
    """Where a step is: "step 2", "backward", "block 3", and the innermost range in there."""

    step: str
    part: str
    block: str
    component: str


def place(path: str) -> Place:
    """The place that a mark's path names."""
    step, part, block, *inner = [*path.split("/"), "", ""][: max(3, path.count("/") + 1)]
    return Place(step, part, block, inner[-1] if inner else "")


def kinds(record: Row) -> list[str]:
    """The kind of each allocation of a record.

    Activations are what a step allocated before its backward pass began and freed after that.
    """
    forwards = _forward_passes(record["marks"])
    found = []
    for _, start, end, _, kind in record["allocations"]:
        backward = next((last for first, last in forwards if first <= start < last), None)
        saved = backward is not None and (end is None or end > backward)
        found.append(kind or ("activations" if saved else "temporaries"))
    return found


def _forward_passes(marks: Sequence[Mark]) -> list[tuple[int, int]]:
    """The events between which each step is before its backward pass."""
    begins = {path.split("/")[0]: event for event, _, path in reversed(marks)}
    return [
        (begins[path.split("/")[0]], event)
        for event, _, path in marks
        if path.endswith("/backward")
    ]


def live(record: Row) -> NDArray[np.int64]:
    """Bytes of each of KINDS after each event: (kinds, events + 1)."""
    events = max((mark[0] for mark in record["marks"]), default=0)
    events = max([events, *(max(each[1], each[2] or 0) for each in record["allocations"])])
    changes = np.zeros((len(KINDS), events + 2), dtype=np.int64)
    changes[0, 0] = record["there_bytes"]
    for (size, start, end, *_), kind in zip(record["allocations"], kinds(record), strict=True):
        changes[KINDS.index(kind), start + 1] += size
        if end is not None:
            changes[KINDS.index(kind), end + 1] -= size
    return np.cumsum(changes, axis=1)


def spans(record: Row) -> Iterator[tuple[Place, int, int, int, int]]:
    """Each stretch of a record in one place: the place, its first and last event and clock (ns)."""
    for (first, begin, path), (last, end, _) in pairwise(record["marks"]):
        yield place(path), first, last, begin, end


def segments(record: Row) -> list[Row]:
    """A row per stretch of each step: its time, and memory by kind at its peak (MiB).

    `component`: where in it the peak is. What lies between parts, or is without any allocation,
    belongs to the stretch before.
    """
    active = live(record)
    total = active.sum(axis=0)
    origin = record["marks"][0][1]
    found: list[Row] = []
    for here, first, last, begin, end in spans(record):
        moment = first + int(total[first : last + 1].argmax())
        times = {"start_ms": _ms(begin - origin), "end_ms": _ms(end - origin)}
        held = zip(KINDS, active[:, moment], strict=True)
        row: Row = here._asdict() | times | {"active_mib": _mib(total[moment])}
        row |= {f"{kind}_mib": _mib(size) for kind, size in held}
        same = bool(found) and all(found[-1][key] == row[key] for key in ("step", "part", "block"))
        if found and (same or first == last or not here.part):
            found[-1] = _joined(found[-1], row)
        elif here.part and first < last:
            found.append(row)
    return found


def _ms(ns: int) -> float:
    return round(ns / NS_PER_MS, 3)


def _mib(size: float) -> float:
    return round(float(size) / MIB, 3)


def _joined(before: Row, after: Row) -> Row:
    """One row for two stretches: at the place of the first, with the memory of the higher peak."""
    higher = before if before["active_mib"] >= after["active_mib"] else after
    memory = {key: cell for key, cell in higher.items() if key.endswith("_mib")}
    return before | memory | {"component": higher["component"], "end_ms": after["end_ms"]}


def places(record: Row) -> list[Place]:
    """Where a step is when each allocation of a record begins."""
    every = list(spans(record))
    firsts = [first for _, first, *_ in every]
    return [every[bisect_right(firsts, each[1]) - 1][0] for each in record["allocations"]]


def largest_allocations(record: Row) -> list[Row]:
    """The largest allocations of a record's last step, those alike together.

    Alike are those of one size, kind, part, component and line. Gradients and state are left out:
    they are as large as their parameters.
    """
    # The last mark ends the record, outside of any step.
    last = place(record["marks"][-2][2]).step
    found: Counter[tuple[int, str, str, str, str]] = Counter()
    every = zip(record["allocations"], kinds(record), places(record), strict=True)
    for (size, _, _, line, _), kind, here in every:
        if here.step == last and kind in ("activations", "temporaries"):
            found[size, here.part, here.component, record["lines"][line], kind] += 1
    ranked = sorted(found.items(), key=lambda item: -item[0][0])[:LARGEST]
    return [
        {
            "mib": size / MIB,
            "part": part,
            "component": name,
            "line": line,
            "kind": kind,
            "calls": calls,
        }
        for (size, part, name, line, kind), calls in ranked
    ]


def gradient_bytes(record: Row) -> dict[str, int]:
    """Bytes of gradients that the first step's backward pass made in each block."""
    found: Counter[str] = Counter()
    for (size, *_, kind), here in zip(record["allocations"], places(record), strict=True):
        if kind == "gradients" and here.step == "step 1" and here.block.startswith("block"):
            found[here.block] += size
    return dict(found)
