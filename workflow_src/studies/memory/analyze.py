"""Analyzes the memory study: peaks against formulas, timelines, and what a block saves by name.

Formulas are evaluated here and not in measure, so that editing one makes no measurement stale.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from workflow_src.common.case import Case
from workflow_src.common.units import MIB
from workflow_src.model.memory_formulas import peak_bytes
from workflow_src.model.saved_tensors import (
    SavedTensor,
    attention_tensors,
    compiled_block_tensors,
    feed_forward_tensors,
    stream_bytes,
    total_bytes,
)
from workflow_src.model.step_memory import block_gradient_bytes
from workflow_src.studies.memory.timeline import (
    gradient_bytes,
    largest_allocations,
    segments,
)
from workflow_src.studies.models import case_of, dimensions
from workflow_src.studies.rows import fits, without_bytes
from workflow_src.studies.study import Point, Row

CONTRIBUTORS = 5
"""How many of the tensors that a block saves are told."""


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """Peaks and what came of the records of a model, or what a block saves."""
    if point["measures"] == "block":
        return _blocks(point, rows)
    available = next((row["available_mib"] for row in rows if "available_mib" in row), None)
    made: list[Row] = []
    for row in rows:
        if row["measurement"] == "peak":
            made.append(_peak(_case(point, row), row, available))
        if row["measurement"] == "record" and row["status"] == "ok":
            made += _record(_case(point, row), row)
    return made


def _case(point: Point, row: Row) -> Case:
    return case_of({**point, "context": row["context"]}, row["size"], row["precision"])


def _peak(case: Case, row: Row, available_mib: float | None) -> Row:
    """A phase's peak and its prediction (MiB); fits: "yes" or "no" by that, where room is known."""
    predicted = peak_bytes(case, row["phase"]) / MIB
    known = {"predicted_peak_mib": predicted, "available_mib": available_mib}
    known |= fits(predicted, available_mib)
    measured = {
        f"{name}_mib": row[f"{name}_bytes"] / MIB
        for name in ("peak", "requested", "reserved")
        if f"{name}_bytes" in row
    }
    return without_bytes(row) | dimensions(case) | known | measured


def _record(case: Case, row: Row) -> list[Row]:
    """Rows of a recorded phase: segments, largest allocations, streams, and blocks' gradients."""
    names = ("size", "context", "batch", "precision", "phase", "status", "reason")
    about = {name: row[name] for name in names}
    made: list[Row] = [{"measurement": "segment"} | each for each in segments(row)]
    made += [
        {"measurement": "allocation", "rank": rank} | each
        for rank, each in enumerate(largest_allocations(row), start=1)
    ]
    size = stream_bytes(case)
    found = sum(each[0] == size for each in row["allocations"])
    made.append({"measurement": "stream", "predicted_mib": size / MIB, "calls": found})
    if blocks := gradient_bytes(row):
        ends = {"least_mib": min(blocks.values()) / MIB, "most_mib": max(blocks.values()) / MIB}
        deduced = {"predicted_mib": block_gradient_bytes(case) / MIB, "calls": len(blocks)}
        made.append({"measurement": "gradients"} | deduced | ends)
    return [about | each for each in made]


def _blocks(point: Point, rows: Sequence[Row]) -> list[Row]:
    """A row per block with what it saves, and one for each of its largest tensors, named."""
    made: list[Row] = []
    for row in rows:
        if row["measurement"] != "block_saves":
            continue
        case = replace(case_of(point, point["size"], row["precision"]), heads=row["heads"])
        tensors = _tensors(case, row["compiled"])
        mine = [each for each in rows if _same_block(each, row)]
        made.append(without_bytes(row) | _saves(case, row, tensors))
        ranked = _named(mine, tensors)[:CONTRIBUTORS]
        made += [
            {key: cell for key, cell in each.items() if key != "bytes"}
            | {
                "rank": rank,
                "mib": each["bytes"] / MIB,
                "share": each["bytes"] / row["saved_bytes"],
            }
            for rank, each in enumerate(ranked, start=1)
        ]
    return made


def _tensors(case: Case, compiled: bool) -> list[SavedTensor]:
    if compiled:
        return compiled_block_tensors(case)
    return [*attention_tensors(case), *feed_forward_tensors(case)]


def _same_block(tensor: Row, block: Row) -> bool:
    keys = ("precision", "heads", "compiled")
    alike = all(tensor[key] == block[key] for key in keys)
    return tensor["measurement"] == "saved_tensor" and alike


def _saves(case: Case, row: Row, tensors: Sequence[SavedTensor]) -> Row:
    """What a block saves by formula and by hooks (MiB), and how much the allocator's memory grew.

    Of what is saved, the block's input was there before; what is new besides is its output, as
    large as the input unless a copy of it is saved too. Gradients: deduced, and measured.
    """
    known = {
        "predicted_mib": total_bytes(tensors) / MIB,
        "gradients_predicted_mib": block_gradient_bytes(case) / MIB,
    }
    if row["status"] != "ok":
        return known
    grown = row["allocated_bytes"]
    output = 0 if row["output_saved"] else row["stream_bytes"]
    allocator = (
        {} if grown is None else {"allocated_mib": (grown + row["stream_bytes"] - output) / MIB}
    )
    saved = {"saved_mib": row["saved_bytes"] / MIB, "gradients_mib": row["gradient_bytes"] / MIB}
    return known | saved | allocator


def _named(rows: Sequence[Row], tensors: Sequence[SavedTensor]) -> list[Row]:
    """Saved tensors with the names of those derived, by size and in order of saving.

    Without names where the derivation has another number of a size.
    """
    derived: Mapping[int, list[SavedTensor]] = defaultdict(list)
    for tensor in tensors:
        derived[tensor.bytes].append(tensor)
    found: Mapping[int, list[Row]] = defaultdict(list)
    for row in rows:
        found[row["bytes"]].append(row)
    return [
        row | ({"name": names[place].name} if len(names) == len(alike) else {})
        for size, alike in found.items()
        for names in [derived[size]]
        for place, row in enumerate(alike)
    ]
