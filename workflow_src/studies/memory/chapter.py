"""Study memory: peaks against their prediction, where they are, and what a block saves."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import pandas as pd

from workflow_src.common.components import COMPONENTS
from workflow_src.common.words import PHASES
from workflow_src.paper.show import Headline
from workflow_src.paper.value import Cell, Joined, Value, ratio
from workflow_src.studies.lines import (
    Line,
    absolute,
    change,
    gib,
    grouped,
    lines,
    out_of,
    shown,
    spread,
    unmeasured,
)

TITLE = "Memory: what is held when, by what, and what fits"
QUESTION = "How much memory does a training step take at its peak, where, and for what?"

KINDS = {
    "parameters": "parameters",
    "state": "optimizer state",
    "gradients": "gradients",
    "activations": "activations",
    "temporaries": "temporaries",
}
"""What memory is held for, in words."""

PARTS = {"forward": "forward", "loss": "loss", "backward": "backward", "optimizer": "optimizer"}


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


NEAR_LIMIT = 0.25
"""A step is near the limit if it is predicted to take what there is, within this share."""


@dataclass(frozen=True)
class Peaks:
    """Peaks beside their predictions: by size, context and precision; of steps near the limit.

    asked: each by what was asked for, handed out and reserved; batch: of every step.
    """

    batch: Cell
    table: pd.DataFrame
    near: pd.DataFrame
    asked: pd.DataFrame


@dataclass(frozen=True)
class Memory:
    """What the study found.

    off: by how much predicted peaks are off, without sign; fits: how many predictions of what fits
    are right, of all; on_cpu: whether anything was measured without an allocator.
    """

    off: tuple[Value, ...]
    fits: Cell
    peaks: Peaks
    recorded: Recorded
    block: Block
    missing: pd.DataFrame
    on_cpu: bool


def result(table: pd.DataFrame, ceilings: pd.DataFrame) -> Memory:
    """What the study's table says."""
    every = lines(table, "memory")
    peaks = _of(every, "peak")
    off = [change(line.value("predicted_peak_mib", "MiB"), _peak(line)) for line in peaks]
    foretold = [line for line in peaks if line.text("fits_predicted") and _known(line)]
    right = [line for line in foretold if line.ok == (line.text("fits_predicted") == "yes")]
    return Memory(
        off=tuple(absolute(value) for value in off if value),
        fits=out_of(_predictions(right), _predictions(foretold)),
        peaks=_peaks(peaks),
        recorded=Recorded(
            stages=shown([_stage(mine) for mine in grouped(_of(every, "segment"), *RECORD)]),
            allocations=shown([_allocation(line) for line in _of(every, "allocation")]),
            sizes=shown([_size(line) for line in _sizes(every)]),
        ),
        block=Block(
            totals=shown([_block(line) for line in _of(every, "block_saves")]),
            contributors=shown([_contributor(line) for line in _of(every, "saved_tensor")]),
            handout=shown([_handout(line) for line in _of(every, "handout")]),
        ),
        missing=unmeasured([line for line in every if line.text("measurement") in MISSED], _name),
        on_cpu=any(not line.text("gpu") for line in every),
    )


RECORD = ("size", "context", "precision", "phase")
"""What a record is of."""

MISSED = ("peak", "block_saves")


def _of(every: Sequence[Line], measurement: str) -> list[Line]:
    return [line for line in every if line.text("measurement") == measurement]


def _peak(line: Line) -> Value | None:
    return line.value("peak_mib", "MiB") if line.ok else None


def _known(line: Line) -> bool:
    """Whether it is known if a phase fits: it ran, or ran out of memory."""
    return line.ok or line.text("status") == "oom"


def _predictions(found: Sequence[Line]) -> list[Value]:
    values = [line.value("predicted_peak_mib", "MiB") for line in found]
    return [value for value in values if value]


def _peaks(peaks: Sequence[Line]) -> Peaks:
    cases = grouped(peaks, "size", "context", "precision")
    near = [mine for mine in cases if any(map(_is_near, mine))]
    return Peaks(
        batch=spread(line.value("batch", "count") for line in peaks),
        table=shown([_row(mine) for mine in cases if mine not in near]),
        near=shown([_limit(line) for mine in near for line in mine if _is_near(line)]),
        asked=shown([_asked(line) for line in peaks if line.has("requested_mib")]),
    )


def _is_near(line: Line) -> bool:
    share = _of_free(line)
    return share is not None and abs(share.number - 1) <= NEAR_LIMIT


def _of_free(line: Line) -> Value | None:
    """The predicted peak over what the device had free."""
    free = line.value("available_mib", "MiB")
    return ratio(line.value("predicted_peak_mib", "MiB"), free, "share", "predicted / free")


def _of_case(line: Line) -> dict[str, Cell]:
    return {
        "size": line.text("size"),
        "context": line.whole("context"),
        "precision": line.text("precision"),
    }


def _phase_name(line: Line) -> str:
    return PHASES.get(line.text("phase"), line.text("phase"))


def _of_phase(line: Line) -> dict[str, Cell]:
    return _of_case(line) | {"phase": _phase_name(line)}


def _limit(line: Line) -> dict[str, Cell]:
    """A phase that nearly fills the device."""
    return _of_phase(line) | {
        "predicted, GiB": gib(line, "predicted_peak_mib"),
        "of what is free": _of_free(line),
        "peak, GiB": gib(line, "peak_mib") if line.ok else line.state,
        "reserved for it": gib(line, "reserved_mib"),
    }


def _row(mine: Sequence[Line]) -> dict[str, Cell]:
    """A size at a context in a precision: measured and predicted peaks of its phases."""
    row = _of_case(mine[0])
    for line in mine:
        name = _phase_name(line)
        row[f"{name}, GiB"] = gib(line, "peak_mib") if line.ok else line.state
        row[f"{name}, predicted"] = gib(line, "predicted_peak_mib")
    return row


def _asked(line: Line) -> dict[str, Cell]:
    """A peak in MiB: predicted, asked for, handed out in blocks, and reserved for those."""
    return _of_phase(line) | {
        "predicted, MiB": line.value("predicted_peak_mib", "hundredths"),
        "asked for": line.value("requested_mib", "hundredths"),
        "handed out": line.value("peak_mib", "hundredths"),
        "reserved of the device": line.value("reserved_mib", "hundredths"),
    }


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
    part = line.text("part")
    return {
        "size": line.text("size"),
        "context": line.whole("context"),
        "recorded": PHASES.get(line.text("phase"), line.text("phase")),
        "MiB each": line.value("mib", "MiB"),
        "in a step": line.value("calls", "count"),
        "in": ", ".join(filter(None, (PARTS.get(part, part), _component(line)))),
        "line of code": line.text("line") or None,
        "kind": KINDS.get(line.text("kind"), line.text("kind")),
    }


def _sizes(every: Sequence[Line]) -> list[Line]:
    known = {"stream": "forward", "gradients": "train_step"}
    return [line for line in every if line.text("phase") == known.get(line.text("measurement"))]


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


def _name(line: Line) -> str:
    told = ("size", "context", "precision", "heads", "phase")
    found = [line.text(column).removesuffix(".0").replace("_", " ") for column in told]
    return " ".join(filter(None, found))


class Verdict(StrEnum):
    """The verdicts, each with its sentence."""

    BOTH = (
        "Predicted peak memory is off by at most {off}; of predictions whether a phase fits in "
        "the device's memory, {fits} are right."
    )
    PEAKS = "Predicted peak memory is off by at most {off}."
    FITS = "Of predictions whether a phase fits in the device's memory, {fits} are right."
    CANT_TELL = "That can't be told: no peak was measured."


def headline(result: Memory) -> Headline:
    """The verdict on a result, with its numbers."""
    verdict = _verdict(result)
    return Headline(verdict, verdict.value, {"off": _most(result.off), "fits": result.fits})


def _most(off: tuple[Value, ...]) -> Value | None:
    return max(off, key=lambda value: value.number, default=None)


def _verdict(result: Memory) -> Verdict:
    if result.off:
        return Verdict.BOTH if result.fits else Verdict.PEAKS
    return Verdict.FITS if result.fits else Verdict.CANT_TELL
