"""How near passes come to what limits them: products, exponentials, or moving written-out scores.

At small heads the exponentials take longer than the products (Shah et al., FlashAttention-3, 2024,
arXiv:2407.08608).
"""

from collections.abc import Sequence

import pandas as pd

from workflow_src.common.units import FLOP_PER_TFLOP, MS_PER_S
from workflow_src.paper.value import Cell, Marked, Value, computed, ratio
from workflow_src.studies.attention.bounds import rate
from workflow_src.studies.flash.named import ONCE, PHASES, name, once
from workflow_src.studies.lines import Line, grouped, shown


def ceilings_table(timed: Sequence[Line], ceilings: Sequence[Line]) -> pd.DataFrame:
    """A row per precision, head size, implementation and phase at its longest context.

    TFLOP/s of the products that are needed, and the share of the time that the slowest ceiling of
    its work alone would take, with its name.
    """
    measured = [line for line in timed if line.ok and line.has("median_ms", "flops")]
    groups = grouped(measured, "precision", "head_size", "implementation", "phase")
    longest = [max(mine, key=lambda line: line.amount("context")) for mine in groups]
    shapes = grouped(longest, "precision", "head_size", "implementation")
    return shown([_row(mine, ceilings) for mine in shapes])


def _row(mine: Sequence[Line], ceilings: Sequence[Line]) -> dict[str, Cell]:
    first = mine[0]
    row: dict[str, Cell] = {"precision": first.text("precision")}
    row |= {"d": first.whole("head_size"), "attention": name(first)}
    by_phase = {line.text("phase"): line for line in mine}
    for phase in PHASES[:2]:
        line = by_phase.get(phase)
        row[f"{phase}, context"] = line and line.whole("context")
        row[f"{phase}, TFLOP/s"] = line and _marked(line)
        limit, share = limited(line, ceilings) if line else ("", None)
        row[f"{phase}, share"] = share
        row[f"of ({phase})"] = limit or None
    return row


def _marked(line: Line) -> Cell:
    rate = tflop_per_s(line)
    return Marked(rate, ONCE) if rate and once(line) else rate


def tflop_per_s(line: Line) -> Value | None:
    """The rate of the needed products."""
    flops, ms = line.value("flops", "flops"), line.value("median_ms", "ms")
    if not flops or not ms or not ms.number:
        return None
    made = flops.number / (ms.number / MS_PER_S) / FLOP_PER_TFLOP
    return computed(made, "TFLOP/s", "flops / median", flops, ms)


def limited(line: Line, ceilings: Sequence[Line]) -> tuple[str, Value | None]:
    """The ceiling at which the line's work takes longest, and the share of its time that that is.

    Of the written-out forward pass it is memory, through which its scores go; "" without a ceiling.
    """
    ms = line.value("median_ms", "ms")
    limits = _limits(line, ceilings).items()
    known = {limit: best for limit, each in limits if (best := at_ceiling(line, *each))}
    if not known or ms is None:
        return "", None
    limit = max(known, key=lambda limit: known[limit].number)
    return limit, ratio(known[limit], ms, "share", "at ceiling / median")


def _limits(line: Line, ceilings: Sequence[Line]) -> dict[str, tuple[str, float, Value | None]]:
    """By the name of a ceiling: the column of its work, the ceiling per ms, and its value."""
    if line.has("matrix_bytes"):
        return {"memory": ("matrix_bytes", 1e6, rate(ceilings, "bandwidth", "best_gb_per_s"))}
    precision = line.text("products_in") or line.text("precision")
    products = rate(ceilings, "compute", "best_tflop_per_s", precision)
    exponentials = rate(ceilings, "exponential", "best_giga_exp_per_s")
    return {
        f"{precision} products": ("flops", 1e9, products),
        "exponentials": ("exponentials", 1e6, exponentials),
    }


def at_ceiling(line: Line, column: str, per_ms: float, ceiling: Value | None) -> Value | None:
    """The ms of a line's work at a ceiling."""
    work = line.value(column, "")
    ms = work.number / (ceiling.number * per_ms) if work and ceiling and ceiling.number else None
    return computed(ms, "ms", f"{column} / ceiling", work, ceiling)
