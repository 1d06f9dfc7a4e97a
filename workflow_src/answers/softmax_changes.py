"""What each other precision changes of softmax's time and of the products', in answer (e)."""

import statistics
from collections.abc import Sequence

from workflow_src.answers import wording
from workflow_src.answers.evidence import Row
from workflow_src.answers.softmax_steps import CAST
from workflow_src.answers.wording import median_of
from workflow_src.common.traffic import PASSES

SAME_WITHIN = 0.05
"""Times that differ by at most this share count as the same."""


def changes(rows: Sequence[Row]) -> list[Row]:
    """What each other precision changes, by pairs of cases that differ only in precision.

    `base` is the precision that comes first. Times are given as median shares of the base's.
    """
    groups = wording.by_precision(rows)
    if not groups:
        return []
    base, *others = groups
    known = {wording.all_but(row, "precision"): row for row in groups[base]}
    found = []
    for precision in others:
        pairs = [
            (known[key], row)
            for row in groups[precision]
            if (key := wording.all_but(row, "precision")) in known
        ]
        if pairs:
            found.append({"base": base, "precision": precision} | change(pairs))
    return found


def change(pairs: Sequence[tuple[Row, Row]]) -> Row:
    """How times change between the cases of each pair, as medians over the pairs.

    `wide` are the steps that a GPU's autocast runs in float32, `narrow` those that it doesn't;
    `recorded`: the types that ran say so of all of them. cast_share and back_share are what casts
    take, as shares of softmax's time; None without.
    """
    after = [row for _, row in pairs]
    casts = [ms_of(row, [CAST]) / row["softmax_ms"] for row in after if ms_of(row, [CAST])]
    backs = [row["cast_back"]["ms"] / row["softmax_ms"] for row in after if row["cast_back"]]
    wide = [name for name, each in PASSES.items() if each.wide]
    narrow = [name for name, each in PASSES.items() if not each.wide]
    known = all("bytes_each" in row for pair in pairs for row in pair)
    return {
        "cases": len(pairs),
        "ratio": median_of(after, "time_ratio"),
        "softmax": median([new["softmax_ms"] / old["softmax_ms"] for old, new in pairs]),
        "matmul": median([new["matmul_ms"] / old["matmul_ms"] for old, new in pairs]),
        "wide": wide,
        "recorded": all(_in_float32(row, wide) for row in after),
        "wide_share": _step_share(pairs, wide),
        "narrow": narrow,
        "narrow_share": _step_share(pairs, narrow),
        "cast_share": median(casts),
        "back_share": median(backs),
        "bytes": [median([pair[at]["bytes_each"] for pair in pairs]) for at in (0, 1) if known],
    }


def median(values: Sequence[float]) -> float | None:
    """The median; None without values."""
    return float(statistics.median(values)) if values else None


def _step_share(pairs: Sequence[tuple[Row, Row]], names: Sequence[str]) -> float | None:
    """The median share of the first case's time that these steps take in the second."""
    return median(
        [ms_of(new, names) / ms_of(old, names) for old, new in pairs if ms_of(old, names)]
    )


def _in_float32(row: Row, names: Sequence[str]) -> bool:
    """Whether types were recorded for all of these steps of softmax, and are float32 alone."""
    types = [step.get("dtypes", ("",)) for step in row["steps"] if step["step"] in names]
    each = {kind for inputs in types for one in inputs for kind in one.split("; ")}
    return each == {"fp32"}


def ms_of(row: Row, names: Sequence[str]) -> float:
    """The time of some of softmax's steps; 0 if there are none."""
    return float(sum(step["ms"] for step in row["steps"] if step["step"] in names))
