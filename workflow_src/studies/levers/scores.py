"""How sure the predictions of the levers study were, and how near."""

import statistics
from collections.abc import Sequence
from typing import Any

import pandas as pd

from workflow_src.common.thresholds import LAUNCH_BOUND_BELOW
from workflow_src.studies.levers.analyze import by_case, misses, plain_of, steps
from workflow_src.studies.study import Row

WIDTH_AIM = 0.2
"""An interval says enough if it is at most this wide, as a share of the plain step."""


def summarize(table: pd.DataFrame) -> dict[str, Any]:
    """Values for the template: predictions inside their intervals, and how wide these are."""
    rows = steps(table)
    judged = [row for row in rows if row.get("verdict")]
    cases = by_case(table)
    widths = [each for name, mine in cases.items() for each in _widths(name, mine)]
    spans = [span for mine in cases.values() for span in _spans(mine)]
    return {
        "judged": judged,
        "unpredicted": {r["case"]: r["unpredicted"] for r in rows if r.get("unpredicted")},
        "inside": [row for row in judged if row["verdict"] == "inside"],
        "misses": misses(table),
        "width_aim": WIDTH_AIM,
        "width": statistics.median(spans) if spans else None,
        "widths": widths,
        "bottomless": [row for row in judged if row["predicted_low"] == 0],
        "device": device(judged),
    }


def _spans(rows: Sequence[Row]) -> list[float]:
    """How wide the interval of each judged step is, as a share of the plain one."""
    judged = [row for row in rows if row.get("verdict")]
    return [(row["predicted_high"] - row["predicted_low"]) / row["plain_ms"] for row in judged]


def _widths(name: str, rows: Sequence[Row]) -> list[Row]:
    """What is said of a case's intervals; nothing if none was judged.

    working_share: the device's share of the plain step, where launching bounds it.
    """
    spans = _spans(rows)
    if not spans:
        return []
    found: Row = {"case": name, "width": statistics.median(spans)}
    plain = plain_of(rows)
    if plain.get("device") == "cuda" and plain.get("device_ms") and plain.get("median_ms"):
        share = plain["device_ms"] / plain["median_ms"]
        if share < LAUNCH_BOUND_BELOW:
            found |= {"working_share": share}
            found |= {key: plain[key] for key in ("median_ms", "p20_ms", "p80_ms")}
    return [found]


def device(judged: Sequence[Row]) -> Row:
    """How far predicted device time is off, relative to measured: the median, and the worst."""
    rows = [
        row | {"off": row["predicted_device_ms"] / row["device_ms"] - 1}
        for row in judged
        if row.get("device_ms") and row.get("predicted_device_ms") is not None
    ]
    if not rows:
        return {}
    worst = max(rows, key=lambda row: abs(row["off"]))
    return {"median": statistics.median(abs(row["off"]) for row in rows), "worst": worst}
