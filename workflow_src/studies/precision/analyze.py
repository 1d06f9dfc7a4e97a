"""Study: mixed precision. What is lost in rounding, which types run, and what time it saves."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from workflow_src.render.markdown import limit
from workflow_src.studies.precision.tables import accumulation_table, dtypes_table, speed_table
from workflow_src.studies.rows import filled
from workflow_src.studies.study import Point, Row

TITLE = "Mixed precision: rounding, types and time"

LAUNCH_BOUND_BELOW = 0.8
"""A step whose device is busy for less than this share of its time is bound by launching."""

SAME_WITHIN = 0.02
"""A speed-up that differs from 1 by no more than this is neither gain nor loss."""

LOSSES_SHOWN = 5

MEASUREMENTS = {
    "forward": "forward",
    "forward_backward": "forward + backward",
    "scores": "attention scores alone",
}
FULL = {"cpu": ("fp32",), "cuda": ("fp32", "tf32")}
AUTOCAST = "bf16"
GROUPS = {"small": (("tiny",),), "full": (("small", "medium", "large"), ("xl", "2.7B"))}
CONTEXTS = {"small": 128, "full": 512}
BATCH = 4
WARMUP_STEPS = 2
STEPS = {"forward": 6, "forward_backward": 6, "scores": 20}


def points(device: str, scale: str) -> list[dict[str, Any]]:
    """A point per group of sizes; the first also measures rounding and types."""
    return [
        {
            "point": "-".join(sizes),
            "sizes": list(sizes),
            "numerics": number == 0,
            "precisions": [*FULL[device], AUTOCAST],
            "context": CONTEXTS[scale],
            "batch": BATCH,
            "warmup_steps": WARMUP_STEPS,
            "steps": dict(STEPS),
        }
        for number, sizes in enumerate(GROUPS[scale])
    ]


def measure(point: Point) -> list[Row]:
    """Rows of up to three parts: accumulation, dtypes, speed."""
    from workflow_src.studies.precision.numerics import accumulation, dtypes
    from workflow_src.studies.precision.speed import speed

    numerics = [*accumulation(point["device"]), *dtypes(point["device"])]
    return [*(numerics if point["numerics"] else []), *speed(point)]


def part(table: pd.DataFrame, name: str) -> list[dict[str, Any]]:
    """The rows of one part of the table."""
    return [row for row in filled(table) if row["part"] == name]


def verdict(speedup: float) -> str:
    """Whether autocast gains, loses or leaves the time the same."""
    if speedup > 1 + SAME_WITHIN:
        return "gains"
    return "loses" if speedup < 1 - SAME_WITHIN else "same"


def compare(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Each autocast row once per full precision that the same was measured in.

    `speedup` is the quotient of the medians, full precision / autocast. `conversions` is how
    many more copies (the family) autocast makes than fp32 does: its conversions of types.
    """
    found = {(r["size"], r["measurement"], r["precision"]): r for r in rows if r["status"] == "ok"}
    pairs = []
    for (size, measurement, precision), full in found.items():
        cast = found.get((size, measurement, AUTOCAST))
        if precision == AUTOCAST or cast is None:
            continue
        speedup = full["median_ms"] / cast["median_ms"]
        pair = dict(cast) | {"against": precision, "speedup": speedup, "verdict": verdict(speedup)}
        plain = found.get((size, measurement, "fp32"))
        pair["conversions"] = cast["copies"] - plain["copies"] if plain else None
        pairs.append(pair)
    return pairs


def reason_of(pair: Mapping[str, Any]) -> str:
    """What the numbers of a pair say about a loss: launching, conversions, both or neither.

    On a CPU nothing is launched, so that only conversions are told.
    """
    on_cpu = pair["device"] == "cpu"
    launching = not on_cpu and pair["busy_share"] < LAUNCH_BOUND_BELOW
    converting = (pair["conversions"] or 0) > 0
    if launching and converting:
        return "both"
    return "launching" if launching else "conversions" if converting else "neither"


def summarize(table: pd.DataFrame) -> dict[str, Any]:
    """What explains each error of a sum, which types differ, and where autocast gains or loses."""
    sums, types = part(table, "accumulation"), part(table, "dtypes")
    values = [row["value"] for row in sums]
    pairs = compare(part(table, "speed"))
    losses = sorted((p for p in pairs if p["verdict"] == "loses"), key=lambda p: p["speedup"])
    return {
        "sums": [row | {"cause": cause(row)} for row in sums],
        "best": min(sums, key=lambda row: abs(row["error"]), default=None),
        "same": [row["variant"] for row in sums if values.count(row["value"]) > 1],
        "low": {name: _kept_low(types, name) for name in ("fp16", "bf16")},
        "tensors": len(types),
        "gains": [_of_one_kind(pairs, *kind) for kind in _kinds(pairs)],
        "losses": [pair | {"why": reason_of(pair)} for pair in losses[:LOSSES_SHOWN]],
        "measurements": MEASUREMENTS,
        "pairs": len(pairs),
        "lost": len(losses),
        "same_within": SAME_WITHIN,
        "threshold": LAUNCH_BOUND_BELOW,
        "on_cpu": "cpu" in set(table["device"]),
    }


def cause(row: Mapping[str, Any]) -> str:
    """Which part of a sum's error is the larger: representation or rounding."""
    rounding = abs(row["rounding_error"]) > abs(row["representation_error"])
    return "rounding" if rounding else "representation"


def _kept_low(types: Sequence[Mapping[str, Any]], autocast: str) -> list[str]:
    """The tensors that are not float32 under an autocast."""
    return [row["tensor"] for row in types if row[f"autocast_{autocast}"] != "float32"]


def _kinds(pairs: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((pair["against"], pair["measurement"]) for pair in pairs))


def _of_one_kind(pairs: Sequence[Mapping[str, Any]], against: str, measured: str) -> dict[str, Any]:
    """The speed-ups over the sizes against one precision in one measurement, and their verdicts."""
    mine = [p for p in pairs if (p["against"], p["measurement"]) == (against, measured)]
    verdicts = [pair["verdict"] for pair in mine]
    words = {"gains": "gains", "same": f"stays within {limit(SAME_WITHIN)}", "loses": "loses"}
    return {
        "against": against,
        "measurement": MEASUREMENTS[measured],
        "speedups": [pair["speedup"] for pair in mine],
        "verdicts": {text: verdicts.count(key) for key, text in words.items()},
    }


def tables(table: pd.DataFrame) -> dict[str, Markup]:
    """Tables of the sums, of the types, and of time per size, measurement and precision."""
    speeds = part(table, "speed")
    compared = {(p["size"], p["measurement"], p["against"]): p for p in compare(speeds)}
    for row in speeds:
        pair = compared.get((row["size"], row["measurement"], row["precision"]), {})
        row["speedup"], row["conversions"] = pair.get("speedup"), pair.get("conversions")
        row["measured"] = MEASUREMENTS[row["measurement"]]
    return {
        "accumulation": accumulation_table(part(table, "accumulation")),
        "dtypes": dtypes_table(part(table, "dtypes")),
        "speed": speed_table(speeds),
    }


def draw(table: pd.DataFrame, path: Path) -> None:
    """The speed-up of autocast over model sizes."""
    from workflow_src.answers.figures import svg
    from workflow_src.studies.precision.figure import figure

    pairs = compare(part(table, "speed"))
    path.write_text(svg(lambda: figure(pairs), "study_precision"), encoding="utf-8")
