"""Study matmul in two sentences: the best rate, and what an awkward size costs."""

from enum import StrEnum

from workflow_src.paper.show import Headline
from workflow_src.studies.matmul.result import Matmul

DROP = 0.05
"""A rate that is lower by at least this share counts as lower: equal products differ by as much."""


class Verdict(StrEnum):
    """The verdicts, each with its sentences."""

    OLDER_KERNELS = (
        "The fastest product reaches {rate} TFLOP/s ({precision}, n = {n}). In {fine}, sizes whose "
        "rows are no multiple of 16 bytes take kernels of older GPUs ({older} in place of {newer}) "
        "and reach a median of {unaligned} TFLOP/s, others {aligned}."
    )
    SLOWER = (
        "The fastest product reaches {rate} TFLOP/s ({precision}, n = {n}). In {fine}, sizes whose "
        "rows are no multiple of 16 bytes reach a median of {unaligned} TFLOP/s, others {aligned}."
    )
    NOT_SLOWER = (
        "The fastest product reaches {rate} TFLOP/s ({precision}, n = {n}). In {fine}, sizes whose "
        "rows are no multiple of 16 bytes lose less than 5 %: they reach a median of {unaligned} "
        "TFLOP/s, others {aligned}."
    )
    RATES = (
        "The fastest product reaches {rate} TFLOP/s ({precision}, n = {n}). What an awkward size "
        "costs can't be told."
    )
    CANT_TELL = "No product was measured."


def headline(result: Matmul) -> Headline:
    """The verdict on a result, with its numbers."""
    verdict, best, rows = _verdict(result), result.fastest, result.alignment
    slots = {
        "rate": best.rate if best else None,
        "precision": best.precision if best else None,
        "n": best.n if best else None,
        "fine": rows.precision,
        "aligned": rows.aligned,
        "unaligned": rows.unaligned,
        "older": rows.older,
        "newer": rows.newer,
    }
    return Headline(verdict, verdict.value, slots)


def _verdict(result: Matmul) -> Verdict:
    lost = result.alignment.lost
    if result.fastest is None:
        return Verdict.CANT_TELL
    if lost is None:
        return Verdict.RATES
    if lost.number < DROP:
        return Verdict.NOT_SLOWER
    return Verdict.OLDER_KERNELS if result.alignment.older else Verdict.SLOWER
