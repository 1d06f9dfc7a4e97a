"""The tables of the matmul study."""

from collections.abc import Sequence

import pandas as pd
from markupsafe import Markup

from workflow_src.render.markdown import (
    DASH,
    STATE_WORDS,
    Column,
    markdown_table,
    number,
    percent,
    plain,
    whole,
)
from workflow_src.studies.matmul.analyze import peaks, sweep
from workflow_src.studies.matmul.points import PRECISIONS
from workflow_src.studies.matmul.remarks import marks
from workflow_src.studies.matmul.verdicts import divisor_classes
from workflow_src.studies.rows import TIME_COLUMNS
from workflow_src.studies.study import Row

PEAK_COLUMNS = (
    Column("precision", "precision"),
    Column("best, TFLOP/s", "tflops", number),
    Column("at n", "n", plain),
    Column("kernel's name says", "ran"),
    Column("kernel", "kernel"),
)
SHEET_COLUMNS = (
    Column("datasheet, TFLOP/s", "datasheet", number),
    Column("of datasheet", "of_datasheet", percent),
)
SIZE_COLUMNS = (
    Column("precision", "precision"),
    Column("n", "n", plain),
    *TIME_COLUMNS,
    Column("TFLOP/s", "tflops", number, "status"),
    Column("of best", "of_best", percent, "status"),
    Column("busy, ms", "busy_ms", number, "status"),
    Column("kernel", "kernel", str, "status"),
)
EDGE_COLUMNS = (
    Column("n", "n", plain),
    Column("TFLOP/s", "tflops", number, "status"),
    Column("tile in its name", "tile", str, "untold"),
    Column("tiles", "tiles", plain, "untold"),
    Column("waves", "waves", plain, "untold"),
    Column("kernel", "kernel", str, "status"),
)
DIVISOR_COLUMNS = (
    Column("largest that divides n", "divisor", plain),
    Column("sizes", "sizes", whole),
    Column("median, TFLOP/s", "tflops", number),
    Column("least", "least", number),
    Column("most", "most", number),
    Column("kernels", "kernels", ", ".join),
)


def tables(table: pd.DataFrame) -> dict[str, Markup]:
    """Peaks, all sizes, the sizes across the edge, and the divisors."""
    rows = sweep(table, "sizes")
    classes = divisor_classes(sweep(table, "divisibility"))
    return {
        "rates": _rates_table(rows, sweep(table, "sizes", "oom")),
        "peaks": _peaks_table(peaks(rows)),
        "sizes": _sizes_table(rows, sweep(table, "sizes", "oom")),
        "edge": _edge_table(sweep(table, "edge")),
        "past_edge": _edge_table(sweep(table, "past_edge")),
        "divisors": markdown_table(classes, DIVISOR_COLUMNS),
    }


def _rates_table(measured: Sequence[Row], out_of_memory: Sequence[Row]) -> Markup:
    """TFLOP/s by size and precision, marked where launching limits it or samples are unsteady."""
    lines: dict[int, dict[str, str]] = {}
    for row in [*measured, *out_of_memory]:
        mark = marks(row) if row["status"] == "ok" else ""
        text = number(row["tflops"]) if row["status"] == "ok" else STATE_WORDS["oom"]
        line = lines.setdefault(int(row["n"]), {"n": plain(row["n"])})
        line[row["precision"]] = text + (f" ({mark})" if mark else "")
    names = [name for name in PRECISIONS if any(name in line for line in lines.values())]
    rows = [dict.fromkeys(names, DASH) | lines[n] for n in sorted(lines)]
    return markdown_table(rows, [Column("n", "n"), *(Column(name, name) for name in names)])


def _peaks_table(found: Sequence[Row]) -> Markup:
    """The best rate of each precision, next to the datasheet's if that is known."""
    known = any("datasheet" in peak for peak in found)
    head, tail = PEAK_COLUMNS[:3], PEAK_COLUMNS[3:]
    rows = [peak | {"ran": peak["ran"] or "nothing", "half": _half(peak)} for peak in found]
    # Numbers are right-aligned, a column that also holds text is left-aligned.
    text = str if any(peak["half_from"] is None for peak in found) else plain
    half = Column("half of it from n", "half", text)
    return markdown_table(rows, [*head, *(SHEET_COLUMNS if known else ()), half, *tail])


def _half(peak: Row) -> str:
    return "no n tried" if peak["half_from"] is None else plain(peak["half_from"])


def _edge_table(measured: Sequence[Row]) -> Markup:
    """The sizes of a sweep, with dashes where the kernel's name tells no tile."""
    return markdown_table([row | {"untold": "none"} for row in measured], EDGE_COLUMNS)


def _sizes_table(measured: Sequence[Row], out_of_memory: Sequence[Row]) -> Markup:
    """Every size with its share of the precision's best rate."""
    best: dict[str, float] = {}
    for row in measured:
        best[row["precision"]] = max(row["tflops"], best.get(row["precision"], 0.0))
    rows = [row | {"of_best": row["tflops"] / best[row["precision"]]} for row in measured]
    return markdown_table([*rows, *out_of_memory], SIZE_COLUMNS)
