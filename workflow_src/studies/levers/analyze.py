"""Analyzes the levers study: what each remedy saved, and how well that was predicted."""

import statistics
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from workflow_src.common.read_table import read_table
from workflow_src.common.units import NS_PER_MS
from workflow_src.studies import join_points
from workflow_src.studies.levers.points import PLAIN, Variant
from workflow_src.studies.levers.processes import by_process, plain_case
from workflow_src.studies.rows import busy_ns
from workflow_src.studies.study import Point, Row


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """A row per phase of the point's variant; times are per as many tokens as the plain batch."""
    variant, case = Variant.of(point), plain_case(point)
    extra: Row = {}
    for row in rows:
        if row["measurement"] == "error":
            names = ("logits_error", "gradients_error")
            extra |= {name: row.get(name) for name in names}
            extra["error_state"] = row["status"]
        if row["measurement"] == "rounded_error":
            extra["rounded_gradients_error"] = row.get("gradients_error")
            extra["rounded_state"] = row["status"]
        if row["measurement"] == "compile" and row["status"] == "ok":
            # Only the first process compiles: the others find the result in a cache on disk.
            extra["compile_s"] = extra.get("compile_s", 0.0) + row["samples_ns"][0] / 1e9
    told = ("case", "size", "context", "precision", "device")
    about = {name: getattr(case, name) for name in told} | {"variant": variant.name}
    about |= {"remedies": "+".join(variant.remedies), "batches": variant.batches}
    phases = [row for row in rows if row["measurement"] == "phase"]
    return [about | _phase(row, variant.batches) | extra for row in phases]


def _phase(row: Row, batches: int) -> Row:
    kept = {key: row[key] for key in ("phase", "status", "reason")}
    if row["status"] != "ok":
        return kept
    times = {name: row[name] / batches for name in ("median_ms", "p20_ms", "p80_ms")}
    busy = busy_ns(row["activities"]) / NS_PER_MS / batches if row.get("activities") else None
    return (
        kept | times | {"samples": row["samples"]} | _processes(row, batches)
        | {"peak_memory_mib": row["peak_memory_mib"], "device_ms": busy}
    )  # fmt: skip


def _processes(row: Row, batches: int) -> Row:
    """How many processes there were, and the medians of the fastest and the slowest."""
    groups = by_process(row).values()
    medians = [statistics.median(group) / NS_PER_MS / batches for group in groups]
    ends = {"fastest_process_ms": min(medians), "slowest_process_ms": max(medians)}
    return {"processes": len(medians)} | (ends if len(medians) > 1 else {})


def read_predictions(paths: Sequence[Path]) -> pd.DataFrame:
    """The predictions of all cases. Raises StageError for a file that holds none."""
    tables = [read_table(path, "predictions", "a table of predictions") for path in paths]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def complete(table: pd.DataFrame, paths: Sequence[Path]) -> pd.DataFrame:
    """The table with each phase's plain time, saving and prediction, and how the two compare.

    unpredicted: why there are no predictions for a case, or a variant.
    """
    expected = _filled(read_predictions(paths))
    by_key, why_not = {}, {}
    for row in expected:
        key = row["case"], row["variant"]
        if row["status"] == "ok":
            by_key[*key, row["phase"]] = row
        else:
            why_not[key] = {"unpredicted": row["reason"]}
    rows, made = _filled(table), []
    plain = {(row["case"], row["phase"]): row for row in rows if row["variant"] == PLAIN}
    for row in rows:
        case, variant, phase = (row[name] for name in ("case", "variant", "phase"))
        plain_ms = plain.get((case, phase), {}).get("median_ms")
        found = row | scored(row, plain_ms, by_key.get((case, variant, phase)))
        made.append(found | why_not.get((case, None), {}) | why_not.get((case, variant), {}))
    return pd.DataFrame(made)


def _filled(table: pd.DataFrame) -> list[Row]:
    """The rows of a table, with None for empty cells."""
    return [
        {str(key): None if value == "" or value != value else value for key, value in row.items()}
        for row in table.to_dict("records")
    ]


def scored(row: Row, plain_ms: float | None, expected: Row | None) -> Row:
    """What is added to a row: the plain time, savings measured and predicted, and the verdict.

    why: of older predictions alone, which said it in words; term: where a miss lies, by the larger
    of two differences: in the device's work, or in what the wall time has beyond it.
    """
    found: Row = {"plain_ms": plain_ms}
    if expected:
        found |= {key: expected[key] for key in expected if key.startswith("predicted_")}
        found |= {key: expected[key] for key in ("why",) if key in expected}
        if plain_ms is not None:
            found["predicted_saving_ms"] = plain_ms - expected["predicted_ms"]
    if plain_ms is None or row.get("median_ms") is None:
        return found
    found["saving_ms"] = plain_ms - row["median_ms"]
    found["saving_share"] = found["saving_ms"] / plain_ms
    if not expected:
        return found
    inside = expected["predicted_low"] <= row["median_ms"] <= expected["predicted_high"]
    found["verdict"] = "inside" if inside else "outside"
    if row.get("device_ms") is not None:
        work = row["device_ms"] - expected["predicted_device_ms"]
        rest = row["median_ms"] - expected["predicted_ms"] - work
        found |= {"off_device_ms": work, "off_rest_ms": rest}
        found["term"] = "device" if abs(work) >= abs(rest) else "host"
    return found


if __name__ == "__main__":
    join_points.main(derive, complete)
