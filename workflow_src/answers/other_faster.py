"""How much faster products and all else are at another precision, in answer (c)."""

import statistics
from collections.abc import Mapping, Sequence

from workflow_src.answers import wording
from workflow_src.answers.evidence import Row

SAME_WITHIN = 0.05
"""Times that differ by at most this share count as the same."""


def faster(by_precision: Mapping[str, Sequence[Row]]) -> list[Row]:
    """The time of products, and of all else, as a share of that at the first precision: medians.

    A row per other precision, over the cases that were measured at both. `without_casts`: the same
    for all else but casts; None if the precision has no casts.
    """
    first, *others = by_precision or [""]
    base = {wording.all_but(row, "precision"): row for row in by_precision.get(first, ())}
    found = []
    for precision in others:
        pairs = [
            (base[key], row)
            for row in by_precision[precision]
            if (key := wording.all_but(row, "precision")) in base
        ]
        pairs = [(a, b) for a, b in pairs if a["matmul_ms"] > 0 and a["besides_ms"] > 0]
        if pairs:
            about = {"precision": precision, "first": first, "cases": len(pairs)}
            found.append(about | _parts(pairs))
    return found


def _parts(pairs: Sequence[tuple[Row, Row]]) -> Row:
    matmul, besides = (
        float(statistics.median(b[ms] / a[ms] for a, b in pairs))
        for ms in ("matmul_ms", "besides_ms")
    )
    casts = any(b["casts"]["calls"] for _, b in pairs)
    without = ((b["besides_ms"] - b["casts"]["ms"]) / a["besides_ms"] for a, b in pairs)
    return {
        "matmul_part": matmul,
        "besides_part": besides,
        "slower_by": besides - 1,
        "without_casts": float(statistics.median(without)) if casts else None,
    }


def rest_moves(found: Sequence[Row]) -> Row:
    """Whether all else gains in some precision or stays the same, and the rows where it loses."""
    parts = [row["besides_part"] for row in found]
    return {
        "gains": any(part < 1 - SAME_WITHIN for part in parts),
        "same": any(abs(part - 1) <= SAME_WITHIN for part in parts),
        "slower": [row for row in found if row["slower_by"] > SAME_WITHIN],
    }
