"""Peaks against formulas, timelines, and what a block saves by name.

Formulas are evaluated here and not in measure, so that editing one makes no measurement stale.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

from workflow_src.common.case import Case
from workflow_src.common.units import MIB
from workflow_src.model.memory_formulas import peak_bytes
from workflow_src.model.saved_tensors import (
    SavedTensor,
    block_tensors,
    compiled_block_tensors,
    stream_bytes,
    total_bytes,
)
from workflow_src.studies.memory import timeline
from workflow_src.studies.models import case_of, dimensions
from workflow_src.studies.study import Point, Row

CONTRIBUTORS = 5
"""How many of the tensors that a block saves are told."""


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """Peaks and what came of the records of a model, or what a block saves."""
    made: list[Row] = []
    available = next((row["available_mib"] for row in rows if "available_mib" in row), None)
    for row in rows:
        if row["measurement"] == "peak":
            made.append(_peak(_case(point, row), row, available))
        if row["measurement"] == "record" and row["status"] == "ok":
            made += _record(_case(point, row), row)
        if row["measurement"] == "block_saves":
            made += _block(replace(_case(point, row), heads=row["heads"]), row, rows)
    return made


def _case(point: Point, row: Row) -> Case:
    return case_of({**point, "context": row["context"]}, row["size"], row["precision"])


def _peak(case: Case, row: Row, available_mib: float | None) -> Row:
    """A phase's peak and its prediction (MiB); whether it fits by that, where room is known."""
    predicted = peak_bytes(case, row["phase"]) / MIB
    known: Row = {"predicted_peak_mib": predicted, "available_mib": available_mib}
    if available_mib:
        known["fits_predicted"] = "yes" if predicted <= available_mib else "no"
    measured = {
        f"{name}_mib": row[f"{name}_bytes"] / MIB
        for name in ("peak", "reserved")
        if f"{name}_bytes" in row
    }
    return row | dimensions(case) | known | measured


def _record(case: Case, row: Row) -> list[Row]:
    """Rows of a recorded phase: segments, largest allocations, streams."""
    names = ("size", "context", "batch", "precision", "phase", "status", "reason")
    about = {name: row[name] for name in names}
    places = timeline.stretches(row)
    found = timeline.allocations(row, places)
    size = stream_bytes(case)
    like = {"predicted_mib": size / MIB, "calls": int((found["size"] == size).sum())}
    rows = {
        "segment": timeline.segments(places, timeline.live(row, places, found)),
        "allocation": timeline.largest_allocations(found, places["step"].iloc[-1]),
        "stream": [like],
    }
    return [about | {"measurement": name} | each for name, every in rows.items() for each in every]


def _block(case: Case, row: Row, rows: Sequence[Row]) -> list[Row]:
    """What a block saves, then its largest tensors, named."""
    tensors = compiled_block_tensors(case) if row["compiled"] else block_tensors(case)
    like = {name: row[name] for name in ("precision", "heads", "compiled")}
    like["measurement"] = "saved_tensor"
    mine = [each for each in rows if like.items() <= each.items()]
    saves = {"predicted_mib": total_bytes(tensors) / MIB}
    if row["status"] == "ok":
        saves["saved_mib"] = row["saved_bytes"] / MIB
    made = [row | saves]
    for rank, each in enumerate(_named(mine, tensors)[:CONTRIBUTORS], start=1):
        about = {"rank": rank, "mib": each["bytes"] / MIB}
        made.append(each | about | {"share": each["bytes"] / row["saved_bytes"]})
    return made


def _named(rows: Sequence[Row], tensors: Sequence[SavedTensor]) -> list[Row]:
    """Saved tensors, largest first, with the names of those derived, in order of saving. Without
    names where the derivation has another number of a size."""
    names: dict[int, list[str]] = defaultdict(list)
    for tensor in tensors:
        names[tensor.bytes].append(tensor.name)
    counts = Counter(row["bytes"] for row in rows)
    known = {size: iter(each) for size, each in names.items() if len(each) == counts[size]}
    return [
        row | ({"name": next(known[row["bytes"]])} if row["bytes"] in known else {}) for row in rows
    ]
