"""What the section of the levers study says of each case: what pays, and what it costs."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pandas as pd

from workflow_src.common.remedies import in_words
from workflow_src.render.markdown import signed_number
from workflow_src.studies.levers import scores
from workflow_src.studies.levers.analyze import (
    alone,
    broken,
    by_case,
    device_saving,
    measured_stack,
    plain_of,
    shown,
    steps,
)
from workflow_src.studies.levers.points import PLAIN, variants
from workflow_src.studies.study import Row

WORTH = 0.03
"""A remedy that saves less than this share of the training step is not worth its change."""


def summarize(table: pd.DataFrame) -> dict[str, Any]:
    """Values for the template: per case what to change, and how predictions fared."""
    rows = steps(table)
    tried = [row for row in rows if row["variant"] != PLAIN]
    return scores.summarize(table) | {
        "cases": [_case(name, mine) for name, mine in by_case(table).items()],
        "worth": WORTH,
        "on_cpu": "cpu" in set(table["device"]),
        "processes": sorted({int(row["processes"]) for row in tried if row.get("processes")}),
        "lost": [row for row in tried if row["status"] != "ok"],
    }


def _case(name: str, rows: Sequence[Row]) -> Row:
    """What the section says of one case.

    More batches in a step save no time of the same step, and broken gradients nothing at all.
    """
    plain = plain_of(rows)
    errors = _errors(rows, plain)
    done = [row for row in rows if row["status"] == "ok" and not (row.get("batches") or 1) > 1]
    done = [row for row in done if row["words"] not in errors["broken"]]
    every = [row for row in alone(done) if row.get("saving_share") is not None]
    tried = [row for row in every if shown(row, plain)]
    best = max(tried, key=lambda row: float(row["saving_share"]), default=None)
    gains = [
        row | {"step_ms": before["median_ms"] - row["median_ms"]}
        for before, row in pairwise(measured_stack(done))
    ]
    return {
        "case": name,
        "plain_ms": plain.get("median_ms"),
        "plain_reason": plain.get("reason", ""),
        "ran": done,
        "first": best if best and best["saving_share"] >= WORTH else None,
        "near": [row for row in tried if best and row is not best and not shown(row, best)],
        "gains": gains,
        "alone": len(every),
        "unsure": [row for row in every if row not in tried],
        "least": min(done, key=lambda row: float(row["median_ms"]), default=None),
        "not_worth": [row["last"] for row in tried if 0 <= row["saving_share"] < WORTH],
        "slower": _slower(tried, plain),
        "absent": _absent(rows),
        "errors": errors,
    }


def _slower(tried: Sequence[Row], plain: Row) -> Row:
    """The remedies that make a step longer, the worst first; lighter: those of them with less work.

    least and most: the shares of the device's work that these save, if there are any.
    """
    rows = [
        {"words": row["last"], "share": -row["saving_share"], "device": device_saving(row, plain)}
        for row in sorted(tried, key=lambda row: float(row["saving_share"]))
        if row["saving_share"] < 0
    ]
    lighter = [row for row in rows if (row["device"] or 0.0) >= WORTH]
    shares = sorted(row["device"] for row in lighter)
    ends = {"least": shares[0], "most": shares[-1]} if shares else {}
    return {"rows": rows, "lighter": [row["words"] for row in lighter]} | ends


def _absent(rows: Sequence[Row]) -> list[str]:
    """The variants of a case that the table lacks: remedies alone, then those put on top."""
    there = {row["variant"] for row in rows}
    every = variants(rows[0]["precision"], rows[0]["device"]) if "precision" in rows[0] else []
    lacking = [each.remedies for each in every if each.name not in there and each.remedies]
    single = [in_words(names[0]) for names in lacking if len(names) == 1]
    on_top = [in_words(names[-1]) for names in lacking if len(names) > 1]
    parts = [", ".join(single), "on top of the others " + ", ".join(on_top) if on_top else ""]
    return [part for part in parts if part]


def _errors(rows: Sequence[Row], plain: Row) -> Row:
    """Errors of gradients against float32: the plain step's own, and by how much others differ.

    least and most: the variants with the smallest and the largest error, with the difference to
    the plain one's in percentage points; broken: those whose gradients are not finite, though the
    plain one's are; mended: those of these that are finite once values inside of compiled kernels
    are rounded; unmended: those that aren't even so; plain_broken: whether the plain one's aren't.
    """
    compared = [row for row in rows if row.get("error_state") == "ok" and row is not plain]
    own = plain.get("gradients_error")
    plain_broken = plain.get("error_state") == "ok" and own is None
    known = [row for row in compared if row.get("gradients_error") is not None]
    for row in known:
        row["points"] = signed_number(100 * (row["gradients_error"] - (own or 0.0)))
    broke = [row for row in compared if broken(row, plain)]
    again = [row for row in broke if row.get("rounded_state") == "ok"]
    ordered = sorted(known, key=lambda row: float(row["gradients_error"]))
    return {
        "plain": own,
        "least": ordered[0] if ordered else None,
        "most": ordered[-1] if ordered else None,
        "broken": [row["words"] for row in broke],
        "mended": [r for r in again if r.get("rounded_gradients_error") is not None],
        "unmended": [r["words"] for r in again if r.get("rounded_gradients_error") is None],
        "plain_broken": plain_broken,
    }
