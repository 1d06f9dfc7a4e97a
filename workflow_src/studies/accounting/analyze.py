"""Analyzes the accounting study: formulas next to times, rates, MFU and the roofline.

Formulas are evaluated here and not in measure, so that editing one makes no measurement stale.
"""

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd

from workflow_src.common.case import Case
from workflow_src.common.ceilings import RATES, over_ceiling, rate_of
from workflow_src.common.thresholds import LAUNCH_BOUND_BELOW
from workflow_src.common.units import MIB, NS_PER_MS
from workflow_src.model.memory_formulas import model_row, peak_bytes, phase_flops
from workflow_src.render.markdown import PHASE_WORDS
from workflow_src.studies import join_points
from workflow_src.studies.accounting.estimates import example
from workflow_src.studies.accounting.reading import (
    FAR_BELOW,
    busy_share,
    by_source,
    ends_by_precision,
    far_below_roof,
    in_words,
    shorter_whole,
    shown_size,
    waiting,
)
from workflow_src.studies.accounting.work import component_work
from workflow_src.studies.models import case_of
from workflow_src.studies.rows import busy_ns, filled
from workflow_src.studies.study import Point, Row

RECOMPUTED_FLOPS = 0
"""FLOPs of a step that are computed twice: none, as activations aren't checkpointed."""


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """A row of formulas per size, then phases and components by size, then the ceilings."""
    ceilings = [_ceiling(row) for row in rows if row["measurement"] == "ceiling"]
    rates = [row["tflop_per_s"] for row in ceilings if "tflop_per_s" in row]
    made = [_model(_case(point, size)) for size in point["sizes"]]
    busy = {row["size"]: _busy_ms(row) for row in rows if row["measurement"] == "component"}
    for row in rows:
        if row["measurement"] == "phase":
            known = {"busy_ms": busy.get(row["size"])} if row["phase"] == "forward" else {}
            phase = _phase(_case(point, row["size"]), row, max(rates, default=0.0))
            made.append(phase | known)
        if row["measurement"] == "component":
            made += _components(_case(point, row["size"]), row)
    return [*made, *ceilings]


def _case(point: Point, size: str) -> Case:
    return case_of(point, size, point["precision"])


def _busy_ms(row: Row) -> float | None:
    """The device's busy time in one of the profiled forward passes, whichever range it is in."""
    if row["status"] != "ok" or not row.get("activities"):
        return None
    return float(busy_ns(row["activities"]) / row["steps"] / NS_PER_MS)


def tflop_per_s(flops: float, ms: float) -> float:
    """The rate of `flops` in `ms` milliseconds, in TFLOP/s."""
    return flops / (ms * 1e9)


def _model(case: Case) -> Row:
    about = {name: getattr(case, name) for name in ("size", "context", "batch", "precision")}
    return {"measurement": "model"} | about | {"status": "ok", "reason": ""} | model_row(case)


def _phase(case: Case, row: Row, peak_tflop_per_s: float) -> Row:
    """A phase's FLOPs and predicted peak (MiB); if it ran, its measured peak and utilization.

    The measured peak excludes memory that was held before the model was built.
    """
    flops = phase_flops(case, row["phase"])
    predicted = peak_bytes(case, row["phase"]) / MIB
    formulas = {"flops": flops, "predicted_peak_mib": predicted}
    if row["status"] != "ok":
        return row | formulas
    measured = {"peak_mib": row["peak_memory_mib"] - row["memory_before_mib"]}
    return row | formulas | measured | utilization(flops, row["median_ms"], peak_tflop_per_s)


def utilization(flops: int, median_ms: float, peak_tflop_per_s: float) -> Row:
    """MFU and HFU: FLOPs (HFU: plus those recomputed) over time x peak; empty without a peak.

    After Chowdhery et al. 2022, "PaLM", appendix B; peak is the fastest matrix product measured.
    """
    if not peak_tflop_per_s:
        return {}
    return {
        "recomputed_flops": RECOMPUTED_FLOPS,
        "mfu": tflop_per_s(flops, median_ms) / peak_tflop_per_s,
        "hfu": tflop_per_s(flops + RECOMPUTED_FLOPS, median_ms) / peak_tflop_per_s,
    }


def _components(case: Case, row: Row) -> list[Row]:
    """A row per component of a forward pass: its work (component_work), and its device time.

    Device time counts for the component that has the name of its innermost model range.
    """
    busy_ns: Counter[str] = Counter()
    for activity in row.get("activities", []):
        busy_ns[activity["range"]] += activity["busy_ns"]
    made = []
    for work in component_work(case, row.get("launched")):
        found = work | {"flops_per_byte": work["flops"] / work["bytes"]}
        if ns := busy_ns[work["component"]]:
            busy_ms = ns / row["steps"] / NS_PER_MS
            found |= {"busy_ms": busy_ms, "tflop_per_s": tflop_per_s(work["flops"], busy_ms)}
        made.append(row | found)
    return made


def _ceiling(row: Row) -> Row:
    """A ceiling's rate: that of its fastest sample.

    Points of earlier versions have only products and a copy, without their work; their rate is
    that of the median, as they were published.
    """
    ran = "median_ms" in row
    if "kind" in row:
        rate = {RATES[row["kind"]][1]: rate_of(row, min(row["samples_ns"]))} if ran else {}
        return row | rate
    if "side" in row:
        flops = 2 * row["side"] ** 3
        rate = {"tflop_per_s": tflop_per_s(flops, row["median_ms"])} if ran else {}
        return row | {"flops": flops} | rate
    moved = 2 * row["elements"] * np.dtype(row["dtype"]).itemsize
    rate = {"gb_per_s": moved / (row["median_ms"] * 1e6)} if ran else {}
    return row | {"bytes": moved} | rate


def rows_of(table: pd.DataFrame, measurement: str) -> list[dict[str, Any]]:
    """The table's rows of one measurement; `off` is predicted / measured peak memory - 1."""
    found = [row for row in filled(table) if row["measurement"] == measurement]
    for row in found:
        row["reason"] = row["reason"] or ""
        row["state"] = row["status"]
        if row.get("peak_mib"):
            row["off"] = row["predicted_peak_mib"] / row["peak_mib"] - 1
    return found


def peak_rates(table: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """The ceilings of each precision: TFLOP/s of its best matrix product, best GB/s of memory."""
    found: dict[str, tuple[float, float]] = {}
    for row in rows_of(table, "ceiling"):
        matmul, copy = found.get(row["precision"], (0.0, 0.0))
        rates = (row.get("tflop_per_s") or 0.0, row.get("gb_per_s") or 0.0)
        found[row["precision"]] = (max(matmul, rates[0]), max(copy, rates[1]))
    return {precision: rates for precision, rates in found.items() if all(rates)}


def roof(flops_per_byte: float, rates: tuple[float, float]) -> float:
    """TFLOP/s that the ceilings allow: the lower of matmul rate and bandwidth x intensity.

    After Williams, Waterman & Patterson 2009, "Roofline".
    """
    return min(rates[0], flops_per_byte * rates[1] / 1e3)


def components(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The measured components, each with its roof and the share of it that it reaches."""
    rates = peak_rates(table)
    found = []
    for row in rows_of(table, "component"):
        if row.get("tflop_per_s") and row["precision"] in rates:
            limit = roof(row["flops_per_byte"], rates[row["precision"]])
            beyond = over_ceiling(row["tflop_per_s"], limit)
            compute = limit == rates[row["precision"]][0]
            found.append(
                row
                | {
                    "roof": limit,
                    "words": in_words(row["component"]),
                    "of_roof": row["tflop_per_s"] / limit,
                    "beyond": beyond,
                    "bound": "matmul rate" if compute else "bandwidth",
                }
            )
    return found


def _rooflines(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Per precision: the ridge, and the side of it on which each component lies."""
    found = []
    for precision, rates in peak_rates(table).items():
        mine = [row for row in components(table) if row["precision"] == precision]
        sides: dict[str, list[str]] = {"bandwidth": [], "matmul rate": [], "either": []}
        for name in dict.fromkeys(row["component"] for row in mine):
            bounds = {row["bound"] for row in mine if row["component"] == name}
            sides[bounds.pop() if len(bounds) == 1 else "either"].append(in_words(name))
        found.append(
            {
                "precision": precision,
                "tflop_per_s": rates[0],
                "gb_per_s": rates[1],
                "ridge": rates[0] * 1e3 / rates[1],
                "bandwidth": sides["bandwidth"],
                "compute": sides["matmul rate"],
                "either": sides["either"],
                "above": [f"{row['words']} of {row['size']}" for row in mine if row["beyond"]],
            }
        )
    return found


def share_of_step(row: Row, rule: str) -> float:
    """The FLOPs by a rule as a share of the exact FLOPs of a training step."""
    return float(row[rule] / (row["forward_flops"] + row["backward_flops"]))


def summarize(table: pd.DataFrame) -> dict[str, Any]:
    """Values for the template: errors of 6ND and predicted memory, MFU, rooflines, gaps."""
    formulas, phases = rows_of(table, "model"), rows_of(table, "phase")
    ran = {row["size"] for row in phases}
    models = [row for row in formulas if row["size"] in ran] or formulas
    steps = [row for row in phases if row["phase"] == "train_step"]
    used = [row for row in steps if row.get("mfu")]
    compared = [row for row in phases if "off" in row]
    return {
        "sizes": len({row["size"] for row in models}),
        "measured": bool(ran),
        "formulas_only": sorted({row["size"] for row in formulas} - ran) if ran else [],
        "contexts": sorted({int(row["context"]) for row in phases if row.get("context")}),
        "batches": sorted({int(row["batch"]) for row in phases if row.get("batch")}),
        "rule": sorted(
            (row | {"rule": share_of_step(row, "step_rule_flops")} for row in models),
            key=lambda row: float(row["rule"]),
        ),
        "rule_all": [share_of_step(row, "step_rule_all_flops") for row in models],
        "off": [row["off"] for row in compared],
        "worst": max(compared, key=lambda row: abs(row["off"]), default=None),
        "phase_words": PHASE_WORDS,
        "mfu": ends_by_precision(used),
        "samples": sorted({int(row["samples"]) for row in phases if row.get("samples")}),
        "waiting": waiting(phases),
        "profiled": any(busy_share(row) is not None for row in phases),
        "busy_limit": LAUNCH_BOUND_BELOW,
        "shorter": shorter_whole(phases),
        "recomputes": any(row["hfu"] != row["mfu"] for row in used),
        "over_peak": [
            f"{row['size']} {row['precision']}" for row in used if over_ceiling(row["mfu"], 1.0)
        ],
        "rooflines": _rooflines(table),
        "example": example(formulas, used, peak_rates(table)),
        "sources": by_source(components(table)),
        "far": far_below_roof(components(table)),
        "far_below": FAR_BELOW,
        "shown_size": shown_size(components(table)),
        "lost": [
            f"{PHASE_WORDS[row['phase']]} of {row['size']} {row['precision']}"
            for row in phases
            if row["status"] != "ok"
        ],
        "on_cpu": not any(table["gpu"].astype(str)),
    }


if __name__ == "__main__":
    join_points.main(derive)
