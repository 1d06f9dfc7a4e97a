"""Study: implementations of attention over context and head size, and SDPA in a small module."""

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from workflow_src.studies.attention.tables import (
    kernel_tables,
    launches_table,
    memory_table,
    module_table,
    times_table,
)
from workflow_src.studies.rows import filled
from workflow_src.studies.study import Point, Row
from workflow_src.traces.kernel_names import NO_KERNEL

TITLE = "Attention: written out, compiled and fused, over context and head size"

EAGER = ("naive", "fused_softmax", "sdpa_math", "sdpa_efficient", "sdpa_flash", "sdpa_cudnn")
WORDS = {
    "naive": "naive",
    "compiled": "naive, compiled",
    "fused_softmax": "fused softmax",
    "sdpa_math": "SDPA math",
    "sdpa_efficient": "SDPA memory-efficient",
    "sdpa_flash": "SDPA flash",
    "sdpa_cudnn": "SDPA cuDNN",
    "sdpa": "SDPA",
}
"""Implementations by their ids, in the order in which they are shown."""

CONTEXTS = {
    ("cpu", "small"): [64, 128, 256],
    ("cpu", "full"): [128, 256, 512, 1024],
    ("cuda", "small"): [128, 512, 2048],
    ("cuda", "full"): [128, 256, 512, 1024, 2048, 4096, 8192, 16384],
}
HEAD_SIZES = {"small": [16, 64], "full": [16, 32, 64, 128]}
SHOWN_HEAD_SIZE = 64
"""The head size of the sentences, of the figure and of the profiled rows."""

QUADRATIC_FROM = 1.5
"""Memory whose exponent over context is at least this is called near the square."""


def points(device: str, scale: str) -> list[dict[str, Any]]:
    """A point for the eager cores, one for the compiled core and one for the module."""
    contexts = CONTEXTS[device, scale]
    precision = "bf16" if device == "cuda" else "fp32"
    cores = {"precision": precision, "batch": 8, "heads": 1, "compile": scale == "full"}
    cores |= {"contexts": contexts, "head_sizes": HEAD_SIZES[scale]}
    cores |= {"profiled_head_size": SHOWN_HEAD_SIZE, "profiled_contexts": contexts[::2]}
    module_contexts = [100] if (device, scale) == ("cpu", "small") else [100, 1000]
    module = {"precision": precision, "batch": 32, "width": 256, "contexts": module_contexts}
    return [
        {"point": "cores", **cores, "implementations": list(EAGER)},
        {"point": "compiled", **cores, "implementations": ["compiled"]},
        {"point": "module", **module},
    ]


def measure(point: Point) -> list[Row]:
    """A row per implementation, shape and phase, and per kernel of the module."""
    from workflow_src.studies.attention.measure import measure_cores
    from workflow_src.studies.attention.module import measure_module
    from workflow_src.studies.attention.nsys_summary import measure_summaries

    if point["point"] == "module":
        return measure_module(point) + measure_summaries(point)
    return measure_cores(point)


def sweep(table: pd.DataFrame, name: str) -> list[Row]:
    """The rows of the cores ("core"), the module ("module"), or its kernels ("kernel", "nsys")."""
    rows = [row for row in filled(table) if row["sweep"] == name]
    return [row | {"words": WORDS[row["implementation"]]} for row in rows]


def totals(rows: Sequence[Row]) -> list[Row]:
    """Forward and backward together, of what ran in both phases.

    `total_ms` is the sum of the medians; `peak_mib` the peak of the two in turn, or None;
    `memory_mib` that, or what is kept for the backward pass where no peak was measured.
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
    """SHOWN_HEAD_SIZE where it was measured, else the largest; None without rows."""
    measured = {int(row["head_size"]) for row in rows}
    return SHOWN_HEAD_SIZE if SHOWN_HEAD_SIZE in measured else max(measured, default=None)


def fastest_runs(rows: Sequence[Row]) -> list[Row]:
    """The fastest by total_ms, and all whose spread meets its, over runs of neighbouring contexts.

    A spread is from p20_ms to p80_ms; short calls are launch-bound, and the host decides by luck.
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
    """The fastest and the naive one at the longest context where naive ran; None without."""
    naive = [row for row in rows if row["implementation"] == "naive"]
    if not naive:
        return None
    longest = max(naive, key=lambda row: int(row["context"]))
    here = [row for row in rows if row["context"] == longest["context"]]
    best = min(here, key=lambda row: float(row["total_ms"]))
    ratio = longest["total_ms"] / best["total_ms"]
    return {"context": longest["context"], "naive": longest, "best": best, "ratio": ratio}


def growth(rows: Sequence[Row]) -> list[Row]:
    """How memory grows with context between each implementation's two longest.

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


def module_changes(rows: Sequence[Row]) -> list[Row]:
    """The module's times and kernels before and after SDPA, by context."""
    found = []
    whole = totals(rows)
    for context in sorted({row["context"] for row in whole}):
        here = {row["implementation"]: row for row in whole if row["context"] == context}
        if {"naive", "sdpa"} <= set(here):
            before, after = here["naive"], here["sdpa"]
            ratio = before["total_ms"] / after["total_ms"]
            found.append({"context": context, "before": before, "after": after, "ratio": ratio})
    return found


def counted(summed: Sequence[Row], kernels: Sequence[Row]) -> Row | None:
    """How many kernels nsys summarizes, and those that torch.profiler counts differently in a pass.

    None where nsys was not asked; `skipped` says why it has no summary.
    """
    if not summed:
        return None
    ran = [row for row in summed if row["status"] == "ok"]
    found = {_kernel(row): row["calls"] / row["passes"] for row in ran}
    versions = {key[:2] for key in found}
    seen: Counter[tuple[Any, ...]] = Counter()
    for row in kernels:
        if _kernel(row)[:2] in versions and not row["kernel"].startswith(NO_KERNEL):
            seen[_kernel(row)] += int(row["calls"])
    either = dict.fromkeys([*found, *seen])
    return {
        "passes": int(ran[0]["passes"]) if ran else 0,
        "kernels": len(found),
        "differing": list(dict.fromkeys(k[-1] for k in either if seen[k] != found.get(k, 0))),
        "skipped": next((row["reason"] for row in summed if row["status"] != "ok"), ""),
    }


def _kernel(row: Row) -> tuple[Any, ...]:
    return row["implementation"], row["context"], row["kernel"]


def reasons(rows: Sequence[Row], status: str) -> list[str]:
    """Who has rows of this status, at how many shapes, and why, each said once."""
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
    """What ran out of memory: the phase and shape of each."""
    return [
        f"{row['words']}, {row['phase']}, context {row['context']:.0f}, head {row['head_size']:.0f}"
        for row in rows
        if row["status"] == "oom"
    ]


def summarize(table: pd.DataFrame) -> dict[str, Any]:
    """Who is fastest from which context on, how memory grows, and what SDPA does to a module."""
    cores, module = sweep(table, "core"), sweep(table, "module")
    whole = totals(cores)
    head_size = shown_head_size(whole)
    shown = [row for row in whole if row["head_size"] == head_size]
    grown = growth(shown)
    return {
        "head_size": head_size,
        "batch": int(cores[0]["batch"]) if cores else 0,
        "heads": int(cores[0]["heads"]) if cores else 0,
        "precision": cores[0]["precision"] if cores else "",
        "runs": fastest_runs(shown),
        "against_naive": against_naive(shown),
        "square": [row for row in grown if row["exponent"] >= QUADRATIC_FROM],
        "slower_growth": [row for row in grown if row["exponent"] < QUADRATIC_FROM],
        "grown": grown,
        "peaks": any(row["peak_mib"] for row in shown),
        "on_cpu": not any(row.get("gpu") for row in [*cores, *module]),
        "changes": module_changes(module),
        "nsys": counted(sweep(table, "nsys"), sweep(table, "kernel")),
        "skipped": reasons([*cores, *module], "skipped"),
        "oom": ran_out([*cores, *module]),
    }


def tables(table: pd.DataFrame) -> dict[str, Markup]:
    """Times, memory, launches, the module, and its kernels side by side by context."""
    cores, module = sweep(table, "core"), sweep(table, "module")
    whole = totals(cores)
    shown = [row for row in cores if row["head_size"] == shown_head_size(whole)]
    return {
        "times": times_table(cores),
        "memory": memory_table(shown),
        "launches": launches_table(shown),
        "module": module_table(module),
    } | kernel_tables(sweep(table, "kernel"), sweep(table, "nsys"))


def draw(table: pd.DataFrame, path: Path) -> None:
    """Time and memory over context at the shown head size, a line per implementation."""
    from workflow_src.answers.figures import svg
    from workflow_src.studies.attention.figure import figure

    whole = totals(sweep(table, "core"))
    shown = [row for row in whole if row["head_size"] == shown_head_size(whole)]
    path.write_text(svg(lambda: figure(shown), "study_attention"), encoding="utf-8")
