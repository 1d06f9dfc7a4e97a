"""Study: what the formulas say of FLOPs and memory, held against what a device does.

Predicted and measured peak memory, model FLOPs utilisation (MFU) and a roofline: each component of
the forward pass between the two ceilings measured in the same process.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from workflow_src.plan.config import load
from workflow_src.plan.fingerprint import ROOT
from workflow_src.render.markdown import PHASE_WORDS
from workflow_src.studies.rows import filled
from workflow_src.studies.study import Point, Row

TITLE = "Accounting: FLOPs, memory, utilisation and the roofline"

MEASURED = {"small": ("tiny",), "full": ("small", "medium", "large", "xl", "2.7B")}
PRECISIONS = {"small": ("fp32",), "full": ("fp32", "bf16")}
CONTEXT = {"small": 256, "full": 512}
BATCH = 4
CEILINGS: dict[str, dict[str, Any]] = {
    "small": {"matmul_sides": [512, 1024], "copy_elements": 2**24, "ceiling_steps": 5},
    "full": {"matmul_sides": [4096, 8192], "copy_elements": 2**28, "ceiling_steps": 10},
}
STEPS = {"small": (1, 3), "full": (2, 3)}
"""Warm-up steps and measured steps."""


def points(device: str, scale: str) -> list[dict[str, Any]]:
    """A point per precision; the sizes and the vocabulary are config.yaml's."""
    config = load(ROOT / "config.yaml")
    warmup_steps, steps = STEPS[scale]
    common = {
        "sizes": config["sizes"],
        "vocabulary": config["vocabulary"],
        "measured": [size for size in MEASURED[scale] if size in config["sizes"]],
        "context": CONTEXT[scale],
        "batch": BATCH,
        "warmup_steps": warmup_steps,
        "steps": steps,
    }
    return [
        {"point": precision, "precision": precision} | common | CEILINGS[scale]
        for precision in PRECISIONS[scale]
    ]


def measure(point: Point) -> list[Row]:
    """Rows of four kinds: formulas of a model, phases, components, ceilings."""
    from workflow_src.studies.accounting.measure import measure_point

    return measure_point(point)


def rows_of(table: pd.DataFrame, measurement: str) -> list[dict[str, Any]]:
    """The table's rows of one kind, with what follows from their own numbers."""
    found = [row for row in filled(table) if row["measurement"] == measurement]
    for row in found:
        row["reason"] = row["reason"] or ""
        row["state"] = row["status"]
        if row.get("peak_mib"):
            row["off"] = row["predicted_peak_mib"] / row["peak_mib"] - 1
    return found


def peak_rates(table: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """The roof of each precision: TFLOP/s of its best matrix product, GB/s of the copy."""
    found: dict[str, tuple[float, float]] = {}
    for row in rows_of(table, "ceiling"):
        matmul, copy = found.get(row["precision"], (0.0, 0.0))
        rates = (row.get("tflop_per_s") or 0.0, row.get("gb_per_s") or 0.0)
        found[row["precision"]] = (max(matmul, rates[0]), max(copy, rates[1]))
    return {precision: rates for precision, rates in found.items() if all(rates)}


def roof(flops_per_byte: float, rates: tuple[float, float]) -> float:
    """TFLOP/s that the ceilings allow: the lower of the matmul's and of bandwidth x intensity.

    After Williams, Waterman & Patterson 2009, "Roofline".
    """
    return min(rates[0], flops_per_byte * rates[1] / 1e3)


def components(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The components that were measured, each with its roof and its share of it."""
    rates = peak_rates(table)
    found = []
    for row in rows_of(table, "component"):
        if row.get("tflop_per_s") and row["precision"] in rates:
            limit = roof(row["flops_per_byte"], rates[row["precision"]])
            compute = limit == rates[row["precision"]][0]
            found.append(
                row
                | {
                    "roof": limit,
                    "of_roof": row["tflop_per_s"] / limit,
                    "bound": "matmul rate" if compute else "bandwidth",
                }
            )
    return found


def _rooflines(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Per precision the ridge, and on which side of it each component lies."""
    found = []
    for precision, rates in peak_rates(table).items():
        mine = [row for row in components(table) if row["precision"] == precision]
        sides: dict[str, list[str]] = {"bandwidth": [], "matmul rate": [], "either": []}
        for name in dict.fromkeys(row["component"] for row in mine):
            bounds = {row["bound"] for row in mine if row["component"] == name}
            sides[bounds.pop() if len(bounds) == 1 else "either"].append(name)
        found.append(
            {
                "precision": precision,
                "tflop_per_s": rates[0],
                "gb_per_s": rates[1],
                "ridge": rates[0] * 1e3 / rates[1],
                "bandwidth": sides["bandwidth"],
                "compute": sides["matmul rate"],
                "either": sides["either"],
                "above": [
                    f"{row['component']} of {row['size']}" for row in mine if row["of_roof"] > 1
                ],
            }
        )
    return found


def _by(rows: Sequence[Row], key: str, value: Callable[[Row], float]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for row in rows:
        found.setdefault(row[key], []).append(value(row))
    return found


def share_of_step(row: Row, rule: str) -> float:
    """What a rule's FLOPs are of the exact ones of a training step."""
    return float(row[rule] / (row["forward_flops"] + row["backward_flops"]))


def summarize(table: pd.DataFrame) -> dict[str, Any]:
    """How near the rule 6ND, the predicted memory and the measured rates come to each other."""
    models, phases = rows_of(table, "model"), rows_of(table, "phase")
    steps = [row for row in phases if row["phase"] == "train_step"]
    used = [row for row in steps if row.get("mfu")]
    compared = [row for row in phases if "off" in row]
    return {
        "sizes": len({row["size"] for row in models}),
        "rule": [share_of_step(row, "step_rule_flops") for row in models],
        "rule_all": [share_of_step(row, "step_rule_all_flops") for row in models],
        "off": [row["off"] for row in compared],
        "worst": max(compared, key=lambda row: abs(row["off"]), default=None),
        "phase_words": PHASE_WORDS,
        "mfu": _by(used, "precision", lambda row: row["mfu"]),
        "recomputes": any(row["hfu"] != row["mfu"] for row in used),
        "over_peak": [f"{row['size']} {row['precision']}" for row in used if row["mfu"] > 1],
        "rooflines": _rooflines(table),
        "lost": [
            f"{PHASE_WORDS[row['phase']]} of {row['size']} {row['precision']}"
            for row in phases
            if row["status"] != "ok"
        ],
        "on_cpu": not any(table["gpu"].astype(str)),
    }


def tables(table: pd.DataFrame) -> dict[str, Markup]:
    """Models, phases, components and ceilings."""
    from workflow_src.studies.accounting import tables as made

    return {
        "models": made.models(rows_of(table, "model")),
        "phases": made.phases(rows_of(table, "phase")),
        "components": made.components(components(table)),
        "ceilings": made.ceilings(rows_of(table, "ceiling")),
    }


def draw(table: pd.DataFrame, path: Path) -> None:
    """The roofline of each precision with the components of the forward pass."""
    from workflow_src.answers.figures import svg
    from workflow_src.studies.accounting.figure import figure

    rows, rates = components(table), peak_rates(table)
    path.write_text(svg(lambda: figure(rows, rates), "study_accounting"), encoding="utf-8")
