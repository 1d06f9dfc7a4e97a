"""Two tables side by side, and the verdicts on how they differ: B against A."""

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from workflow_src.paper.number import Number, Numbers, each, is_number, over

PLAIN_BEYOND = 0.01
"""Smaller changes of plain time don't matter, unless another threshold is given."""

DEVICE_BEYOND = 0.02
"""Device time counts as changed beyond this share, or the threshold if that is larger.

From process to process and from host to host it repeats within 1 % (benchmarks/README.md); twice
that is no chance.
"""

WORK_CHANGED = 0.05
"""A kernel's time changed if it differs by more than this share of it, ..."""

WORK_MATTERS = 0.001
"""... and by more than this share of the device time of all."""

RATIO_DIGITS = 4
ZERO = Number(0.0, "ms", formula="0")


class Verdict(StrEnum):
    """What is said of a change."""

    SLOWER = "slower"
    FASTER = "faster"
    SAME = "no difference shown"
    UNKNOWN = "can't tell"


class Kind(StrEnum):
    """Which time of a phase, or of a captured step, it is."""

    DEVICE = "device time"
    REPLAY = "as a CUDA graph"
    PLAIN = "plain time"
    STEP = "from step to step, under the profiler"


class Work(StrEnum):
    """How a kernel or a finding changed."""

    APPEARED = "appeared"
    VANISHED = "vanished"
    CALLED = "calls changed"
    TIMED = "time changed"
    UNKNOWN = "saving unknown"


def beside(a: pd.DataFrame, b: pd.DataFrame, how: str = "outer") -> pd.DataFrame:
    """Rows of one index side by side, as a_... and b_..., whose numbers say whose rows they rest
    on.

    in_a, in_b: whether each has the row, as a number may be missing where the row isn't.
    """
    ours, theirs = (_sided(frame, side) for frame, side in ((a, "A"), (b, "B")))
    both = ours.add_prefix("a_").join(theirs.add_prefix("b_"), how=how)  # type: ignore[arg-type]
    return both.assign(in_a=both.index.isin(a.index), in_b=both.index.isin(b.index))


def _sided(frame: pd.DataFrame, side: str) -> pd.DataFrame:
    def told(number: Number) -> Number:
        rows = frozenset((f"{side}: {table}", line) for table, line in number.rows)
        return replace(number, rows=rows, formula=f"{side}: {number.formula}")

    texts = [name for name in frame if frame[name].dtype == object]
    return frame.assign(**{str(name): each(frame[name], told) for name in texts})


def spread(rows: pd.DataFrame, by: str | list[str], column: str) -> pd.DataFrame:
    """The median (ms), the least and the most of a time in each group."""
    ends = {"ms": "median", "least": "min", "most": "max"}
    found = {name: over(rows, by, column, how, "ms") for name, how in ends.items()}
    return pd.DataFrame(found, dtype=object).astype({"least": float, "most": float})


def with_ratio(both: pd.DataFrame) -> pd.DataFrame:
    """With `ratio`, b_ms / a_ms, where that is known."""
    ratio = both["b_ms"].astype(object) / both["a_ms"].astype(object)
    return both.assign(ratio=each(ratio, partial(replace, digits=RATIO_DIGITS)))


def apart(both: pd.DataFrame, threshold: float = 0.0) -> pd.Series:
    """The verdicts on work that the host doesn't decide, by ms, least and most of A and B.

    A verdict takes ranges that don't overlap, and medians that differ by more than DEVICE_BEYOND
    or, if that is more, `threshold`.
    """
    ratio, beyond = both["ratio"].astype(float), 1 + max(DEVICE_BEYOND, threshold)
    slower = (both["b_least"] > both["a_most"]) & (ratio > beyond)
    faster = (both["b_most"] < both["a_least"]) & (ratio < 1 / beyond)
    return chosen({Verdict.SLOWER: slower, Verdict.FASTER: faster}, Verdict.SAME)


def chosen(rules: Mapping[Any, Any], otherwise: str = "") -> pd.Series:
    """In each row the name of the first rule that holds."""
    found = np.select([*rules.values()], [*rules], otherwise)
    return pd.Series(found, next(iter(rules.values())).index, dtype=object)


def work_kind(both: pd.DataFrame, whole: pd.Series | float) -> pd.Series:
    """How each kernel changed, "" if it didn't, by calls and ms of A and B.

    whole: the device time of all kernels of A beside it, ms.
    """
    ms, more = (both[name].astype(float) for name in ("a_ms", "b_ms"))
    calls, again = (both[name].astype(float) for name in ("a_calls", "b_calls"))
    limit = np.maximum(WORK_CHANGED * ms, WORK_MATTERS * whole)
    rules = {
        Work.APPEARED: ~both["in_a"],
        Work.VANISHED: ~both["in_b"],
        Work.CALLED: ~np.isclose(calls, again, rtol=1e-9, atol=0),
        Work.TIMED: (more - ms).abs() > limit,
    }
    return chosen(rules)


def by_change(both: pd.DataFrame, of: str = "ms", name: str = "change_ms") -> pd.DataFrame:
    """With how much more B has of something, as `name`; largest first. 0 stands for a row that one
    lacks; what isn't known in one that has the row is no change that is known."""
    ours, theirs = (
        both[f"{side}_{of}"].astype(object).where(both[f"in_{side}"], ZERO) for side in "ab"
    )
    made = both.drop(columns=["in_a", "in_b"]).assign(**{name: theirs - ours})
    return largest_first(made, made[name])


def largest_first(rows: pd.DataFrame, by: Numbers) -> pd.DataFrame:
    """Rows by the size of a change."""
    return rows.iloc[np.argsort(-by.astype(float).abs().to_numpy(), kind="stable")]


def as_floats(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows whose Numbers are floats, for a CSV or JSON."""
    return rows.map(lambda cell: float(cell) if is_number(cell) else cell)
