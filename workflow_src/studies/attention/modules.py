"""Small modules around an attention: before and after SDPA, and as attention is often written."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from workflow_src.paper.value import Cell, Joined, Value, merged, ratio, total
from workflow_src.placing.kernel_names import NO_KERNEL
from workflow_src.studies.attention.passes import Both, both, name
from workflow_src.studies.attention.points import VERSIONS
from workflow_src.studies.lines import Line, grouped, joined, shown, where

PRODUCTS = ("q", "k", "v", "qkv", "scores", "softmax", "values", "output")
"""The ranges of the plain module and of this project's, in the order in which they run."""

SMALL_SHARE = 0.005
"""Kernels below this share both before and after SDPA are summed in one row."""


@dataclass(frozen=True)
class Modules:
    """Tables of small modules.

    `changes`: a module by context, written out -> SDPA; `kernels`: its kernels at each context.
    `counted`: how many kernels nsys summarizes, `differing`: of how many torch.profiler counts
    other calls. `plain`: attention as it is often written and this project's, by shape;
    `plain_kernels`: the kernels of both at the largest.
    """

    changes: pd.DataFrame
    kernels: tuple[pd.DataFrame, ...]
    counted: Value | None
    differing: Value | None
    plain: pd.DataFrame
    plain_kernels: pd.DataFrame


def modules(every: Sequence[Line]) -> Modules:
    """The tables of the study's modules."""
    sweeps = {mine[0].text("sweep"): mine for mine in grouped(every, "sweep")}
    kernels = [line for line in sweeps.get("kernel", []) if line.ok]
    by_nsys = [line for line in sweeps.get("nsys", []) if line.ok]
    products = [line for line in sweeps.get("plain_kernel", []) if line.ok]
    pairs = plain_pairs(sweeps.get("plain", []))
    counted, differing = calls_compared(by_nsys, kernels)
    return Modules(
        changes=changes(both(sweeps.get("module", [])), kernels),
        kernels=tuple(_kernels(mine) for mine in grouped(kernels, "context")),
        counted=counted,
        differing=differing,
        plain=shown([_pair(*pair, products) for pair in pairs]),
        plain_kernels=_by_product(pairs[-1][0], products) if pairs else shown([]),
    )


def changes(measured: Sequence[Both], kernels: Sequence[Line]) -> pd.DataFrame:
    """A row per context at which both versions ran, each cell before -> after SDPA."""
    rows = []
    for context in sorted({each.context for each in measured}):
        here = {e.forward.text("implementation"): e for e in measured if e.context == context}
        if set(VERSIONS) <= here.keys():
            versions = [here[version] for version in VERSIONS]
            rows.append(_change(context, versions, [_device(each, kernels) for each in versions]))
    return shown(rows)


def _change(
    context: int, versions: Sequence[Both], device: Sequence[Value | None]
) -> dict[str, Cell]:
    before, after = versions
    return {
        "context": context,
        "forward + backward, ms": Joined((before.total, after.total)),
        "times as fast": ratio(before.total, after.total, "times"),
        "kernels": joined(each.kernels for each in versions),
        "device time, ms": joined(device),
        "memory, MiB": joined(each.memory for each in versions),
    }


def _device(each: Both, kernels: Sequence[Line]) -> Value | None:
    """The device time of a version's kernels; None without a profile, and on a CPU."""
    mine = _of(each.forward, kernels, "implementation", "context")
    return total([k.value("busy_ms", "ms") for k in mine]) if each.forward.text("gpu") else None


def _kernels(mine: Sequence[Line]) -> pd.DataFrame:
    """The kernels of one context by the operator that launched them, most time first."""
    groups = grouped(mine, "operator", "kernel", "family")
    groups.sort(key=_largest, reverse=True)
    rest = [line for group in groups if _largest(group) < SMALL_SHARE for line in group]
    by = f"context {mine[0].whole('context')}: launched by"
    rows = [
        {
            by: group[0].text("operator") or "(none)",
            "kernel": group[0].text("kernel"),
            **_versions(group),
        }
        for group in groups
        if _largest(group) >= SMALL_SHARE
    ]
    others = {by: "others", "kernel": "each below 0.5 %", **_versions(rest)}
    return shown([*rows, others] if rest else rows)


def _largest(group: Sequence[Line]) -> float:
    return max(line.amount("share") for line in group)


def _versions(group: Sequence[Line]) -> dict[str, Cell]:
    """Calls, device time and its share, before -> after SDPA."""
    versions = [where(group, implementation=version) for version in VERSIONS]
    return {
        heading: Joined(tuple(total([k.value(column, unit) for k in mine]) for mine in versions))
        for heading, column, unit in KERNEL_COLUMNS
    }


KERNEL_COLUMNS = (
    ("calls", "calls", "count"),
    ("device time, ms", "busy_ms", "ms"),
    ("share", "share", "share"),
)


def calls_compared(
    by_nsys: Sequence[Line], kernels: Iterable[Line]
) -> tuple[Value | None, Value | None]:
    """How many kernels nsys summarizes, and of how many torch.profiler counts other calls a pass.

    None where nsys has no summary.
    """
    if not by_nsys:
        return None, None
    summed, passes = _calls(by_nsys), by_nsys[0].whole("passes") or 0
    versions = {key[:2] for key in summed}
    profiled = {key: n for key, n in _calls(kernels).items() if key[:2] in versions}
    differing = {key for key in summed | profiled if summed[key] != passes * profiled.get(key, 0)}
    rows = merged(line.rows for line in (*by_nsys, *kernels))
    names = [Value(len(found), "count", rows, "kernels") for found in (summed, differing)]
    return names[0], names[1]


def _calls(kernels: Iterable[Line]) -> Counter[tuple[str, str, str]]:
    """Calls by version of the module, context and kernel, without memory copies and sets."""
    found: Counter[tuple[str, str, str]] = Counter()
    for line in kernels:
        if not line.text("kernel").startswith(NO_KERNEL):
            key = line.text("implementation"), line.text("context"), line.text("kernel")
            found[key] += round(line.amount("calls"))
    return found


Pair = tuple[Line, Line]
"""The plain module and this project's at one shape."""


def plain_pairs(plain: Sequence[Line]) -> list[Pair]:
    """Where both modules ran, the largest shape last."""
    pairs = []
    for mine in grouped([line for line in plain if line.has("median_ms")], "batch", "context"):
        ran = {line.text("implementation"): line for line in mine if line.ok}
        if {"plain", "packed"} <= ran.keys():
            pairs.append((ran["plain"], ran["packed"]))
    return sorted(pairs, key=lambda pair: _size(pair[0]))


def _size(line: Line) -> tuple[float, float]:
    return line.amount("batch") * line.amount("context"), line.amount("context")


def _pair(separate: Line, packed: Line, products: Sequence[Line]) -> dict[str, Cell]:
    times = separate.value("median_ms", "ms"), packed.value("median_ms", "ms")
    return {
        "batch": separate.whole("batch"),
        "context": separate.whole("context"),
        "plain, ms": times[0],
        "this project's, ms": times[1],
        "plain / this project's": ratio(*times, "times"),
        "plain: device works": _working(separate, products),
        "this project's: device works": _working(packed, products),
    }


def _working(module: Line, products: Sequence[Line]) -> Value | None:
    """The share of a module's time in which a GPU works; None without a profile."""
    mine = _of(module, products, "implementation", "batch", "context")
    busy = total([line.value("busy_ms", "ms") for line in mine])
    return ratio(busy, module.value("median_ms", "ms"), "share") if module.text("gpu") else None


def _of(module: Line, kernels: Sequence[Line], *columns: str) -> list[Line]:
    """The kernels that agree with a module in some columns."""
    return where(kernels, **{column: module.text(column) for column in columns})


def _by_product(module: Line, products: Sequence[Line]) -> pd.DataFrame:
    """The kernels of both modules at one shape, by product in the order in which they run."""
    here = _of(module, products, "batch", "context")
    mine = [line for line in here if line.text("product") in PRODUCTS]
    mine.sort(key=lambda line: PRODUCTS.index(line.text("product")))
    mine.sort(key=lambda line: line.text("implementation") != "plain")
    return shown(
        [
            {
                "module": name(line),
                "product or step": line.text("product"),
                "kernel": line.text("kernel"),
                "calls": line.value("calls", "count"),
                "device time, ms": line.value("busy_ms", "ms"),
            }
            for line in mine
        ]
    )
