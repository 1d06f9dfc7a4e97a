"""Tabulates the study attention: work and memory by formula, beside what was measured."""

from workflow_src.common.traffic import ELEMENT_BYTES
from workflow_src.common.units import MIB, NS_PER_MS
from workflow_src.studies.attention.work import (
    Shape,
    exponentials,
    flops,
    kept_bytes,
    matrix_bytes,
    peak_bytes,
)
from workflow_src.studies.rows import busy_ns, calls
from workflow_src.studies.study import Point, Row

IDENTITY = ("sweep", "implementation", "precision", "batch", "heads", "head_size", "context")
"""The first columns, which say what a row is."""

CHECK = "check"
FLOAT32_ERROR = 2.0**-17
"""A relative error above this of inputs in float32 says that they were multiplied in TF32.

Half way, on a logarithmic scale, between the roundoffs of the two types: 2^-24 and 2^-11.
"""

NO_WORK = "bookkeeping"
"""The family of a CPU's views and allocations, which neither compute nor move data."""


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """The rows with `products_in`, the precision that a check's error tells, and predictions.

    Each row of sweep "time" has the FLOPs, exponentials and bytes of its phase, and the memory that
    formulas predict (work.py), whether it was measured or not; a profiled one how many kernels ran,
    and for how long.
    """
    errors = {_series(row): row.get("error_out") for row in rows if row["sweep"] == CHECK}
    made = []
    for row in rows:
        told = {"products_in": products(row["precision"], errors.get(_series(row)))}
        first = {name: row.get(name) for name in (*IDENTITY, "phase", "memory_mib")}
        made.append(first | row | told | ({} if row["sweep"] == CHECK else by_formula(row)))
        made[-1] |= worked(row)
    return made


def _series(row: Row) -> tuple[str, str, int]:
    return row["implementation"], row["precision"], row["head_size"]


def products(precision: str, error: float | None) -> str:
    """The precision of the products of float32 by the error of the output, or "".

    Rounding an output of 16 bits hides that of products: alone it is off by 0.0016 in bf16, as
    PyTorch's math backend is, which multiplies in float32.
    """
    if error is None or precision != "fp32":
        return ""
    return "tf32" if error > FLOAT32_ERROR else precision


def by_formula(row: Row) -> Row:
    """Work and memory of a row of sweep "time"; None where no formula is known.

    The peak of a backward pass is that of both.
    """
    names = ("batch", "heads", "context", "head_size")
    shape = Shape(**{name: row[name] for name in names}, size=ELEMENT_BYTES[row["precision"]])
    name, phase = row["implementation"], row["phase"]
    kept = kept_bytes(name, shape) if phase == "forward" else None
    peak = peak_bytes(name, "forward" if phase == "forward" else "forward_backward", shape)
    return {
        "flops": flops(shape, phase),
        "exponentials": exponentials(shape, phase),
        "matrix_bytes": matrix_bytes(name, phase, shape),
        "predicted_kept_mib": None if kept is None else kept / MIB,
        "predicted_peak_mib": None if peak is None else peak / MIB,
    }


def worked(row: Row) -> Row:
    """`kernels` (on a CPU: operators) of a profiled call and their `busy_ms`."""
    working = [each for each in row.get("activities", ()) if each["family"] != NO_WORK]
    if not working:
        return {}
    return {"kernels": calls(working), "busy_ms": busy_ns(working) / NS_PER_MS}
