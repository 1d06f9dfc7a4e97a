"""Tabulates the levers study: a row per phase of a variant of a case."""

import numpy as np

from workflow_src.common.units import NS_PER_MS
from workflow_src.studies.levers.variants import Variant
from workflow_src.studies.models import case_of
from workflow_src.studies.study import Point, Row


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """A row per phase of the point's variant; times are per as many tokens as the plain batch."""
    variant, case = Variant.of(point), case_of(point, point["size"], point["precision"])
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


def _phase(row: Row, batches: int) -> Row:
    kept = {key: row[key] for key in ("phase", "status", "reason")}
    if row["status"] != "ok":
        return kept
    times = {name: row[name] / batches for name in ("median_ms", "p20_ms", "p80_ms")}
    ns = np.asarray(row["samples_ns"])
    process = np.asarray(row.get("process", np.zeros(len(ns))))
    of_each = [ns[process == number] for number in np.unique(process)]
    medians = [float(np.median(each)) / NS_PER_MS / batches for each in of_each]
    ends = {"fastest_process_ms": min(medians), "slowest_process_ms": max(medians)}
    return (
        kept | times | {"samples": row["samples"], "processes": len(medians)}
        | (ends if len(medians) > 1 else {})
        | {"peak_memory_mib": row["peak_memory_mib"]}
        | {"device_ms": row["busy_ms"] / batches if "busy_ms" in row else None}
    )  # fmt: skip
