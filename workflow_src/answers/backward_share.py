"""Why matrix products have another share of backward than of the forward pass, in answer (d).

Backward multiplies each product of the forward pass twice, once for the gradient of either factor.
Its share is larger than forward's exactly where its products take more times forward's than all
else in it does.
"""

from collections.abc import Mapping, Sequence

import pandas as pd
from markupsafe import Markup

from workflow_src.answers import kernel_words, layouts, wording
from workflow_src.answers.answer import Fact
from workflow_src.answers.evidence import Row, row_numbers
from workflow_src.answers.wording import median_of
from workflow_src.render import markdown
from workflow_src.render.markdown import Column

GRADIENTS = ("nn", "nt")
"""The layouts of a linear layer's input and weight gradients, where its forward pass is tn: see
answer (b). Attention's gradients are in both."""

TWICE = 2
"""Backward's FLOPs in products over the forward pass's."""

SAME_WITHIN = 0.10
"""A layout's time over the forward pass's counts as another if it differs by more than this."""

MIXED = 0.1
"""No verdict for a precision if more than this share of its cases contradict it."""

KEYS = ("products_times", "else_times", *GRADIENTS)


def measure(parts: Mapping[str, Row], step: pd.DataFrame) -> Row:
    """How many times the forward pass's time backward's products take, and all else in it.

    `parts` are those of one case's training step by name, `step` its rows of kernels.csv. With
    them go the times of backward's products in the layouts of GRADIENTS, each over that of all the
    forward pass's, which have as many FLOPs; only where names tell most products' layouts. Empty
    where either side has no products, or nothing else.
    """
    forward, backward = parts.get("forward"), parts.get("backward")
    if not forward or not backward or not all(_both_kinds(part) for part in (forward, backward)):
        return {}
    found = {
        "products_times": backward["matmul_ms"] / forward["matmul_ms"],
        "else_times": _else_ms(backward) / _else_ms(forward),
        "forward_part": forward["share"],
        "backward_part": backward["share"],
    }
    return found | _gradients(forward, step)


def _else_ms(part: Row) -> float:
    return float(part["ms"] - part["matmul_ms"])


def _both_kinds(part: Row) -> bool:
    return part["matmul_ms"] > 0 and _else_ms(part) > 0


def _gradients(forward: Row, step: pd.DataFrame) -> Row:
    mine = step[(step["family"] == "gemm") & step["path"].str.startswith("train_step/backward")]
    named = mine.assign(layout=mine["name"].map(kernel_words.layout))
    busy = named.groupby("layout")["busy_ns"].sum()
    if busy.get("", 0) > layouts.UNTOLD * busy.sum():
        return {}
    once = forward["matmul_ms"] * 1e6 * step["steps"].max()
    return {layout: float(busy.get(layout, 0) / once) for layout in GRADIENTS} | {
        "gradient_rows": row_numbers(mine)
    }


def facts_of(case: str, row: Row) -> list[Fact]:
    """What was measured of one case, as facts."""
    sources = tuple(f"train_step/{part}/{x}" for part in ("forward", "backward") for x in PARTS)
    found = [
        Fact(case, f"backward/{name}", row[name], "1", derived_from=sources)
        for name in ("products_times", "else_times")
        if name in row
    ]
    return found + [
        Fact(case, f"backward/{name}/times", row[name], "1", "kernels", row["gradient_rows"])
        for name in GRADIENTS
        if name in row
    ]


PARTS = ("ms", "share")


def summarize(rows: Sequence[Row]) -> list[Row]:
    """Medians by precision, over the cases with both: a row each, with the words for its cause.

    `richer` and `poorer`: in how many cases backward's share is larger, or smaller; `mostly` says
    in how many of what number the more are. `mixed`: neither holds in nearly all; `richer_at` and
    `poorer_at` are the contexts at which one does. `changed`: whether the products' time
    ("products") is further from TWICE than that of all else ("else"); "" where neither is off by
    more than SAME_WITHIN, where the medians of times don't tell which share is larger, or where
    cases are mixed. `slow`: the layouts that take longer than the forward pass's products, and how
    many times as long, the slower one first.
    """
    return [
        _precision_row(precision, mine)
        for precision, mine in wording.by_precision(rows).items()
    ]  # fmt: skip


def _precision_row(precision: str, rows: Sequence[Row]) -> Row:
    keys = [key for key in KEYS if all(key in row for row in rows)]
    row: Row = {"precision": precision, "cases": len(rows)}
    row |= {key: median_of(rows, key) for key in (*keys, "forward_part", "backward_part")}
    off = {name: abs(row[f"{name}_times"] / TWICE - 1) for name in ("products", "else")}
    most = max(off, key=lambda name: off[name])
    found = [(key, row[key]) for key in GRADIENTS if key in row]
    slow = [each for each in found if each[1] > 1 + SAME_WITHIN]
    row |= _directions(rows)
    larger = row["richer"] > row["poorer"]
    tells = not row["mixed"] and larger == (row["products_times"] > row["else_times"])
    return row | {
        "changed": most if tells and off[most] > SAME_WITHIN else "",
        "slow": sorted(slow, key=lambda each: -each[1]),
    }


def _directions(rows: Sequence[Row]) -> Row:
    """In how many cases backward's share is larger and smaller, and at which contexts in all."""
    more = [(row["context"], row["backward_part"] - row["forward_part"]) for row in rows]
    richer, poorer = sum(by > 0 for _, by in more), sum(by < 0 for _, by in more)
    contexts = sorted({context for context, _ in more})
    return {
        "richer": richer,
        "poorer": poorer,
        "mostly": wording.in_cases(max(richer, poorer), len(rows)) if rows[1:] else "",
        "mixed": min(richer, poorer) > MIXED * len(rows),
        "richer_at": [c for c in contexts if all(by > 0 for context, by in more if context == c)],
        "poorer_at": [c for c in contexts if all(by < 0 for context, by in more if context == c)],
    }


def table(rows: Sequence[Row]) -> Markup:
    """A line per precision: shares in forward and backward, and the times that make them differ."""
    columns = [
        Column("precision", "precision"),
        Column("share in forward", "forward_part", markdown.percent),
        Column("in backward", "backward_part", markdown.percent),
        Column("products, backward / forward", "products_times", markdown.number),
        *(
            Column(f"in {key}", key, markdown.number)
            for key in GRADIENTS
            if all(key in row for row in rows)
        ),
        Column("all else, backward / forward", "else_times", markdown.number),
    ]
    return markdown.markdown_table([row | {"state": "ok"} for row in rows], columns)
