"""What the precision study finds about types: which are narrow, and what LayerNorm needs."""

from collections.abc import Mapping, Sequence
from typing import Any

from workflow_src.studies.precision.points import OVERFLOWS


def kept_low(types: Sequence[Mapping[str, Any]], autocast: str) -> list[str]:
    """The tensors that are not float32 under autocast to `autocast`."""
    return [row["tensor"] for row in types if row[f"autocast_{autocast}"] != "float32"]


KINDS = {
    "parameters": "(parameter)",
    "gradients": "(gradient)",
    "LayerNorm's output": "norm (output)",
}
"""What tensors are called together, by what their names end with."""


def kept(types: Sequence[Mapping[str, Any]]) -> list[str]:
    """The kinds of tensors that are float32 under every autocast."""
    low = {*kept_low(types, "fp16"), *kept_low(types, "bf16")}
    return [
        words
        for words, end in KINDS.items()
        if (mine := {row["tensor"] for row in types if row["tensor"].endswith(end)})
        and mine.isdisjoint(low)
    ]


def wide_norm(norms: Sequence[Mapping[str, Any]]) -> float:
    """The largest error of LayerNorm with its statistics in float32."""
    wide = (row["largest_error"] for row in norms if row["statistics"] == "fp32")
    return float(max(wide, default=0.0))


def narrow_norms(norms: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """LayerNorm with its statistics in each 16-bit type: its error, and where it overflows.

    `error` is the largest one where no variance overflows, `of_stored` the same as a multiple of
    what storing the output in that type costs; `overflows_at` are the standard deviations of the
    input at which one does, `then` the largest error there.
    """
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in norms:
        if row["statistics"] == row["variant"]:
            found.setdefault(row["variant"], []).append(row)
    return [{"type": name} | _errors(rows) for name, rows in found.items()]


def _errors(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    over = [row for row in rows if row["variance"] == OVERFLOWS]
    fine = [row for row in rows if row not in over]
    worst = max(fine, key=lambda row: float(row["largest_error"]), default=None)
    return {
        "error": worst and worst["largest_error"],
        "of_stored": worst and worst["largest_error"] / worst["stored_error"],
        "overflows_at": [row["deviation"] for row in over],
        "then": max((row["largest_error"] for row in over), default=None),
    }
