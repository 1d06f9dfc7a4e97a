"""What the attention study says of the plain module: times beside ours, and kernels by product."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from workflow_src.render.markdown import Column, markdown_table, number, plain, whole
from workflow_src.studies.study import Row

PRODUCTS = ("q", "k", "v", "qkv", "scores", "softmax", "values", "output")
"""The ranges of both modules, in the order in which they run."""


def compared(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Per batch and context where both modules ran: their medians in ms, and plain's over ours."""
    found: dict[tuple[Any, Any], dict[str, float]] = {}
    for row in rows:
        if row["status"] == "ok":
            found.setdefault((row["batch"], row["context"]), {})[row["implementation"]] = row[
                "median_ms"
            ]
    return [
        {"batch": int(batch), "context": int(context), "plain_ms": ms["plain"]}
        | {"packed_ms": ms["packed"], "ratio": ms["plain"] / ms["packed"]}
        for (batch, context), ms in sorted(found.items())
        if {"plain", "packed"} <= ms.keys()
    ]


def summarize_plain(rows: Sequence[Row], kernels: Sequence[Row]) -> dict[str, Any] | None:
    """The comparison, its extremes, and where the plain module's time goes; None without one."""
    pairs = compared(rows)
    if not pairs:
        return None
    most = max(pairs, key=lambda pair: (pair["batch"] * pair["context"], pair["context"]))
    mine = [r for r in kernels if r["implementation"] == "plain" and _is_at(r, most)]
    places = {name: sum(r["busy_ms"] for r in mine if r["product"] == name) for name in PRODUCTS}
    total = sum(row["busy_ms"] for row in mine)
    longest = max(places, key=lambda name: places[name])
    return {
        "pairs": pairs,
        "low": min(pairs, key=lambda pair: float(pair["ratio"])),
        "high": max(pairs, key=lambda pair: float(pair["ratio"])),
        "shown": most,
        "longest": {"product": longest, "ms": places[longest], "share": places[longest] / total}
        if total
        else None,
    }


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
