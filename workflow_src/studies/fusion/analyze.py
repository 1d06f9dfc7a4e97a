"""Study: what it is worth to run many small operations as one kernel.

GeLU and softmax move each element once in and once out of memory if they are one kernel, and many
times if each operation is one. How near an implementation comes to the least time is its share of
the bandwidth of a plain copy of the same bytes, measured in the same process.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from workflow_src.plan.fingerprint import ROOT
from workflow_src.render.markdown import Column, markdown_table, number, percent, plain, whole
from workflow_src.studies.rows import filled
from workflow_src.studies.study import Point, Row

TITLE = "Operator fusion: GeLU and softmax, written out and as one kernel"

NAMES = {
    "copy": "copy",
    "written_out": "written out",
    "torch": "torch's own",
    "compiled": "torch.compile",
    "triton": "Triton",
    "cuda": "CUDA C++",
}
"""The implementations as the report calls them."""

IMPLEMENTATIONS = {
    "gelu": ("copy", "written_out", "torch", "compiled", "triton", "cuda"),
    "softmax": ("copy", "written_out", "torch", "triton"),
}
OPERATIONS = {"gelu": "GeLU", "softmax": "Softmax"}

LARGE = 2**26
"""From so many elements on, no cache holds the tensors, and the verdicts are given."""

NEAR_COPY = 0.90
NO_SLOWER_WITHIN = 0.02
"""Medians that differ by no more than this share count as equal."""

ELEMENTS = {"small": (2**18,), "full": tuple(2**k for k in (28, 26, 24, 22, 20))}
TOTALS = {"small": (2**18,), "full": (2**27, 2**26)}
COLUMNS = {"small": (128, 4096), "full": (128, 1024, 4096, 16384, 32768, 65536)}
DTYPES = {"small": ("float32",), "full": ("float32", "bfloat16")}
STEPS = {"small": 10, "full": 20}
CUDA_SOURCE = Path("workflow_src", "ops", "gelu.cu")


def points(device: str, scale: str) -> list[dict[str, Any]]:
    """A point per operation; shapes are [rows, columns], the largest first."""
    gelu = [[1, elements] for elements in ELEMENTS[scale]]
    softmax = [[total // columns, columns] for columns in COLUMNS[scale] for total in TOTALS[scale]]
    shapes = {"gelu": gelu, "softmax": softmax}
    common = {"dtypes": list(DTYPES[scale]), "warmup_steps": 3, "steps": STEPS[scale]}
    source = {"gelu": {"cuda_source": _digest(ROOT / CUDA_SOURCE)}, "softmax": {}}
    return [
        {"point": operation, "operation": operation, "implementations": list(implementations)}
        | {"shapes": shapes[operation]}
        | common
        | source[operation]
        for operation, implementations in IMPLEMENTATIONS.items()
    ]


def _digest(path: Path) -> str:
    """A short hash of a source that the code's fingerprint doesn't cover."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


def measure(point: Point) -> list[Row]:
    """A row per dtype, shape and implementation."""
    from workflow_src.studies.fusion.measure import measure_operation

    return measure_operation(point)


def measured(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows that were measured, copies left aside."""
    return [r for r in filled(table) if r["status"] == "ok" and r["implementation"] != "copy"]


def _shape(row: Row) -> tuple[str, str, int, int]:
    return row["operation"], row["dtype"], int(row["rows"]), int(row["columns"])


def _shape_name(row: Row) -> str:
    rows = f"{whole(row['rows'])} x " if row["operation"] == "softmax" else ""
    size = rows + (plain(row["columns"]) if rows else power(row["elements"]))
    return f"{size} {row['dtype']}"


def power(elements: float) -> str:
    """A number of elements, as a power of two where it is one: 2^20."""
    count = int(elements)
    return f"2^{count.bit_length() - 1}" if count & (count - 1) == 0 else whole(count)


def speedups(rows: Sequence[Row], slow: str, fast: str) -> list[float]:
    """How many times the median of `fast` goes into that of `slow`, at each shape of both."""
    times = {(_shape(row), row["implementation"]): row["median_ms"] for row in rows}
    shapes = [shape for shape, name in times if name == fast and (shape, slow) in times]
    return [times[shape, slow] / times[shape, fast] for shape in shapes]


def largest(rows: Sequence[Row]) -> list[Row]:
    """The rows with the most elements."""
    most = max((row["elements"] for row in rows), default=0)
    return [row for row in rows if row["elements"] == most]


def verdict(rows: Sequence[Row]) -> dict[str, Any]:
    """Which shapes of a Triton kernel fall short of the copy, and which of torch's own kernel.

    Only shapes of LARGE elements and more count.
    """
    large = [row for row in rows if row["elements"] >= LARGE]
    torchs = {_shape(row): row["median_ms"] for row in large if row["implementation"] == "torch"}
    tritons = [row for row in large if row["implementation"] == "triton"]
    shares = [row["share_of_copy"] for row in tritons if row["share_of_copy"] is not None]
    return {
        "shapes": len(tritons),
        "shares": shares,
        "short_of_copy": [
            f"{_shape_name(row)} ({percent(row['share_of_copy'])})"
            for row in tritons
            if row["share_of_copy"] is not None and row["share_of_copy"] < NEAR_COPY
        ],
        "slower": [
            f"{_shape_name(row)} ({number(row['median_ms'] / torchs[_shape(row)])} x)"
            for row in tritons
            if _shape(row) in torchs
            and row["median_ms"] > (1 + NO_SLOWER_WITHIN) * torchs[_shape(row)]
        ],
    }


def _of_operation(rows: Sequence[Row], skipped: Sequence[Row], operation: str) -> dict[str, Any]:
    mine = [row for row in rows if row["operation"] == operation]
    at_most = largest(mine)
    count = {row["implementation"]: row.get("kernels_launched") for row in at_most}
    by_reason: dict[str, list[str]] = {}
    for row in skipped:
        if row["operation"] == operation:
            found = by_reason.setdefault(row["reason"], [])
            found += [n for n in [NAMES[row["implementation"]]] if n not in found]
    return {
        "name": OPERATIONS[operation],
        "measured": len(mine),
        "most": power(at_most[0]["elements"]) if at_most else "",
        "written_out_kernels": count.get("written_out"),
        "fused_kernels": count.get("torch"),
        "speedup": speedups(at_most, "written_out", "torch"),
        "shares": {
            NAMES[name]: [r["share_of_copy"] for r in at_most if r["implementation"] == name]
            for name in IMPLEMENTATIONS[operation]
            if any(r["implementation"] == name and r["share_of_copy"] for r in at_most)
        },
        "triton": verdict(mine),
        "missing": {reason: ", ".join(found) for reason, found in by_reason.items()},
    }


def summarize(table: pd.DataFrame) -> dict[str, Any]:
    """Per operation: what fusion is worth, how near the copy it comes, what is missing."""
    rows = measured(table)
    missing = [row for row in filled(table) if row["status"] != "ok"]
    return {
        "operations": [_of_operation(rows, missing, operation) for operation in IMPLEMENTATIONS],
        "large": power(LARGE),
        "near_copy": NEAR_COPY,
        "no_slower_within": NO_SLOWER_WITHIN,
    }


def _times(rows: Sequence[Row], operation: str) -> Markup:
    """A line per shape: the median of each implementation and its share of the copy."""
    lines: dict[Any, dict[str, Any]] = {}
    for row in rows:
        if row["operation"] != operation:
            continue
        start = dict(row) | {"reason": "", "size": power(row["elements"])}
        lines.setdefault(_shape(row), start)[row["implementation"]] = _time(row)
    columns = [Column("dtype", "dtype"), Column("elements", "size")]
    if operation == "softmax":
        columns += [Column("rows", "rows", whole), Column("columns", "columns", plain)]
    for name in IMPLEMENTATIONS[operation]:
        columns.append(Column(f"{NAMES[name]}, ms", name))
    order = sorted(lines.values(), key=lambda r: (r["dtype"], r["columns"], r["elements"]))
    return markdown_table(order, columns)


def _time(row: Row) -> str:
    if row["status"] != "ok":
        return "OOM" if row["status"] == "oom" else "skipped"
    share = row["share_of_copy"]
    known = row["implementation"] != "copy" and share is not None
    return number(row["median_ms"]) + (f" ({percent(share)})" if known else "")


def _kinds(rows: Sequence[Row]) -> Markup:
    """A line per operation, implementation and dtype: what it launches and how exact it is."""
    found: dict[Any, dict[str, Any]] = {}
    for row in rows:
        if row["implementation"] == "copy" or row["status"] == "oom":
            continue
        start = dict(row) | {
            "called": OPERATIONS[row["operation"]],
            "name": NAMES[row["implementation"]],
            "reason": row["reason"] or "",
        }
        line = found.setdefault((row["operation"], row["implementation"], row["dtype"]), start)
        if row["status"] == "ok":
            line["relative_error"] = max(line["relative_error"], row["relative_error"])
    columns = [
        Column("operation", "called"),
        Column("implementation", "name"),
        Column("dtype", "dtype"),
        Column("largest relative error", "relative_error", scientific, "status"),
    ]
    if any(row.get("kernels_launched") for row in rows):
        columns.append(Column("launches", "kernels_launched", whole, "status"))
    return markdown_table(list(found.values()), columns)


def scientific(value: float) -> str:
    """A small number with two digits: 3.2e-08."""
    return f"{value:.1e}"


def tables(table: pd.DataFrame) -> dict[str, Markup]:
    """Times of each operation, and launches and errors of all implementations."""
    rows = filled(table)
    return {name: _times(rows, name) for name in IMPLEMENTATIONS} | {"kinds": _kinds(rows)}


def draw(table: pd.DataFrame, path: Path) -> None:
    """The rate of each implementation over elements (GeLU) and columns (softmax)."""
    from workflow_src.answers.figures import svg
    from workflow_src.studies.fusion.figure import figure

    rows = [row for row in filled(table) if row["status"] == "ok"]
    path.write_text(svg(lambda: figure(rows), "study_fusion"), encoding="utf-8")
