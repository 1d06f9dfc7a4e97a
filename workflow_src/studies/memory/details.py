"""The long tables of the study memory: what records tell of a step, and what one block saves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from workflow_src.common.components import COMPONENTS
from workflow_src.paper.value import Cell, Joined, ratio
from workflow_src.studies.lines import Line, gib, grouped, shown

KINDS = {
    "parameters": "parameters",
    "state": "optimizer state",
    "gradients": "gradients",
    "activations": "activations",
    "temporaries": "temporaries",
}
"""What memory is held for, in words."""

RECORD = ("size", "context", "precision", "phase")
"""What a record is of."""

SIZES = {"stream": "forward", "gradients": "train_step"}
"""In which phase a size is looked for."""

Of = Mapping[str, Sequence[Line]]
"""Lines by what they measure."""


@dataclass(frozen=True)
class Recorded:
    """What records of allocations tell.

    stages: a row per record, its peak; allocations: the largest ones; sizes: a stream's and a
    block's gradients', derived and found.
    """

    stages: pd.DataFrame
    allocations: pd.DataFrame
    sizes: pd.DataFrame


@dataclass(frozen=True)
class Block:
    """What one block saves: in total, its largest tensors, and against the course's handout."""

    totals: pd.DataFrame
    contributors: pd.DataFrame
    handout: pd.DataFrame


def recorded(of: Of, every: Sequence[Line]) -> Recorded:
    """The tables of what was recorded."""
    sizes = [line for line in every if line.text("phase") == SIZES.get(line.text("measurement"))]
    return Recorded(
        stages=shown([_stage(mine) for mine in grouped(of.get("segment", ()), *RECORD)]),
        allocations=shown([_allocation(line) for line in of.get("allocation", ())]),
        sizes=shown([_size(line) for line in sizes]),
    )


def block(of: Of) -> Block:
    """The tables of what a block saves."""
    return Block(
        totals=shown([_block(line) for line in of.get("block_saves", ())]),
        contributors=shown([_contributor(line) for line in of.get("saved_tensor", ())]),
        handout=shown([_handout(line) for line in of.get("handout", ())]),
    )


def _stage(mine: Sequence[Line]) -> dict[str, Cell]:
    """Where the peak of a record is, and what memory is held for then."""
    top = max(mine, key=lambda line: line.amount("active_mib"))
    total = top.value("active_mib", "MiB")
    held: dict[str, Cell] = {
        words: ratio(top.value(f"{kind}_mib", "MiB"), total, "share", f"{kind} / active")
        for kind, words in KINDS.items()
    }
    where = [top.text(key).replace("_", " ") for key in ("step", "part", "block")]
    return {
        "size": top.text("size"),
        "context": top.whole("context"),
        "precision": top.text("precision"),
        "recorded": "forward pass" if top.text("phase") == "forward" else "two training steps",
        "peak, GiB": gib(top, "active_mib"),
        "at": ", ".join(filter(None, [*where, _component(top)])),
        **held,
    }


def _component(line: Line) -> str:
    found = line.text("component")
    return COMPONENTS[found].name if found in COMPONENTS else found


def _allocation(line: Line) -> dict[str, Cell]:
    return {
        "size": line.text("size"),
        "context": line.whole("context"),
        "recorded": line.phase,
        "MiB each": line.value("mib", "MiB"),
        "in a step": line.value("calls", "count"),
        "in": ", ".join(filter(None, (line.text("part"), _component(line)))),
        "line of code": line.text("line") or None,
        "kind": KINDS.get(line.text("kind"), line.text("kind")),
    }


def _size(line: Line) -> dict[str, Cell]:
    """A size that follows from the model's shape, and what was found of it."""
    of_stream = line.text("measurement") == "stream"
    least, most = line.value("least_mib", "precise"), line.value("most_mib", "precise")
    return {
        "size": line.text("size"),
        "context": line.whole("context"),
        "what": "one residual stream" if of_stream else "gradients of a block",
        "derived, MiB": line.value("predicted_mib", "precise"),
        "allocations of that size" if of_stream else "blocks": line.value("calls", "count"),
        "least and most found, MiB": None if of_stream else Joined((least, most), by=" to "),
    }


def _block(line: Line) -> dict[str, Cell]:
    return {
        **_which(line),
        "saved, derived, MiB": line.value("predicted_mib", "precise"),
        "by hooks": line.value("saved_mib", "precise") or line.state,
        "by the allocator": line.value("allocated_mib", "precise"),
        "gradients, derived, MiB": line.value("gradients_predicted_mib", "precise"),
        "gradients": line.value("gradients_mib", "precise"),
    }


def _which(line: Line) -> dict[str, Cell]:
    """Which block a line is of."""
    return {
        "size": line.text("size"),
        "heads": line.whole("heads"),
        "precision": line.text("precision"),
        "run": "compiled" if line.true("compiled") else "operation by operation",
    }


def _contributor(line: Line) -> dict[str, Cell]:
    return {
        **_which(line),
        "tensor": line.text("name") or None,
        "shape": line.text("shape"),
        "type": line.text("dtype"),
        "line of code": line.text("line") or None,
        "MiB": line.value("mib", "precise"),
        "share": line.value("share", "share"),
    }


def _handout(line: Line) -> dict[str, Cell]:
    return {
        "saved by": line.text("name"),
        "printed, MiB": line.value("printed_mib", "hundredths"),
        "derived, MiB": line.value("predicted_mib", "hundredths"),
    }
