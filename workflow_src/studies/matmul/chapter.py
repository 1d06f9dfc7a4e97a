"""Study matmul: the rate of each product, and what sizes of unaligned rows lose."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import pandas as pd

from workflow_src.common.datasheets import peak_tflop_per_s
from workflow_src.paper.show import Headline
from workflow_src.paper.value import (
    Cell,
    Joined,
    Marked,
    Value,
    complement,
    computed,
    count,
    median,
    ratio,
)
from workflow_src.studies.lines import Line, number, ranged, shown, unmeasured
from workflow_src.studies.matmul.analyze import DIVISORS, divisor
from workflow_src.studies.matmul.points import PRECISIONS
from workflow_src.studies.matmul.products import (
    ITEM_BYTES,
    ROW_BYTES,
    Product,
    changes,
    measured,
    products,
)
from workflow_src.studies.study_chapter import StudyChapter

FINE = {"edge": "across", "past_edge": "just past"}
"""The sweeps around an edge of waves, in words."""


@dataclass(frozen=True)
class Alignment:
    """Rates (TFLOP/s) of the sizes near one another whose rows are a multiple of 16 bytes or not.

    sizes: the smallest and the largest n.
    aligned, unaligned: the medians, of the latter one for odd n and one for even; lost: by which
    share the median of all of the latter is lower; older, newer: the compute capabilities that the
    kernels of both are named after, if all of the unaligned are older than all of the others, else
    "".
    """

    precision: str
    sizes: tuple[int | None, int | None]
    aligned: Value | None
    unaligned: Cell
    lost: Value | None
    older: str
    newer: str


@dataclass(frozen=True)
class Matmul:
    """What the study found: `rates` has a row per size and a column per precision."""

    fastest: Product | None
    alignment: Alignment
    rates: pd.DataFrame
    best: pd.DataFrame
    sizes: pd.DataFrame
    divisors: pd.DataFrame
    edge: pd.DataFrame
    missing: pd.DataFrame


def result(table: pd.DataFrame, ceilings: pd.DataFrame) -> Matmul:
    """What the study's table says; it isn't held against the run's ceilings."""
    found = products(table)
    by_size, fine = measured(found, "sizes"), measured(found, "divisibility")
    by_divisor: dict[int, list[Product]] = {}
    for each in fine:
        by_divisor.setdefault(divisor(each.n or 1), []).append(each)
    return Matmul(
        fastest=max((each for each in found if each.n and each.rate), key=_rate, default=None),
        alignment=alignment(fine),
        rates=rates(found),
        best=shown([_best(mine) for mine in _by_precision(by_size)]),
        sizes=shown([_size(each, mine) for mine in _by_precision(by_size) for each in mine]),
        divisors=shown([_divisor(n, mine) for n in DIVISORS if (mine := by_divisor.get(n))]),
        edge=shown([row for sweep in FINE for row in _edge(measured(found, sweep))]),
        missing=unmeasured((each.line for each in found), _name),
    )


def _rate(product: Product) -> float:
    return number(product.rate)


def _by_precision(found: Sequence[Product]) -> list[list[Product]]:
    every = [[each for each in found if each.precision == name] for name in PRECISIONS]
    return [mine for mine in every if mine]


def alignment(fine: Sequence[Product]) -> Alignment:
    """What the sizes of the sweep by divisor lose whose rows aren't aligned."""
    sides = {side: [each for each in fine if each.aligned == side] for side in (True, False)}
    aligned, others = (median(each.rate for each in mine) for mine in sides.values())
    older, newer = _named_after(sides[False]), _named_after(sides[True])
    told = bool(older and newer) and max(older) < min(newer)
    return Alignment(
        precision=fine[0].precision if fine else "",
        sizes=(fine[0].n, fine[-1].n) if fine else (None, None),
        aligned=aligned,
        unaligned=_odd_and_even(sides[False]),
        lost=complement(ratio(others, aligned, "share", "unaligned / aligned")),
        older=_capabilities(older) if told else "",
        newer=_capabilities(newer) if told else "",
    )


def _odd_and_even(found: Sequence[Product]) -> Cell:
    """The median rates: "124 (n odd) or 188 (n even)"; libraries have kernels for each."""
    rates = {
        words: median(each.rate for each in found if (each.n or 0) % 2 == rest)
        for words, rest in ((" (n odd)", 1), (" (n even)", 0))
    }
    told = tuple(Marked(rate, words) for words, rate in rates.items() if rate)
    return Joined(told, by=" or ") if told else None


def _named_after(found: Sequence[Product]) -> list[int]:
    """The compute capabilities in the names of all kernels; none unless all names tell."""
    told = {each.built_for for each in found}
    return sorted(each for each in told if each) if None not in told else []


def _capabilities(found: Sequence[int]) -> str:
    return ", ".join(f"sm{each}" for each in found)


def rates(found: Sequence[Product]) -> pd.DataFrame:
    """Rates by size, with their marks, or why there is none; a skipped precision has no sizes."""
    mine = [each for each in found if each.sweep == "sizes"]
    names = dict.fromkeys(each.precision for each in mine)
    cells: dict[int, dict[str, Cell]] = {}
    for each in mine:
        if each.n:
            state = None if each.line.ok else each.line.state
            cells.setdefault(each.n, {})[each.precision] = each.marked or state
    skipped = {each.precision: each.line.state for each in mine if not each.n}
    return shown(
        [{"n": n} | {name: cells[n].get(name, skipped.get(name)) for name in names}
         for n in sorted(cells)]
    )  # fmt: skip


def _best(mine: Sequence[Product]) -> dict[str, Cell]:
    """The best rate of a precision; half of it: from the n on from which no rate is below that."""
    best = max(mine, key=_rate)
    slow = [each.n or 0 for each in mine if _rate(each) < _rate(best) / 2]
    fast = [each.n or 0 for each in mine if (each.n or 0) > max(slow, default=0)]
    sheet = peak_tflop_per_s(best.line.text("gpu"), best.precision)
    share = best.rate and sheet and computed(_rate(best) / sheet, "share", "of it", best.rate)
    return {
        "precision": best.precision,
        "best, TFLOP/s": best.rate,
        "at n": best.n,
        "half of it from n": min(fast, default=None),
        "datasheet, TFLOP/s": sheet,
        "of datasheet": share or None,
        "kernel's name says": best.line.text("ran") or None,
        "kernel": best.kernel or None,
    }


def _size(product: Product, mine: Sequence[Product]) -> dict[str, Cell]:
    """A product in the table of all sizes; `mine`: those of its precision."""
    best = max(mine, key=_rate).rate
    return {
        "precision": product.precision,
        "n": product.n,
        "median, ms (20th to 80th percentile)": product.line.times,
        "TFLOP/s": product.marked,
        "of best": ratio(product.rate, best, "share", "rate / the precision's best"),
        "device time, ms": product.busy_ms,
        "name says": product.line.text("ran") or None,
        "kernel": product.kernel or None,
    }


DIVIDES = f"largest of {', '.join(map(str, sorted(DIVISORS)))} that divides n"


def _divisor(largest: int, mine: Sequence[Product]) -> dict[str, Cell]:
    found, after = [each.rate for each in mine if each.rate], _named_after(mine)
    tiles = {each.covered[0] for each in mine}
    return {
        DIVIDES: largest,
        "sizes": count(found),
        "median, TFLOP/s (least to most)": ranged(found),
        "kernels named after": _capabilities(after) or None,
        "tiles": tiles.pop() if len(tiles) == 1 else None,
        "kernels": Joined(tuple(sorted({each.kernel for each in mine} - {""})), ", "),
    }


def _edge(mine: list[Product]) -> list[dict[str, Cell]]:
    return [
        {
            "sweep": FINE[each.sweep],
            "n": each.n,
            "TFLOP/s": each.rate,
            "against the one before": change,
            "tile": each.line.text("tile") or None,
            "tiles": each.covered[0],
            "waves": each.covered[1],
            "kernel": each.kernel or None,
        }
        for each, change in zip(mine, changes(mine), strict=True)
    ]


def _name(line: Line) -> str:
    n = line.whole("n")
    about = f"{line.text('precision')} {line.text('sweep').replace('_', ' ')}"
    return f"{about}, n = {n}" if n else about


DROP = 0.05
"""A rate that is lower by at least this share counts as lower: equal products differ by as much."""


FASTEST = "The fastest product ({precision}, n = {n}) reaches {rate} TFLOP/s."
MEDIANS = FASTEST + (
    " In {fine} (n from {from} to {to}), medians are {aligned} TFLOP/s where {multiple} divides n, "
    "and {unaligned}"
)


class Verdict(StrEnum):
    """The verdicts, each with its sentences."""

    OLDER_KERNELS = MEDIANS + " elsewhere, by older GPUs' kernels ({older}, not {newer})."
    SLOWER = MEDIANS + " elsewhere."
    NOT_SLOWER = MEDIANS + " elsewhere, which is less than 5 % below."
    RATES = FASTEST + " What an awkward size costs can't be told."
    CANT_TELL = "No product was measured."


def headline(result: Matmul) -> Headline:
    """The verdict on a result, with its numbers."""
    verdict, best, rows = _verdict(result), result.fastest, result.alignment
    slots = {
        "rate": best.between if best else None,
        "precision": best.precision if best else None,
        "n": best.n if best else None,
        "fine": rows.precision,
        "from": rows.sizes[0],
        "to": rows.sizes[1],
        "multiple": ROW_BYTES // ITEM_BYTES[rows.precision] if rows.precision else None,
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


CHAPTER = StudyChapter(
    "Matrix multiplication: rate over size, and the cost of awkward sizes",
    "How fast are square matrix products, and what does an awkward size cost?",
    result,
    headline,
)
