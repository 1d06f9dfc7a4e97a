"""Analyzes the precision study: errors in two parts, copies, and where autocast gains."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from workflow_src.common.thresholds import LAUNCH_BOUND_BELOW
from workflow_src.common.units import NS_PER_MS
from workflow_src.render.markdown import limit
from workflow_src.studies import join_points
from workflow_src.studies.precision.points import ADDEND, ADDITIONS, AUTOCAST
from workflow_src.studies.precision.types import kept, kept_low, narrow_norms, wide_norm
from workflow_src.studies.rows import busy_ns, calls, filled
from workflow_src.studies.study import Point, Row

SAME_WITHIN = 0.02
"""A speed-up that differs from 1 by at most this is neither a gain nor a loss."""

MEASUREMENTS = {
    "forward": "forward",
    "forward_backward": "forward + backward",
    "scores": "attention scores alone",
}


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """Sums with their errors, dtypes unchanged, times with busy time and copies."""
    return [row | _derived(point, row) for row in rows]


def _derived(point: Point, row: Row) -> Row:
    if row["part"] == "accumulation":
        return errors(row, point["addend"], point["additions"])
    if row.get("activities"):
        return device_work(row["activities"], row["median_ms"])
    return {}


def errors(row: Row, addend: float, additions: int) -> Row:
    """The error of a sum against additions x addend, in its two parts.

    `representation_error` is the error of the addend as stored, times the additions;
    `rounding_error` is the rest, due to rounding the sum at each addition. `spacing` is the
    distance from the sum's last value to the next larger one in its dtype. All are exact in double
    precision, which holds every product and difference here.
    """
    value, exact, stored = row["value"], additions * addend, additions * row["addend"]
    eps = float(np.finfo(row["sum_dtype"]).eps)
    return {
        "error": value - exact,
        "representation_error": stored - exact,
        "rounding_error": value - stored,
        "spacing": eps * 2.0 ** math.floor(math.log2(value)),
    }


def copies(activities: list[Row]) -> list[Row]:
    """The activities that move or convert tensors, each counted once.

    On a CUDA device, kernels of the copy family (not memory operations, which convert nothing);
    on a CPU, the operator that does the work, without those that only call it.
    """
    return [
        row
        for row in activities
        if (row["kind"] == "kernel" and row["family"] == "copy")
        or (row["kind"] == "operator" and row["name"] == "aten::copy_")
    ]


def device_work(activities: list[Row], median_ms: float) -> Row:
    """Busy time of one call, its share of the unprofiled median, and the copies in it.

    `activities` becomes their number of calls.
    """
    moved, busy_ms = copies(activities), busy_ns(activities) / NS_PER_MS
    return {
        "busy_ms": busy_ms,
        "busy_share": busy_ms / median_ms,
        "activities": calls(activities),
        "copies": calls(moved),
        "copy_ms": busy_ns(moved) / NS_PER_MS,
        "copy_share": busy_ns(moved) / busy_ns(activities),
    }


def part(table: pd.DataFrame, name: str) -> list[dict[str, Any]]:
    """The rows of one part of the table."""
    return [row for row in filled(table) if row["part"] == name]


def verdict(speedup: float) -> str:
    """Whether autocast "gains", "loses" or leaves the time the "same"."""
    if speedup > 1 + SAME_WITHIN:
        return "gains"
    return "loses" if speedup < 1 - SAME_WITHIN else "same"


def compare(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Each autocast row once per full precision in which the same was measured.

    `speedup` is the ratio of the medians, full precision / autocast. `conversions` is how many
    more copies (the family) autocast makes than fp32: its dtype conversions.
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
    """What explains the loss of a pair: "launching", "conversions", "both" or "neither".

    On a CPU nothing is launched, so only conversions can be a reason.
    """
    on_cpu = pair["device"] == "cpu"
    launching = not on_cpu and pair["busy_share"] < LAUNCH_BOUND_BELOW
    converting = (pair["conversions"] or 0) > 0
    if launching and converting:
        return "both"
    return "launching" if launching else "conversions" if converting else "neither"


def summarize(table: pd.DataFrame) -> dict[str, Any]:
    """Values for the template: causes of the sums' errors, dtypes, autocast's gains and losses."""
    sums, types, speed = (part(table, name) for name in ("accumulation", "dtypes", "speed"))
    norms = part(table, "layer_norm")
    pairs = compare(speed)
    losses = sorted((p for p in pairs if p["verdict"] == "loses"), key=lambda p: p["speedup"])
    return {
        "sums": sums,
        "addition": {"addend": ADDEND, "times": ADDITIONS, "exact": ADDEND * ADDITIONS},
        "best": min(sums, key=lambda row: abs(row["error"]), default=None),
        "worst": max(sums, key=lambda row: abs(row["error"]), default=None),
        "causes": {
            name: [row for row in sums if cause(row) == name]
            for name in ("rounding", "representation")
        },
        "low": {name: kept_low(types, name) for name in ("fp16", "bf16")},
        "tensors": [row["tensor"] for row in types],
        "norms": norms,
        "wide_norm": wide_norm(norms),
        "narrow_norms": narrow_norms(norms),
        "kept": kept(types),
        "gains": [_of_one_kind(pairs, *kind) for kind in _kinds(pairs)],
        "compared": {
            against: [_of_one_kind(pairs, *kind) for kind in _kinds(pairs) if kind[0] == against]
            for against in dict.fromkeys(pair["against"] for pair in pairs)
        },
        "losses": [pair | {"why": reason_of(pair)} for pair in losses],
        "lost": [_lost(pairs, alone) for alone in (False, True)],
        "contexts": sorted({int(row["context"]) for row in speed if row.get("context")}),
        "batches": sorted({int(row["batch"]) for row in speed if row.get("batch")}),
        "copied": copied(speed),
        "measurements": MEASUREMENTS,
        "pairs": len(pairs),
        "same_within": SAME_WITHIN,
        "threshold": LAUNCH_BOUND_BELOW,
        "on_cpu": "cpu" in set(table["device"]),
    }


def _lost(pairs: Sequence[Mapping[str, Any]], alone: bool) -> dict[str, Any]:
    """Where autocast loses, among the models or (`alone`) among the attention scores alone.

    `launched`: the losses that launching explains, with or without conversions.
    """
    mine = [pair for pair in pairs if (pair["measurement"] == "scores") == alone]
    losses = [dict(pair) | {"why": reason_of(pair)} for pair in mine if pair["verdict"] == "loses"]
    losses = sorted(losses, key=lambda pair: float(pair["speedup"]))
    where = "of attention scores alone, in the appendix" if alone else "of models in the table"
    return {
        "where": where,
        "span": "time" if alone else "step",
        "pairs": len(mine),
        "losses": losses,
        "launched": [pair for pair in losses if pair["why"] in ("launching", "both")],
        "named": [
            f"{MEASUREMENTS[pair['measurement']]} of {pair['size']} over {pair['against']}"
            for pair in losses
            if not alone
        ],
    }


def copied(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[float]]:
    """The share that copies have in the busy time of models, by precision."""
    found: dict[str, list[float]] = {}
    for row in rows:
        share = row.get("copy_share")
        if row["status"] == "ok" and row["measurement"] != "scores" and share is not None:
            found.setdefault(row["precision"], []).append(share)
    return found


def cause(row: Mapping[str, Any]) -> str:
    """The larger part of a sum's error: "representation" or "rounding"."""
    rounding = abs(row["rounding_error"]) > abs(row["representation_error"])
    return "rounding" if rounding else "representation"


def _kinds(pairs: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((pair["against"], pair["measurement"]) for pair in pairs))


def _of_one_kind(pairs: Sequence[Mapping[str, Any]], against: str, measured: str) -> dict[str, Any]:
    """Speed-ups and verdicts over all sizes, for one measurement against one full precision.

    `rising` says whether the speed-up never falls from a size to the next larger one.
    """
    mine = [p for p in pairs if (p["against"], p["measurement"]) == (against, measured)]
    mine = sorted(mine, key=_work)
    verdicts = [pair["verdict"] for pair in mine]
    words = {"gains": "gains", "same": f"stays within {limit(SAME_WITHIN)}", "loses": "loses"}
    speedups = [pair["speedup"] for pair in mine]
    return {
        "against": against,
        "measured": measured,
        "measurement": MEASUREMENTS[measured],
        "speedups": speedups,
        "least": min(mine, key=lambda pair: float(pair["speedup"])),
        "most": max(mine, key=lambda pair: float(pair["speedup"])),
        "rising": len(mine) > 1 and all(later >= first for first, later in pairwise(speedups)),
        "verdicts": {text: verdicts.count(key) for key, text in words.items()},
    }


def _work(pair: Mapping[str, Any]) -> float:
    """What sizes are ordered by: the time of the same in full precision."""
    return float(pair["speedup"] * pair["median_ms"])


if __name__ == "__main__":
    join_points.main(derive)
