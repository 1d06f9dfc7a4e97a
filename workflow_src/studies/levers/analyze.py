"""Analyzes the levers study: what each remedy saved of its case's plain time."""

import statistics

import pandas as pd

from workflow_src.common.case import Case
from workflow_src.common.units import NS_PER_MS
from workflow_src.studies.levers.variants import PLAIN, Variant
from workflow_src.studies.models import case_of
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
        if row["measurement"] == "compile" and row["status"] == "ok":
            # Only the first process compiles: the others find the result in a cache on disk.
            extra["compile_s"] = extra.get("compile_s", 0.0) + row["samples_ns"][0] / 1e9
    told = ("case", "size", "context", "precision", "device")
    about = {name: getattr(case, name) for name in told} | {"variant": variant.name}
    about |= {"remedies": "+".join(variant.remedies), "batches": variant.batches}
    phases = [row for row in rows if row["measurement"] == "phase"]
    return [about | _phase(row, variant.batches) | extra for row in phases]


def plain_case(point: Point) -> Case:
    """The plain case of a point."""
    return case_of(point, point["size"], point["precision"])


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
    medians = [each / batches for each in medians_ms(row)]
    ends = {"fastest_process_ms": min(medians), "slowest_process_ms": max(medians)}
    return {"processes": len(medians)} | (ends if len(medians) > 1 else {})


def medians_ms(row: Row) -> list[float]:
    """The median of each process that timed a row (ms); old points were of one."""
    groups: dict[int, list[int]] = {}
    numbers = row.get("process", [0] * len(row["samples_ns"]))
    for number, ns in zip(numbers, row["samples_ns"], strict=True):
        groups.setdefault(number, []).append(ns)
    return [statistics.median(group) / NS_PER_MS for group in groups.values()]


def complete(table: pd.DataFrame) -> pd.DataFrame:
    """The table with each phase's plain time, and what is saved of it."""
    key = ["case", "phase"]
    table = table.reindex(columns=list(dict.fromkeys([*table, "median_ms"])))
    plain = table[table["variant"] == PLAIN].set_index(key)["median_ms"].astype(float)
    plain_ms = plain.reindex(pd.MultiIndex.from_frame(table[key])).to_numpy()
    saving_ms = plain_ms - table["median_ms"].astype(float)
    return table.assign(plain_ms=plain_ms, saving_share=saving_ms / plain_ms)
