"""The tables of the attention study: implementations and versions side by side."""

from collections.abc import Callable, Sequence
from typing import Any

from markupsafe import Markup

from workflow_src.render.markdown import (
    DASH,
    PHASE_WORDS,
    STATE_WORDS,
    Column,
    markdown_table,
    number,
    percent,
    plain,
    whole,
)
from workflow_src.studies.rows import TIME_COLUMNS
from workflow_src.studies.study import Row

SMALL_SHARE = 0.005
"""Kernels below this share before and after are summed up in one line."""

VERSIONS = {"naive": "naive", "sdpa": "SDPA"}


def _pivot(
    rows: Sequence[Row], keys: dict[str, str], value: str, text: Callable[[float], str]
) -> Markup:
    """Rows by `keys` (source: heading), a column per implementation: "forward + backward"."""
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
    return markdown_table(lines, [*columns, *(Column(words, words) for words in headings)])


def _joined(cells: dict[str, str]) -> str:
    """Both phases of a cell, or what is said of both alike, once."""
    both = [cells.get(phase, DASH) for phase in ("forward", "backward")]
    words = {*STATE_WORDS.values(), DASH}
    return both[0] if both[0] == both[1] and both[0] in words else " + ".join(both)


def times_table(cores: Sequence[Row]) -> Markup:
    """Median forward + backward in ms by head size and context."""
    keys = {"head_size": "head size", "context": "context"}
    return _pivot(cores, keys, "median_ms", number)


def launches_table(cores: Sequence[Row]) -> Markup:
    """Kernels forward + backward by context."""
    return _pivot([row for row in cores if _told(row, "kernels")], _CONTEXT, "kernels", whole)


def memory_table(cores: Sequence[Row]) -> Markup:
    """MiB by context: peaks before backward + in all; without peaks what backward is kept."""
    peaks = any(row.get("peak_mib") is not None for row in cores)
    rows = cores if peaks else [row for row in cores if row["phase"] == "forward"]
    if peaks:
        return _pivot(rows, _CONTEXT, "peak_mib", number)
    both = [row | {"phase": phase} for row in rows for phase in ("forward", "backward")]
    return _one_number(both)


def _one_number(rows: Sequence[Row]) -> Markup:
    """Kept memory, one number to a cell."""
    lines: dict[int, dict[str, Any]] = {}
    for row in rows:
        if _told(row, "kept_mib"):
            context = int(row["context"])
            lines.setdefault(context, {"context": context})[row["words"]] = row["kept_mib"]
    headings = dict.fromkeys(row["words"] for row in rows if _told(row, "kept_mib"))
    columns = [Column("context", "context", plain), *(Column(w, w, number) for w in headings)]
    return markdown_table([lines[context] for context in sorted(lines)], columns)


def _told(row: Row, key: str) -> bool:
    return row["status"] == "ok" and row.get(key) is not None


_CONTEXT = {"context": "context"}


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
    """By context the module's kernels as torch.profiler has them (kernels_) and nsys (nsys_)."""
    ran = [row for row in summed if row["status"] == "ok"]
    found = {"kernels": kernels, "nsys": _named(ran, kernels)}
    return {
        f"{name}_{context}": kernel_table(rows, context)
        for name, rows in found.items()
        for context in sorted({int(row["context"]) for row in rows})
    }


def _named(summed: Sequence[Row], kernels: Sequence[Row]) -> list[Row]:
    """nsys's rows, each kernel with all that launched it at its context under torch.profiler."""
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
    lines: dict[tuple[str, str], dict[str, Any]] = {}
    for row in kernels:
        if row["context"] == context:
            key = (row["operator"] or "(none)", row["kernel"])
            line = lines.setdefault(key, {"operator": key[0], "kernel": key[1]})
            for name in ("calls", "busy_ms", "share"):
                line[f"{row['implementation']}_{name}"] = row[name]
    ranked = sorted(lines.values(), key=lambda line: -_largest(line))
    named = [line for line in ranked if _largest(line) >= SMALL_SHARE]
    others = [line for line in ranked if _largest(line) < SMALL_SHARE]
    shown = [*named, _summed(others)] if others else named
    return markdown_table([_texts(line) for line in shown], _KERNEL_COLUMNS)


_KERNEL_COLUMNS = [
    Column("launched by", "operator"),
    Column("kernel", "kernel"),
    *(
        Column(f"{words}: {heading}", f"{version}_{name}")
        for version, words in VERSIONS.items()
        for heading, name in (("calls", "calls"), ("busy, ms", "busy_ms"), ("share", "share"))
    ),
]


def _largest(line: dict[str, Any]) -> float:
    return max(float(line.get(f"{version}_share", 0.0)) for version in VERSIONS)


def _summed(lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One line for many: how many there are, and the sums of their numbers."""
    keys = [f"{version}_{name}" for version in VERSIONS for name in ("calls", "busy_ms", "share")]
    sums = {key: sum(line[key] for line in lines if key in line) for key in keys}
    there = {key: value for key, value in sums.items() if any(key in line for line in lines)}
    return {"operator": f"{len(lines)} more", "kernel": "each below 0.5 %"} | there


def _texts(line: dict[str, Any]) -> dict[str, str]:
    """A line's numbers as text, a dash where a version doesn't run the kernel."""
    texts = {"calls": whole, "busy_ms": number, "share": percent}
    found = {"operator": str(line["operator"]), "kernel": str(line["kernel"])}
    for version in VERSIONS:
        for name, text in texts.items():
            key = f"{version}_{name}"
            found[key] = text(line[key]) if key in line else DASH
    return found
