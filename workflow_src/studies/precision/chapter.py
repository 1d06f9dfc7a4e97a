"""What a 16-bit type costs in accuracy, and what autocast gains in time."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import pandas as pd

from workflow_src.paper.show import Headline
from workflow_src.paper.value import Cell, Joined, Marked, count
from workflow_src.studies.lines import Line, conditions, lines, out_of, shown, unmeasured, where
from workflow_src.studies.precision.pairs import MEASUREMENTS, SCORES, Pair, pairs
from workflow_src.studies.study_chapter import StudyChapter

SAME_WITHIN = 0.02
"""A speed-up that differs from 1 by at most this is neither a gain nor a loss."""

ALIKE, WAITS = " (=)", " °"
"""Stand behind a speed-up that is neither a gain nor a loss, and behind one that isn't decided."""


@dataclass(frozen=True)
class Compared:
    """Comparisons of a model under autocast with full precision.

    decided: those in which the device works for enough of the step; undecided: the others.
    """

    decided: tuple[Pair, ...]
    undecided: tuple[Pair, ...]

    @property
    def best(self) -> Pair | None:
        """The one that gains most."""
        return max(self.decided, key=lambda pair: pair.speedup.number, default=None)

    @property
    def gained(self) -> list[Pair]:
        """Those that gain over SAME_WITHIN, with samples that don't overlap."""
        return [each for each in self.decided if not _alike(each) and each.speedup.number > 1]

    @property
    def lost(self) -> list[Pair]:
        """Those that lose as much."""
        return [each for each in self.decided if not _alike(each) and each not in self.gained]

    @property
    def gains(self) -> Cell:
        """How many gain of how many, by full precision: "than fp32 in 6 of 10"."""
        cells = []
        for against in dict.fromkeys(pair.against for pair in self.decided):
            gain, every = (
                [pair.speedup for pair in mine if pair.against == against]
                for mine in (self.gained, self.decided)
            )
            cells.append(Joined((f"than {against} in", out_of(gain, every)), by=" "))
        return Joined(tuple(cells), by=", ")


@dataclass(frozen=True)
class Precision:
    """What the study found.

    `conditions`: what a step is. `speedups` has a row per size, `sums` one per way to add, `norms`
    per LayerNorm, `types` per tensor, `times` per timing.
    """

    compared: Compared
    conditions: Cell
    speedups: pd.DataFrame
    sums: pd.DataFrame
    norms: pd.DataFrame
    types: pd.DataFrame
    times: pd.DataFrame
    unmeasured: pd.DataFrame


def result(table: pd.DataFrame, ceilings: pd.DataFrame) -> Precision:
    """What the study's table says."""
    every = lines(table, "precision")
    ran, speed = where(every, status="ok"), where(every, part="speed")
    found = pairs(speed)
    models = [pair for pair in found if pair.measurement != SCORES]
    waiting = tuple(pair for pair in models if pair.waits)
    return Precision(
        compared=Compared(tuple(pair for pair in models if not pair.waits), waiting),
        conditions=conditions(
            [line for pair in models for line in (pair.full, pair.autocast)],
            {"context": "context", "batch": "batch", "samples": "steps timed"},
        ),
        speedups=speedups(models),
        sums=shown([_sum(line) for line in where(ran, part="accumulation")]),
        norms=shown([_norm(line) for line in where(ran, part="layer_norm")]),
        types=shown([_type(line) for line in where(ran, part="dtypes")]),
        times=shown([_time(line, found) for line in speed]),
        unmeasured=unmeasured(every, _name),
    )


def _alike(pair: Pair) -> bool:
    """Whether the times differ by no more than SAME_WITHIN, or than their samples do."""
    return not pair.apart or 1 - SAME_WITHIN <= pair.speedup.number <= 1 + SAME_WITHIN


def _mark(pair: Pair) -> str:
    if pair.waits:
        return WAITS
    return ALIKE if _alike(pair) else ""


def speedups(models: Sequence[Pair]) -> pd.DataFrame:
    """A row per size: autocast's speed-up over each precision, and how much of its step is work."""
    against = dict.fromkeys(pair.against for pair in models)
    rows = []
    for size in dict.fromkeys(pair.size for pair in models):
        row: dict[str, Cell] = {"size": size}
        for measurement, words in MEASUREMENTS.items():
            mine = [p for p in models if (p.size, p.measurement) == (size, measurement)]
            known = {p.against: Marked(p.printed, _mark(p)) for p in mine}
            row |= {f"{words}: over {precision}": known.get(precision) for precision in against}
            row[f"{words}: device works"] = mine[0].busy if mine else None
        rows.append(row)
    return shown(rows)


def _sum(line: Line) -> dict[str, Cell]:
    return {
        "0.01 added 1000 times": line.text("variant"),
        "sum": line.value("value", "sum"),
        "error": line.value("error", "error"),
        "of it, from 0.01 as stored": line.value("representation_error", "error"),
        "from rounding the sum": line.value("rounding_error", "error"),
        "spacing at the sum": line.value("spacing", "error"),
    }


def _norm(line: Line) -> dict[str, Cell]:
    return {
        "input in": line.text("variant"),
        "its standard deviation": line.value("deviation", ""),
        "mean and variance in": line.text("statistics"),
        "largest error of the output": line.value("largest_error", "error"),
        "error of storing the output in the input's type": line.value("stored_error", "error"),
        "variance": line.text("variance"),
    }


def _type(line: Line) -> dict[str, Cell]:
    return {
        "tensor": line.text("tensor"),
        "under fp16 autocast": line.text("autocast_fp16") or None,
        "under bf16 autocast": line.text("autocast_bf16") or None,
    }


def _time(line: Line, found: Sequence[Pair]) -> dict[str, Cell]:
    key = tuple(line.text(column) for column in ("size", "measurement", "precision"))
    mine = [p.printed for p in found if (p.size, p.measurement, p.against) == key]
    return {
        "size": key[0],
        "measured": MEASUREMENTS.get(key[1], key[1]),
        "precision": key[2],
        "median, ms": line.times if line.ok else line.state,
        "bf16's speed-up over it": mine[0] if mine else None,
        "device time / step": line.value("busy_share", "share"),
        "copies": line.value("copies", "count"),
        "their share of device time": line.value("copy_share", "share"),
    }


def _name(line: Line) -> str:
    measured = MEASUREMENTS.get(line.text("measurement"), "")
    known = (line.text("size"), measured, line.text("precision"), line.text("variant"))
    return ", ".join(filter(None, known)) or line.text("part")


class Verdict(StrEnum):
    """The verdicts, each with its sentence."""

    GAINS = (
        "bf16 autocast is faster {gains} (one process each), at best {best} ({where}), slower in "
        "{lost}. Undecided, as the device isn't known to work for 90 %: {undecided}."
    )
    NO_GAIN = (
        "bf16 autocast saves no time: at best it is {best} as fast as full precision ({where}). "
        "Undecided, as the device isn't known to work for 90 %: {undecided}."
    )
    WAITS = (
        "That can't be told: in no step under bf16 autocast is the device known to work for 90 % "
        "of the time, and where it waits, speed-ups are the host's."
    )
    CANT_TELL = (
        "No model was timed both in full precision and under bf16 autocast, so what that saves "
        "can't be told."
    )


def headline(result: Precision) -> Headline:
    """The verdict on a result, with its numbers."""
    found, verdict = result.compared, _verdict(result.compared)
    slots = {
        "best": found.best and found.best.speedup,
        "where": found.best and found.best.name,
        "gains": found.gains,
        "lost": count(pair.speedup for pair in found.lost),
        "undecided": count(pair.speedup for pair in found.undecided),
    }
    return Headline(verdict, verdict.value, slots)


def _verdict(found: Compared) -> Verdict:
    if found.best is None:
        return Verdict.WAITS if found.undecided else Verdict.CANT_TELL
    return Verdict.GAINS if found.gained else Verdict.NO_GAIN


CHAPTER = StudyChapter(
    "Mixed precision: rounding, types and time",
    "What does a 16-bit type cost in accuracy, and what does it gain in time?",
    result,
    headline,
)
