"""The tables of the attention study: implementations and versions side by side."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pandas as pd
from markupsafe import Markup

from workflow_src.render.markdown import (
    DASH,
    PHASE_WORDS,
    STATE_WORDS,
    Column,
    limit,
    markdown_table,
    number,
    percent,
    plain,
    whole,
)
from workflow_src.studies.attention.analyze import (
    HEADINGS,
    WORDS,
    of_head_size,
    shown_head_size,
    sweep,
    totals,
)
from workflow_src.studies.attention.plain_summary import plain_tables
from workflow_src.studies.attention.points import VERSIONS
from workflow_src.studies.attention.waiting import busy_share
from workflow_src.studies.rows import TIME_COLUMNS
from workflow_src.studies.study import Row

SMALL_SHARE = 0.005
"""Kernels below this share both before and after are summed in one line."""

_CONTEXT = {"context": "context"}

_NUMBERS = {"calls": whole, "busy_ms": number, "share": percent}
"""The numbers of each version in a kernel's line, with their formats."""

_KERNEL_COLUMNS = [
    Column("launched by", "operator"),
    Column("kernel", "kernel"),
    *(
        Column(f"{HEADINGS[version]}: {heading}", f"{version}_{name}")
        for version in VERSIONS
        for heading, name in zip(("calls", "busy, ms", "share"), _NUMBERS, strict=True)
    ),
]


def tables(table: pd.DataFrame) -> dict[str, Markup]:
    """Times, memory, launches, the module, and its kernels side by side by context."""
    cores, module = sweep(table, "core"), sweep(table, "module")
    shown = of_head_size(cores, shown_head_size(totals(cores)))
    return {
        "contexts": contexts_table(of_head_size(totals(cores), shown_head_size(totals(cores)))),
        "times": times_table(cores),
        "memory": memory_table(shown),
        "launches": launches_table(shown),
        "module": module_table(module),
        **plain_tables(sweep(table, "plain"), sweep(table, "plain_kernel")),
        **kernel_tables(sweep(table, "kernel"), sweep(table, "nsys")),
    }


def _pivot(
    rows: Sequence[Row], keys: dict[str, str], value: str, text: Callable[[float], str]
) -> Markup:
    """Rows by `keys` (source: heading), a column per implementation; cells: forward + backward."""
    found: dict[tuple[Any, ...], dict[str, dict[str, str]]] = {}
    for row in rows:
        line = found.setdefault(tuple(row[key] for key in keys), {})
        cell = STATE_WORDS.get(row["status"], "") if row["status"] != "ok" else DASH
        if row["status"] == "ok" and row.get(value) is not None:
            cell = text(row[value])
        line.setdefault(row["words"], {})[row["phase"]] = cell
    headings = list(dict.fromkeys(row["words"] for row in rows))
    lines = [
        dict(zip(keys, key, strict=True)) | {words: _joined(cells) for words, cells in line.items()}
        for key, line in sorted(found.items())
        if any(set(cells.values()) != {DASH} for cells in line.values())
    ]
    columns = [Column(heading, source, plain) for source, heading in keys.items()]
    return markdown_table(lines, [*columns, *_implementations(headings)])


def _implementations(words: Iterable[str]) -> list[Column]:
    """A column per implementation, by its name in prose, under its heading."""
    headings = {name: HEADINGS[implementation] for implementation, name in WORDS.items()}
    return [Column(headings[name], name) for name in words]


def _joined(cells: dict[str, str]) -> str:
    """The text of a cell for both phases; if neither has a number, a common reason shows once."""
    both = [cells.get(phase, DASH) for phase in ("forward", "backward")]
    words = {*STATE_WORDS.values(), DASH}
    return both[0] if both[0] == both[1] and both[0] in words else " + ".join(both)


def contexts_table(rows: Sequence[Row]) -> Markup:
    """Forward + backward in ms by context, with the device's busy share where it was profiled."""
    lines: dict[int, dict[str, Any]] = {}
    for row in rows:
        share = busy_share(row)
        busy = "" if share is None else f" ({100 * share:.0f} %)"
        line = lines.setdefault(row["context"], {"context": row["context"]})
        line[row["words"]] = number(row["total_ms"]) + busy
    headings = dict.fromkeys(row["words"] for row in rows)
    columns = [Column("context", "context", plain)]
    columns += _implementations(headings)
    return markdown_table([lines[context] for context in sorted(lines)], columns)


def times_table(cores: Sequence[Row]) -> Markup:
    """Median forward + backward in ms by head size and context."""
    keys = {"head_size": "head size", "context": "context"}
    return _pivot(cores, keys, "median_ms", number)


def launches_table(cores: Sequence[Row]) -> Markup:
    """Number of kernels, forward + backward, by context."""
    return _pivot([row for row in cores if _measured(row, "kernels")], _CONTEXT, "kernels", whole)


def memory_table(cores: Sequence[Row]) -> Markup:
    """MiB by context: peak before the backward pass + peak over both passes.

    If no peak was measured: what autograd keeps for the backward pass, one number per cell.
    """
    if any(row.get("peak_mib") is not None for row in cores):
        return _pivot(cores, _CONTEXT, "peak_mib", number)
    return _kept_table([row for row in cores if _measured(row, "kept_mib")])


def _kept_table(rows: Sequence[Row]) -> Markup:
    lines: dict[int, dict[str, Any]] = {}
    for row in rows:
        context = int(row["context"])
        lines.setdefault(context, {"context": context})[row["words"]] = row["kept_mib"]
    headings = dict.fromkeys(row["words"] for row in rows)
    columns = [Column("context", "context", plain), *(Column(w, w, number) for w in headings)]
    return markdown_table([lines[context] for context in sorted(lines)], columns)


def _measured(row: Row, key: str) -> bool:
    return row["status"] == "ok" and row.get(key) is not None


def module_table(module: Sequence[Row]) -> Markup:
    """The module's times, memory and kernels, a row per context, version and phase."""
    columns = [
        Column("context", "context", plain),
        Column("attention", "words"),
        Column("phase", "phase"),
        *TIME_COLUMNS,
        Column("launched", "kernels", whole, "status"),
    ]
    if any(row.get("peak_mib") is not None for row in module):
        columns.append(Column("peak, MiB", "peak_mib", number, "status"))
    return markdown_table([row | {"phase": PHASE_WORDS[row["phase"]]} for row in module], columns)


def kernel_tables(kernels: Sequence[Row], summed: Sequence[Row]) -> dict[str, Markup]:
    """The module's kernels per context: kernels_* by torch.profiler, nsys_* by nsys."""
    ran = [row for row in summed if row["status"] == "ok"]
    found = {"kernels": kernels, "nsys": _named(ran, kernels)}
    return {
        f"{name}_{context}": kernel_table(rows, context)
        for name, rows in found.items()
        for context in sorted({int(row["context"]) for row in rows})
    }


def _named(summed: Sequence[Row], kernels: Sequence[Row]) -> list[Row]:
    """nsys's rows, each with the operators that launched the kernel according to torch.profiler."""
    launched_by: dict[tuple[Any, str], dict[str, None]] = {}
    for row in kernels:
        names = launched_by.setdefault((row["context"], row["kernel"]), {})
        names[row["operator"] or "(none)"] = None
    return [
        row | {"operator": ", ".join(launched_by.get((row["context"], row["kernel"]), ()))}
        for row in summed
    ]


def kernel_table(kernels: Sequence[Row], context: int) -> Markup:
    """Every kernel by the operator that launched it, before and after SDPA side by side."""
    lines: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in kernels:
        if row["context"] == context:
            operator = row["operator"] or "(none)"
            about = {"operator": operator, "kernel": row["kernel"]}
            line = lines.setdefault((operator, row["kernel"], row["family"]), about)
            line |= {f"{row['implementation']}_{name}": row[name] for name in _NUMBERS}
    ranked = sorted(lines.values(), key=lambda line: -_largest(line))
    named = [line for line in ranked if _largest(line) >= SMALL_SHARE]
    others = [line for line in ranked if _largest(line) < SMALL_SHARE]
    shown = [*named, _summed(others)] if others else named
    return markdown_table([_texts(line) for line in shown], _KERNEL_COLUMNS)


def _largest(line: dict[str, Any]) -> float:
    return max(float(line.get(f"{version}_share", 0.0)) for version in VERSIONS)


def _summed(lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One line for many: how many they are, and the sums of their numbers."""
    keys = [f"{version}_{name}" for version in VERSIONS for name in _NUMBERS]
    sums = {
        key: sum(line[key] for line in lines if key in line)
        for key in keys
        if any(key in line for line in lines)
    }
    about = {"operator": f"{len(lines)} more", "kernel": f"each below {limit(SMALL_SHARE)}"}
    return about | sums


def _texts(line: dict[str, Any]) -> dict[str, str]:
    """A line's numbers as text; a dash if a version doesn't run the kernel."""
    found = {"operator": str(line["operator"]), "kernel": str(line["kernel"])}
    for version in VERSIONS:
        for name, text in _NUMBERS.items():
            key = f"{version}_{name}"
            found[key] = text(line[key]) if key in line else DASH
    return found
