"""The tables of the matmul study."""

from collections.abc import Sequence

import pandas as pd
from markupsafe import Markup

from workflow_src.render.markdown import Column, markdown_table, number, percent, plain, whole
from workflow_src.studies.matmul.analyze import divisor_classes, peaks, sweep
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
    Column("waves", "waves", plain),
    Column("TFLOP/s", "tflops", number, "status"),
    Column("tile in its name", "tile", str, "status"),
    Column("kernel", "kernel", str, "status"),
)
DIVISOR_COLUMNS = (
    Column("largest divisor", "divisor", plain),
    Column("sizes", "sizes", whole),
    Column("median, TFLOP/s", "tflops", number),
    Column("least", "least", number),
    Column("most", "most", number),
    Column("kernels", "kernels"),
)


def tables(table: pd.DataFrame) -> dict[str, Markup]:
    """Peaks, all sizes, the sizes across the edge, and the divisors."""
    rows = sweep(table, "sizes")
    classes = divisor_classes(sweep(table, "divisibility"))
    return {
        "peaks": _peaks_table(peaks(rows)),
        "sizes": _sizes_table(rows, sweep(table, "sizes", "oom")),
        "edge": markdown_table(sweep(table, "edge"), EDGE_COLUMNS),
        "divisors": markdown_table(classes, DIVISOR_COLUMNS),
    }


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


def _sizes_table(measured: Sequence[Row], out_of_memory: Sequence[Row]) -> Markup:
    """Every size with its share of the precision's best rate."""
    best: dict[str, float] = {}
    for row in measured:
        best[row["precision"]] = max(row["tflops"], best.get(row["precision"], 0.0))
    rows = [row | {"of_best": row["tflops"] / best[row["precision"]]} for row in measured]
    return markdown_table([*rows, *out_of_memory], SIZE_COLUMNS)
