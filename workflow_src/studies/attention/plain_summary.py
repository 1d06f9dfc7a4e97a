"""What the attention study says of the plain module: times beside ours, and kernels by product."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from workflow_src.common.thresholds import LAUNCH_BOUND_BELOW
from workflow_src.render.markdown import Column, markdown_table, number, percent, plain, whole
from workflow_src.studies.study import Row

PRODUCTS = ("q", "k", "v", "qkv", "scores", "softmax", "values", "output")
"""The ranges of both modules, in the order in which they run."""


def compared(rows: Sequence[Row], kernels: Sequence[Row]) -> list[dict[str, Any]]:
    """Per batch and context where both modules ran: their medians in ms, and plain's over ours.

    `plain_busy` and `packed_busy` are the shares of them in which a GPU is busy; None if unknown.
    """
    found: dict[tuple[Any, Any], dict[str, Row]] = {}
    for row in rows:
        if row["status"] == "ok":
            found.setdefault((row["batch"], row["context"]), {})[row["implementation"]] = row
    return [
        _pair(ran["plain"], ran["packed"], kernels)
        for _, ran in sorted(found.items())
        if {"plain", "packed"} <= ran.keys()
    ]


def _pair(separate: Row, packed: Row, kernels: Sequence[Row]) -> dict[str, Any]:
    """The module with separate projections and the packed one at one shape; times in ms."""
    return {
        "batch": int(separate["batch"]),
        "context": int(separate["context"]),
        "plain_ms": separate["median_ms"],
        "packed_ms": packed["median_ms"],
        "ratio": separate["median_ms"] / packed["median_ms"],
        "plain_busy": _busy_share(separate, kernels),
        "packed_busy": _busy_share(packed, kernels),
    }


def _busy_share(row: Row, kernels: Sequence[Row]) -> float | None:
    """The busy time of a module's kernels over its median; None on a CPU or without a profile."""
    shape = {"batch": row["batch"], "context": row["context"]}
    mine = [k["busy_ms"] for k in _of(kernels, row["implementation"], shape)]
    return sum(mine) / row["median_ms"] if mine and row.get("gpu") else None


def summarize_plain(rows: Sequence[Row], kernels: Sequence[Row]) -> dict[str, Any] | None:
    """The comparison, its extremes, and where the plain module's time goes; None without one."""
    pairs = compared(rows, kernels)
    if not pairs:
        return None
    most = max(pairs, key=lambda pair: (pair["batch"] * pair["context"], pair["context"]))
    return {
        "pairs": pairs,
        "low": min(pairs, key=lambda pair: float(pair["ratio"])),
        "high": max(pairs, key=lambda pair: float(pair["ratio"])),
        "shown": most,
        "longest": _longest(_of(kernels, "plain", most)),
        **_launch_bound(pairs),
    }


def _longest(kernels: Sequence[Row]) -> dict[str, Any] | None:
    """The product on which these kernels spend most: ms, and share of their total."""
    places = {name: sum(r["busy_ms"] for r in kernels if r["product"] == name) for name in PRODUCTS}
    total = sum(row["busy_ms"] for row in kernels)
    longest = max(places, key=lambda name: places[name])
    if not total:
        return None
    return {"product": longest, "ms": places[longest], "share": places[longest] / total}


def _launch_bound(pairs: Sequence[Row]) -> dict[str, Any]:
    """How many shapes were profiled on a GPU, and the ratios by whether launching bounds them.

    `waiting` are the ratios of shapes at which the device is busy for less than LAUNCH_BOUND_BELOW
    of either module's time, `working` those of the others.
    """
    profiled = [pair for pair in pairs if None not in (pair["plain_busy"], pair["packed_busy"])]
    waiting = [
        pair
        for pair in profiled
        if min(pair["plain_busy"], pair["packed_busy"]) < LAUNCH_BOUND_BELOW
    ]
    return {
        "profiled": len(profiled),
        "waiting": [pair["ratio"] for pair in waiting],
        "working": [pair["ratio"] for pair in profiled if pair not in waiting],
        "bound_below": LAUNCH_BOUND_BELOW,
    }


def _of(kernels: Sequence[Row], implementation: str, shape: dict[str, Any]) -> list[Row]:
    """The kernels of one module at one batch and context."""
    mine = [row for row in kernels if row["implementation"] == implementation]
    return [row for row in mine if _is_at(row, shape)]


def _is_at(row: Row, shape: dict[str, Any]) -> bool:
    return (int(row["batch"]), int(row["context"])) == (shape["batch"], shape["context"])


def plain_tables(rows: Sequence[Row], kernels: Sequence[Row]) -> dict[str, Markup]:
    """The times by batch and context, and both modules' kernels by product at the largest shape."""
    found = summarize_plain(rows, kernels)
    if not found:
        return {"plain": Markup(""), "plain_kernels": Markup("")}
    columns = [
        Column("batch", "batch", plain),
        Column("context", "context", plain),
        Column("plain, ms", "plain_ms", number),
        Column("this project's, ms", "packed_ms", number),
        Column("plain / this project's", "ratio", number),
    ]
    if found["profiled"]:
        columns.append(Column("plain: busy", "plain_busy", percent))
        columns.append(Column("this project's: busy", "packed_busy", percent))
    shown = [row for row in kernels if _is_at(row, found["shown"]) and row["product"] in PRODUCTS]
    shown.sort(key=lambda row: (row["implementation"] != "plain", PRODUCTS.index(row["product"])))
    return {
        "plain": markdown_table(found["pairs"], columns),
        "plain_kernels": markdown_table(
            shown,
            [
                Column("module", "words"),
                Column("product or step", "product"),
                Column("kernel", "kernel"),
                Column("calls", "calls", whole),
                Column("busy, ms", "busy_ms", number),
            ],
        ),
    }
