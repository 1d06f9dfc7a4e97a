"""Analyzes the attention study: what is fastest, how memory grows, what SDPA changes."""

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from workflow_src.studies import join_points
from workflow_src.studies.attention.kernels import counted, kernel_count, kernel_rows, product_rows
from workflow_src.studies.attention.plain_summary import summarize_plain
from workflow_src.studies.attention.points import SHOWN_HEAD_SIZE
from workflow_src.studies.attention.waiting import SHOWN_AS_ALL, busy_share, launching, most_kernels
from workflow_src.studies.rows import filled
from workflow_src.studies.study import Point, Row

WORDS = {
    "naive": "written out",
    "compiled": "torch.compile",
    "fused_softmax": "fused softmax",
    "sdpa_math": "SDPA math",
    "sdpa_efficient": "SDPA memory-efficient",
    "sdpa_flash": "SDPA flash",
    "sdpa_cudnn": "SDPA cuDNN",
    "sdpa": "SDPA",
    "plain": "plain",
    "packed": "this project's",
}
"""Names of the implementations in the report, by id and in display order."""

HEADINGS = WORDS | {"naive": "written out (naive)", "compiled": "written out, compiled"}
"""Their names as headings of columns, where "naive" says what it is called elsewhere."""

QUADRATIC_FROM = 1.5
"""Memory growth over context with at least this exponent is called nearly quadratic."""


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """Rows of cores and module with kernel counts, and a row per kernel of the module."""
    return [made for row in rows for made in _derived(row)]


def _derived(row: Row) -> list[Row]:
    if row["status"] != "ok":
        return [row]
    if row["sweep"] == "plain":
        return [row, *(row | found for found in product_rows(row["activities"]))]
    if row["sweep"] in ("kernel", "nsys"):
        return [row | found for found in kernel_rows(row["activities"])]
    return [row | kernel_count(row)]


def sweep(table: pd.DataFrame, name: str) -> list[Row]:
    """The rows of a sweep: "core", "module", its "kernel" and "nsys", "plain" or "plain_kernel"."""
    rows = [row for row in filled(table) if row["sweep"] == name]
    return [row | {"words": WORDS[row["implementation"]]} for row in rows]


def totals(rows: Sequence[Row]) -> list[Row]:
    """Forward and backward together, for everything that ran in both phases.

    `total_ms` is the sum of the medians; `peak_mib` the peak over both passes, or None;
    `memory_mib` that peak or, if none was measured, what autograd keeps for the backward pass.
    """
    found: dict[tuple[Any, ...], dict[str, Row]] = {}
    for row in rows:
        key = (row["implementation"], row["head_size"], row["context"])
        found.setdefault(key, {})[row["phase"]] = row
    return [
        {
            "implementation": implementation,
            "words": WORDS[implementation],
            "head_size": int(head_size),
            "context": int(context),
            "total_ms": phases["forward"]["median_ms"] + phases["backward"]["median_ms"],
            "p20_ms": phases["forward"]["p20_ms"] + phases["backward"]["p20_ms"],
            "p80_ms": phases["forward"]["p80_ms"] + phases["backward"]["p80_ms"],
            "kernels": _sum_of(phases, "kernels"),
            "busy_ms": _sum_of(phases, "busy_ms") if phases["forward"].get("gpu") else None,
            "peak_mib": phases["backward"].get("peak_mib"),
            "memory_mib": phases["backward"].get("peak_mib") or phases["forward"].get("kept_mib"),
        }
        for (implementation, head_size, context), phases in found.items()
        if all(row["status"] == "ok" for row in phases.values()) and len(phases) == 2
    ]


def _sum_of(phases: dict[str, Row], key: str) -> float | None:
    values = [row.get(key) for row in phases.values()]
    return None if None in values else sum(value for value in values if value is not None)


def shown_head_size(rows: Sequence[Row]) -> int | None:
    """SHOWN_HEAD_SIZE if it was measured, else the largest head size; None without rows."""
    measured = {int(row["head_size"]) for row in rows}
    return SHOWN_HEAD_SIZE if SHOWN_HEAD_SIZE in measured else max(measured, default=None)


def of_head_size(rows: Sequence[Row], head_size: int | None) -> list[Row]:
    """The rows of one head size."""
    return [row for row in rows if row["head_size"] == head_size]


def fastest_runs(rows: Sequence[Row]) -> list[Row]:
    """Which implementations are fastest, from which context (`first`) to which (`last`).

    Those whose spread (p20_ms to p80_ms) overlaps that of the fastest by total_ms count as
    fastest, too: short calls are launch-bound, and the order among them is chance.
    """
    runs: list[Row] = []
    for context in sorted({row["context"] for row in rows}):
        here = [row for row in rows if row["context"] == context]
        best = min(here, key=lambda row: float(row["total_ms"]))
        words = [row["words"] for row in here if row["p20_ms"] <= best["p80_ms"]]
        if not runs or runs[-1]["words"] != words:
            runs.append({"words": words, "first": context})
        runs[-1] |= {"last": context}
    return runs


def against_naive(rows: Sequence[Row]) -> Row | None:
    """The fastest and naive at the longest context where naive ran; None if it never ran."""
    naive = [row for row in rows if row["implementation"] == "naive"]
    if not naive:
        return None
    longest = max(naive, key=lambda row: int(row["context"]))
    here = [row for row in rows if row["context"] == longest["context"]]
    best = min(here, key=lambda row: float(row["total_ms"]))
    ratio = longest["total_ms"] / best["total_ms"]
    return {"context": longest["context"], "naive": longest, "best": best, "ratio": ratio}


def growth(rows: Sequence[Row]) -> list[Row]:
    """How memory grows between the two longest contexts of each implementation.

    `exponent` is log(ratio of memory) / log(ratio of contexts): 1 linear, 2 quadratic.
    """
    found = []
    for words in dict.fromkeys(row["words"] for row in rows):
        mine = [row for row in rows if row["words"] == words and row["memory_mib"]]
        mine = sorted(mine, key=lambda row: int(row["context"]))[-2:]
        if len(mine) == 2:
            low, high = mine
            contexts = high["context"] / low["context"]
            exponent = math.log(high["memory_mib"] / low["memory_mib"]) / math.log(contexts)
            found.append({"words": words, "exponent": exponent, "low": low, "high": high})
    return found


def module_changes(rows: Sequence[Row], kernels: Sequence[Row] = ()) -> list[Row]:
    """The module's times and kernel counts before and after SDPA, by context.

    With the busy time of its kernels, if those were profiled.
    """
    found = []
    whole = totals(rows)
    for context in sorted({row["context"] for row in whole}):
        here = {row["implementation"]: row for row in whole if row["context"] == context}
        if {"naive", "sdpa"} <= set(here):
            before, after = here["naive"], here["sdpa"]
            ratio = before["total_ms"] / after["total_ms"]
            busy = {
                version: sum(
                    row["busy_ms"]
                    for row in kernels
                    if (row["implementation"], row["context"]) == (version, context)
                )
                for version in ("naive", "sdpa")
            }
            found.append(
                {"context": context, "before": before, "after": after, "ratio": ratio, "busy": busy}
            )
    return found


def reasons(rows: Sequence[Row], status: str) -> list[str]:
    """The implementations with rows of this status, at how many shapes, and why, as text."""
    found: dict[tuple[str, str], set[tuple[Any, Any]]] = {}
    for row in rows:
        if row["status"] == status:
            key = (row["words"], row["reason"])
            found.setdefault(key, set()).add((row["head_size"], row["context"]))
    return [
        f"{words} at {len(shapes)} shape{'' if len(shapes) == 1 else 's'} ({reason})"
        for (words, reason), shapes in found.items()
    ]


def ran_out(rows: Sequence[Row]) -> list[str]:
    """What ran out of memory: implementation, phase and shape, as text."""
    return [
        f"{row['words']}, {row['phase']}, context {row['context']:.0f}, head {row['head_size']:.0f}"
        for row in rows
        if row["status"] == "oom"
    ]


def summarize(table: pd.DataFrame) -> dict[str, Any]:
    """Values for the template: what is fastest where, how memory grows, what SDPA changes."""
    cores, module, plain = (sweep(table, name) for name in ("core", "module", "plain"))
    whole = totals(cores)
    head_size = shown_head_size(whole)
    shown = of_head_size(whole, head_size)
    grown = growth(shown)
    waiting = launching(shown)
    idle = [waiting["up_to"], *(row["context"] for row in waiting["fastest"])] if waiting else [0]
    return {
        "head_size": head_size,
        "head_sizes": sorted({row["head_size"] for row in whole}),
        "batch": int(cores[0]["batch"]) if cores else 0,
        "heads": int(cores[0]["heads"]) if cores else 0,
        "precision": cores[0]["precision"] if cores else "",
        "launching": waiting,
        "runs": fastest_runs([row for row in shown if row["context"] > max(idle)]),
        "measured": bool(shown),
        "against_naive": against_naive(shown),
        "square": [row for row in grown if row["exponent"] >= QUADRATIC_FROM],
        "slower_growth": [row for row in grown if row["exponent"] < QUADRATIC_FROM],
        "peaks": any(row["peak_mib"] for row in shown),
        "over_all": any((busy_share(row) or 0) > SHOWN_AS_ALL for row in shown),
        "counts": most_kernels(shown),
        "rotated": any((row.get("sets") or 1) > 1 for row in cores),
        "on_cpu": not any(row.get("gpu") for row in [*cores, *module]),
        "changes": module_changes(module, sweep(table, "kernel")),
        "nsys": counted(sweep(table, "nsys"), sweep(table, "kernel")),
        "plain": summarize_plain(plain, sweep(table, "plain_kernel")),
        "skipped": reasons([*cores, *module, *plain], "skipped"),
        "oom": ran_out([*cores, *module, *plain]),
    }


if __name__ == "__main__":
    join_points.main(derive)
