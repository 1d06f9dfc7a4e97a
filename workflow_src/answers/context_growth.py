"""How the share besides products changes over contexts, and what grows how much."""

import statistics
from collections.abc import Sequence
from itertools import pairwise

from workflow_src.answers import evidence
from workflow_src.answers.evidence import Row

STEADY_WITHIN = 0.01
"""A share that changes by at most this much over contexts is called steady."""

QUADRATIC = ("scores and mask", "softmax")
"""The components whose work besides products is all on the T x T matrix."""


def besides_of(row: Row) -> float:
    """The share besides products."""
    return float(row["besides"])


def growth(rows: Sequence[Row]) -> Row:
    """What grows how much over contexts, in the cases of one precision.

    Medians, over the series between the commonest pair of contexts, of the time at the longest
    context over that at the shortest: of the components on the T x T matrix, of all else besides
    products, and of products. `rises` says in how many of them the share rises, `dips` in how
    many of those it falls between two neighbors. Empty without a series.
    """
    runs = evidence.over_contexts(rows)
    if not runs:
        return {}
    ends = [(int(run[0]["context"]), int(run[-1]["context"])) for run in runs]
    shortest, longest = max(ends, key=lambda pair: (ends.count(pair), pair[1] - pair[0]))
    mine = [run for run, pair in zip(runs, ends, strict=True) if pair == (shortest, longest)]
    rising = [run for run in mine if besides_of(run[-1]) - besides_of(run[0]) > STEADY_WITHIN]
    found: Row = {
        "contexts": f"{shortest} to {longest}",
        "rises": f"{len(rising)} of {len(mine)}",
        "dips": sum(map(_dips, rising)),
    }
    for name, value in (("square", square_ms), ("else", else_ms), ("products", products_ms)):
        grown = [value(run[-1]) / value(run[0]) for run in mine if value(run[0]) > 0]
        if grown:
            found[name] = float(statistics.median(grown))
    return found


def square_fastest(row: Row) -> bool:
    """Whether the components on the T x T matrix grow faster than all else."""
    others = (row.get("else", 0.0), row.get("products", 0.0))
    return bool(row.get("square", 0.0) > max(others))


def _dips(run: Sequence[Row]) -> bool:
    steps = pairwise(run)
    return any(besides_of(after) < besides_of(before) - STEADY_WITHIN for before, after in steps)


def square_ms(row: Row) -> float:
    """Time besides products on the T x T matrix."""
    return float(sum(row["components"].get(name, {}).get("besides_ms", 0.0) for name in QUADRATIC))


def else_ms(row: Row) -> float:
    """Time besides products elsewhere."""
    return float(row["besides_ms"]) - square_ms(row)


def products_ms(row: Row) -> float:
    """Time of matrix products."""
    return float(row["matmul_ms"])
