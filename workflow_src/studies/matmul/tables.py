"""The tables of the matmul study's section."""

from collections.abc import Sequence

from markupsafe import Markup

from workflow_src.render.markdown import Column, markdown_table, number, percent, plain, whole
from workflow_src.studies.rows import TIME_COLUMNS
from workflow_src.studies.study import Row

PEAK_COLUMNS = (
    Column("precision", "precision"),
    Column("best, TFLOP/s", "tflops", number),
    Column("at n", "n", plain),
    Column("half of it from n", "half_from", plain),
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


def peaks(found: Sequence[Row]) -> Markup:
    """The best rate of each precision, beside the datasheet's where that is known."""
    known = any("datasheet" in peak for peak in found)
    head, tail = PEAK_COLUMNS[:3], PEAK_COLUMNS[3:]
    rows = [peak | {"ran": peak["ran"] or "nothing"} for peak in found]
    return markdown_table(rows, [*head, *(SHEET_COLUMNS if known else ()), *tail])


def sizes(measured: Sequence[Row], out_of_memory: Sequence[Row]) -> Markup:
    """Every size with its share of the precision's best rate."""
    best: dict[str, float] = {}
    for row in measured:
        best[row["precision"]] = max(row["tflops"], best.get(row["precision"], 0.0))
    rows = [row | {"of_best": row["tflops"] / best[row["precision"]]} for row in measured]
    return markdown_table([*rows, *out_of_memory], SIZE_COLUMNS)


def edge(rows: Sequence[Row]) -> Markup:
    """The sizes across a tile's edge."""
    return markdown_table(rows, EDGE_COLUMNS)


def divisors(classes: Sequence[Row]) -> Markup:
    """The rates by largest divisor."""
    return markdown_table(classes, DIVISOR_COLUMNS)
