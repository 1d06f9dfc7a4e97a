"""Study: how a plain MLP's time grows with its sizes, and where launching stops to bound it.

One step is zero_grad, forward, mean squared error, backward and SGD, on a fixed batch.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from workflow_src.render.markdown import Column, limit, markdown_table, number, percent, plain
from workflow_src.studies.mlp.sizes import BASE, Sizes
from workflow_src.studies.rows import filled
from workflow_src.studies.study import Point, Row

TITLE = "MLP scaling: the time expected by formula and the time measured"

POWERS = {"steps": 1, "layers": 1, "batch": 1, "dim": 2}
"""The power of each size in the FLOPs: 2 batch dim^2 a layer and product, `steps` times."""

AS_EXPECTED_WITHIN = 0.25
"""A measured ratio that differs from the expected one by no more than this share fits it."""

LAUNCH_BOUND_BELOW = 0.8
"""A step whose device is busy for less than this share of its time is bound by launching."""

DIMS = {"cpu": (64, 128, 256, 512, 1024), "cuda": (128, 256, 512, 1024, 2048, 4096, 8192)}
WIDTHS = {"small": 512, "full": 2048}
REPEATS = {"cpu": 7, "cuda": 30}
WARMUP = 3
OPERATORS_SHOWN = 6


def points(device: str, scale: str) -> list[dict[str, Any]]:
    """One point: all is small, and a process takes longer to start than most of it to run."""
    return [
        {
            "point": "mlp",
            "dims": list(DIMS[device]),
            "width": WIDTHS[scale],
            "repeats": REPEATS[device],
            "warmup_steps": WARMUP,
        }
    ]


def measure(point: Point) -> list[Row]:
    """Rows of three parts: scaling, sweep (over dim) and operators."""
    from workflow_src.studies.mlp.measure import operators, scaling, sweep

    return [*scaling(point), *sweep(point), *operators(point)]


def expected_ratio(sizes: Sizes) -> float:
    """FLOPs at `sizes` over those of the base: linear in steps, layers, batch; dim squared."""
    ratio = 1.0
    for axis, power in POWERS.items():
        ratio *= (sizes[axis] / BASE[axis]) ** power
    return ratio


def part(table: pd.DataFrame, name: str) -> list[dict[str, Any]]:
    """The rows of one part of the table."""
    return [row for row in filled(table) if row["part"] == name]


def ratios(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Scaling rows with expected and measured ratio of medians to the base, its p20 and p80.

    The base's own row is among them.
    """
    rows = part(table, "scaling")
    base = next((r.get("median_ms") for r in rows if r["axis"] == "base"), None)
    for row in rows:
        row["expected"] = expected_ratio({axis: row[axis] for axis in BASE})
        if base and row["status"] == "ok":
            row["measured"] = row["median_ms"] / base
            row["low"], row["high"] = row["p20_ms"] / base, row["p80_ms"] / base
            row["against"] = row["measured"] / row["expected"]
    return rows


def busy_from(rows: Sequence[Mapping[str, Any]]) -> int | None:
    """The least dim from which on the device is busy enough up to the greatest; None if none."""
    least = None
    for row in sorted(rows, key=lambda row: -row["dim"]):
        if row["busy_share"] < LAUNCH_BOUND_BELOW:
            break
        least = int(row["dim"])
    return least


def verdict(against: float) -> str:
    """Whether a measured ratio fits the expected one, given measured / expected."""
    if against < 1 - AS_EXPECTED_WITHIN:
        return "below"
    return "above" if against > 1 + AS_EXPECTED_WITHIN else "fits"


def summarize(table: pd.DataFrame) -> dict[str, Any]:
    """How each size's ratios stand to the formula, and from which dim on the device is busy."""
    rows, swept = ratios(table), _measured(part(table, "sweep"))
    axes = [_axis_summary(rows, axis) for axis in BASE]
    return {
        "base": BASE,
        "axes": [axis for axis in axes if axis["measured"]],
        "on_cpu": "cpu" in set(table["device"]),
        "dims": sorted(int(row["dim"]) for row in swept),
        "shares": [row["busy_share"] for row in sorted(swept, key=lambda row: row["dim"])],
        "busy_from": busy_from(swept),
        "base_share": next((r["busy_share"] for r in swept if r["dim"] == BASE["dim"]), None),
        "threshold": LAUNCH_BOUND_BELOW,
        "tops": _tops(part(table, "operators")),
    }


def _measured(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row["status"] == "ok"]


def _axis_summary(rows: Sequence[Mapping[str, Any]], axis: str) -> dict[str, Any]:
    mine = [row for row in rows if row["axis"] == axis and "measured" in row]
    verdicts = [verdict(row["against"]) for row in mine]
    words = {
        "fits": f"lies within {limit(AS_EXPECTED_WITHIN)} of the formula",
        "below": "stays further below it",
        "above": "rises further above it",
    }
    return {
        "axis": axis,
        "factors": [row["factor"] for row in mine],
        "measured": [row["measured"] for row in mine],
        "expected": [row["expected"] for row in mine],
        "verdicts": {text: verdicts.count(key) for key, text in words.items()},
    }


def _tops(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The row with the greatest share of each operation."""
    found: dict[str, Mapping[str, Any]] = {}
    for row in _measured([dict(row) for row in rows]):
        best = found.setdefault(row["operation"], row)
        if row["share"] > best["share"]:
            found[row["operation"]] = row
    return list(found.values())


def tables(table: pd.DataFrame) -> dict[str, Markup]:
    """Tables of the scaling, of the sweep over dim, and of the operators of each operation."""
    return {
        "scaling": _scaling_table(table),
        "sweep": _sweep_table(table),
        "operators": _operators_table(table),
    }


def _scaling_table(table: pd.DataFrame) -> Markup:
    columns = [Column(name, name, plain) for name in BASE]
    columns += [
        Column("scaled", "axis"),
        Column("by", "factor", plain),
        Column("median, ms", "median_ms", number, "status"),
        Column("expected ratio", "expected", number),
        Column("measured ratio", "measured", number, "status"),
        Column("its p20", "low", number, "status"),
        Column("its p80", "high", number, "status"),
        Column("measured / expected", "against", number, "status"),
    ]
    return markdown_table(ratios(table), columns)


def _sweep_table(table: pd.DataFrame) -> Markup:
    columns = [
        Column("dim", "dim", plain),
        Column("step, median ms", "median_ms", number, "status"),
        Column("p20, ms", "p20_ms", number, "status"),
        Column("p80, ms", "p80_ms", number, "status"),
        Column("busy, ms", "busy_ms", number, "status"),
        Column("busy / step", "busy_share", percent, "status"),
    ]
    return markdown_table(part(table, "sweep"), columns)


def _operators_table(table: pd.DataFrame) -> Markup:
    """The operators that take most of each operation, OPERATORS_SHOWN of each at most."""
    rows = sorted(part(table, "operators"), key=lambda row: -(row["share"] or 0))
    shown: dict[str, list[dict[str, Any]]] = {name: [] for name in operations(table)}
    for row in rows:
        if len(shown[row["operation"]]) < OPERATORS_SHOWN:
            shown[row["operation"]].append(row)
    columns = [
        Column("operation", "operation"),
        Column("unprofiled median, ms", "median_ms", number, "status"),
        Column("operator", "operator", str, "status"),
        Column("kernel", "kernel", str, "status"),
        Column("family", "family", str, "status"),
        Column("calls", "calls", plain, "status"),
        Column("device time, ms", "device_ms", number, "status"),
        Column("share", "share", percent, "status"),
    ]
    if "cpu" in set(table["device"]):
        columns = [column for column in columns if column.heading != "kernel"]
    return markdown_table([row for mine in shown.values() for row in mine], columns)


def operations(table: pd.DataFrame) -> list[str]:
    """The profiled operations, in the table's order."""
    return list(dict.fromkeys(row["operation"] for row in part(table, "operators")))


def draw(table: pd.DataFrame, path: Path) -> None:
    """Measured against expected ratios, and the device's busy share over dim."""
    from workflow_src.answers.figures import svg
    from workflow_src.studies.mlp.figure import figure

    scaling = [row for row in ratios(table) if "measured" in row and row["axis"] != "base"]
    swept = sorted(_measured(part(table, "sweep")), key=lambda row: row["dim"])
    path.write_text(svg(lambda: figure(scaling, swept), "study_mlp"), encoding="utf-8")
