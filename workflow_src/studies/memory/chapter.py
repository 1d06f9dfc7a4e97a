"""Study memory: peaks against their prediction, where they are, and what a block saves."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import pandas as pd

from workflow_src.common.thresholds import in_percent
from workflow_src.paper.show import Headline
from workflow_src.paper.value import Cell, Joined, Value, ratio
from workflow_src.studies.lines import (
    Line,
    gib,
    grouped,
    lines,
    most,
    shape,
    shown,
    spread,
    unmeasured,
)
from workflow_src.studies.memory.details import Block, Recorded, block, recorded
from workflow_src.studies.peaks import fits, off
from workflow_src.studies.study_chapter import StudyChapter

NEAR_LIMIT = 0.25
"""A step is near the limit if it is predicted to take what there is, within this share."""


@dataclass(frozen=True)
class Peaks:
    """Peaks beside their predictions: by size, context and precision; of steps near the limit.

    asked: each by what was asked for, handed out and reserved; batch: of every step; models: how
    large each size is.
    """

    batch: Cell
    models: Cell
    table: pd.DataFrame
    near: pd.DataFrame
    asked: pd.DataFrame


@dataclass(frozen=True)
class Memory:
    """What the study found.

    off: by how much predicted peaks are off, without sign; fits: how many predictions of what fits
    are right, of all; close: of those near the limit; on_cpu: whether anything was measured
    without an allocator.
    """

    off: tuple[Value, ...]
    fits: Cell
    close: Cell
    peaks: Peaks
    recorded: Recorded
    block: Block
    missing: pd.DataFrame
    on_cpu: bool


def result(table: pd.DataFrame, ceilings: pd.DataFrame) -> Memory:
    """What the study's table says."""
    every = lines(table, "memory")
    of = {mine[0].text("measurement"): mine for mine in grouped(every, "measurement")}
    peaks = of.get("peak", [])
    return Memory(
        off=off(peaks),
        fits=fits(peaks),
        close=fits(filter(_is_near, peaks)),
        peaks=_peaks(peaks),
        recorded=recorded(of, every),
        block=block(of),
        missing=unmeasured([*peaks, *of.get("block_saves", ())], _name),
        on_cpu=any(not line.text("gpu") for line in every),
    )


def _name(line: Line) -> str:
    """A line that wasn't measured, in words; only blocks of one size differ in their heads."""
    heads = ("heads",) if line.text("measurement") == "block_saves" else ()
    return line.named("size", "context", "precision", *heads, "phase")


def _peaks(peaks: Sequence[Line]) -> Peaks:
    cases = grouped(peaks, "size", "context", "precision")
    near = [mine for mine in cases if any(map(_is_near, mine))]
    return Peaks(
        batch=spread(line.value("batch", "count") for line in peaks),
        models=_models(peaks),
        table=shown([_row(mine) for mine in cases if mine not in near]),
        near=shown([_limit(line) for mine in near for line in mine if _is_near(line)]),
        asked=shown([_asked(line) for line in peaks if line.has("requested_mib")]),
    )


def _models(peaks: Sequence[Line]) -> Cell:
    """ "xl-2026: layers 32, d_model 2560, heads 32; small: ..."."""
    sizes = {mine[0].text("size"): shape(mine[0]) for mine in grouped(peaks, "size")}
    told = [Joined((size, Joined(tuple(of), by=", ")), by=": ") for size, of in sizes.items() if of]
    return Joined(tuple(told), by="; ") if told else None


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


def _of_phase(line: Line) -> dict[str, Cell]:
    return _of_case(line) | {"phase": line.phase}


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
        row[f"{line.phase}, GiB"] = gib(line, "peak_mib") if line.ok else line.state
        row[f"{line.phase}, predicted"] = gib(line, "predicted_peak_mib")
    return row


def _asked(line: Line) -> dict[str, Cell]:
    """A peak in MiB: predicted, asked for, handed out in blocks, and reserved for those."""
    return _of_phase(line) | {
        "predicted, MiB": line.value("predicted_peak_mib", "hundredths"),
        "asked for": line.value("requested_mib", "hundredths"),
        "handed out": line.value("peak_mib", "hundredths"),
        "reserved of the device": line.value("reserved_mib", "hundredths"),
    }


class Verdict(StrEnum):
    """The verdicts, each with its sentence."""

    CLOSE = (
        "Predicted peak memory is off by at most {off}. Whether a phase fits in the device's "
        "memory is predicted right in {fits}; of those predicted within "
        f"{in_percent(NEAR_LIMIT)} of what it has free (appendix), in {{close}}."
    )
    FAR = (
        "Predicted peak memory is off by at most {off}. Whether a phase fits in the device's "
        "memory is predicted right in {fits}, none of them predicted within "
        f"{in_percent(NEAR_LIMIT)} of what it has free."
    )
    PEAKS = "Predicted peak memory is off by at most {off}."
    FITS = "Whether a phase fits in the device's memory is predicted right in {fits}."
    CANT_TELL = "That can't be told: no peak was measured."


def headline(result: Memory) -> Headline:
    """The verdict on a result, with its numbers."""
    verdict = _verdict(result)
    slots = {"off": most(result.off), "fits": result.fits, "close": result.close}
    return Headline(verdict, verdict.value, slots)


def _verdict(result: Memory) -> Verdict:
    if result.off and result.fits:
        return Verdict.CLOSE if result.close else Verdict.FAR
    if result.off:
        return Verdict.PEAKS
    return Verdict.FITS if result.fits else Verdict.CANT_TELL


CHAPTER = StudyChapter(
    "Memory: what is held when, by what, and what fits",
    "How much memory does a training step take at its peak, where, and for what?",
    result,
    headline,
)
