"""Analyzes the MLP study: ratios to the base, the device's busy share, operators' shares."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from workflow_src.common.thresholds import LAUNCH_BOUND_BELOW
from workflow_src.common.units import NS_PER_MS
from workflow_src.render.markdown import limit
from workflow_src.studies import join_points
from workflow_src.studies.mlp.points import BASE, Sizes
from workflow_src.studies.mlp.reading import (
    base_of,
    faster_than_base,
    growth,
    per_flop,
    readable,
    unseen_work,
)
from workflow_src.studies.rows import busy_ns, filled
from workflow_src.studies.study import Point, Row

POWERS = {"steps": 1, "layers": 1, "batch": 1, "dim": 2}
"""The power of each size in the FLOPs: 2 batch dim^2 per layer and product, `steps` times."""

AS_EXPECTED_WITHIN = 0.25
"""A measured ratio that differs from the expected one by at most this share fits it."""


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """Scaling rows unchanged, sweep rows with busy time, a row per operator and kernel."""
    return [made for row in rows for made in _derived(row)]


def _derived(row: Row) -> list[Row]:
    if row["status"] != "ok" or row["part"] == "scaling":
        return [row]
    if row["part"] == "sweep":
        busy_ms = busy_ns(row["activities"]) / NS_PER_MS
        return [row | {"busy_ms": busy_ms, "busy_share": busy_ms / row["median_ms"]}]
    return [row | found for found in _by_operator(row["activities"])]


def _by_operator(activities: list[Row]) -> list[Row]:
    """Calls, device time and share of each operator and kernel."""
    total = busy_ns(activities)
    keys = {"operator": "operator", "kernel": "short_name", "family": "family"}
    found: dict[tuple[str, ...], Row] = {}
    for activity in activities:
        named = {key: activity[source] or "(none)" for key, source in keys.items()}
        row = found.setdefault(tuple(named.values()), named | {"calls": 0, "device_ms": 0.0})
        row["calls"] += activity["calls"]
        row["device_ms"] += activity["busy_ns"] / NS_PER_MS
    return [row | {"share": row["device_ms"] * NS_PER_MS / total} for row in found.values()]


def expected_ratio(sizes: Sizes) -> float:
    """FLOPs at `sizes` over those of the base: linear in steps, layers, batch; quadratic in dim."""
    ratio = 1.0
    for axis, power in POWERS.items():
        ratio *= (sizes[axis] / BASE[axis]) ** power
    return ratio


def part(table: pd.DataFrame, name: str) -> list[dict[str, Any]]:
    """The rows of one part of the table."""
    return [row for row in filled(table) if row["part"] == name]


def ratios(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Scaling rows with the expected and measured ratio to the base's median, and p20 and p80.

    Includes the row of the base itself.
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
    """The smallest dim from which on the device is busy enough at all dims; None if none is."""
    least = None
    for row in sorted(rows, key=lambda row: -row["dim"]):
        if row["busy_share"] < LAUNCH_BOUND_BELOW:
            break
        least = int(row["dim"])
    return least


def verdict(against: float) -> str:
    """Whether a ratio "fits", or is "below" or "above" the expected one; by measured / expected."""
    if against < 1 - AS_EXPECTED_WITHIN:
        return "below"
    return "above" if against > 1 + AS_EXPECTED_WITHIN else "fits"


def summarize(table: pd.DataFrame) -> dict[str, Any]:
    """Values for the template: ratios against the formula, and where the device is busy."""
    rows, found = ratios(table), measured(part(table, "sweep"))
    swept = sorted(per_flop(found), key=lambda row: int(row["dim"]))
    axes = [_axis_summary(rows, axis) for axis in BASE]
    scaled = [row for row in rows if "measured" in row and row["axis"] != "base"]
    grown = [growth(*pair) for pair in (swept[-2:], swept[:2]) if len(swept) > 1]
    on_cpu = "cpu" in set(table["device"])
    base_share = next((r["busy_share"] for r in swept if r["dim"] == BASE["dim"]), None)
    return {
        "base": BASE,
        "base_row": base_of(rows),
        "readable": readable(base_share, on_cpu),
        "faster": faster_than_base(rows),
        "unseen": unseen_work(rows),
        "scaled": len(scaled),
        "axes": [axis for axis in axes if axis["measured"]],
        "on_cpu": on_cpu,
        "dims": [int(row["dim"]) for row in swept],
        "growth": grown,
        "narrow_kernels": verdict(grown[1]["busy"] / grown[1]["flops"]) if grown else "",
        "width": width_answer(swept),
        "fits": [row["axis"] for row in scaled if verdict(row["against"]) == "fits"],
        "fits_within": AS_EXPECTED_WITHIN,
        "shares": [row["busy_share"] for row in swept],
        "busy_from": busy_from(swept),
        "base_share": base_share,
        "threshold": LAUNCH_BOUND_BELOW,
        "tops": _tops(part(table, "operators")),
    }


def width_answer(swept: Sequence[Mapping[str, Any]]) -> str:
    """Whether a step's time follows the FLOPs between the two largest dims, in order of dim.

    A `verdict` where the device is busy enough at both; "largest" if it is at the largest dim
    alone, "never" if at none.
    """
    least = busy_from(swept)
    if least is None:
        return "never"
    if least == swept[-1]["dim"]:
        return "largest"
    found = growth(*swept[-2:])
    return verdict(found["step"] / found["flops"])


def measured(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that have numbers."""
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
    """For each operation, the row with the largest share."""
    found: dict[str, Mapping[str, Any]] = {}
    for row in measured([dict(row) for row in rows]):
        best = found.setdefault(row["operation"], row)
        if row["share"] > best["share"]:
            found[row["operation"]] = row
    return list(found.values())


if __name__ == "__main__":
    join_points.main(derive)
