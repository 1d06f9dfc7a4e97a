"""The device time of one phase of one case: by kernel, family and component, with its rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import pandas as pd

from workflow_src.answers.components import with_components
from workflow_src.answers.tables import Tables
from workflow_src.answers.times import captured_state
from workflow_src.common.units import NS_PER_MS
from workflow_src.paper.value import Value, ratio, rows_of, value
from workflow_src.placing import kernel_words

PRODUCTS = frozenset({"gemm", "attention"})
"""The families that multiply matrices: plain products, and fused attention's kernels."""

KERNEL_KINDS = ("kernel", "operator")
"""What isn't a memory copy or set of its own."""


@dataclass(frozen=True)
class Kernel:
    """One kernel, or all that do the same: what it does, its calls and its time (ms) per step."""

    name: str
    short_name: str
    family: str
    what: str
    calls: Value
    ms: Value
    share: Value


def device_rows(tables: Tables, case: str, phase: str) -> pd.DataFrame:
    """The rows of kernels.csv of a phase, with `component`, `place` and `what` of each."""
    return tables.cached(("device_rows", case, phase), partial(_device_rows, tables, case, phase))


COLUMNS = [
    "path",
    "name",
    "short_name",
    "family",
    "kind",
    "precision_ran",
    "calls",
    "steps",
    "busy_ns",
]


def _device_rows(tables: Tables, case: str, phase: str) -> pd.DataFrame:
    rows = tables.of("kernels", case, phase)[COLUMNS]
    names = zip(rows["name"], rows["short_name"], rows["family"], strict=True)
    what = [kernel_words.what(str(a), str(b), str(c)) for a, b, c in names]
    return with_components(tables, rows.assign(what=pd.Series(what, rows.index, dtype="object")))


def captured(tables: Tables, case: str, phase: str) -> tuple[str, pd.DataFrame]:
    """The state of a phase in the capture, and its `device_rows`: none unless it is "ok"."""
    rows = device_rows(tables, case, phase)
    state = captured_state(tables, case, phase, rows)
    return state, rows if state == "ok" else rows.iloc[:0]


def in_backward(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows that were launched inside a range named backward, on any thread."""
    inside = [("backward" in str(path).split("/")) for path in rows["path"]]
    return rows[pd.Series(inside, index=rows.index, dtype=bool)]


def device_ms(rows: pd.DataFrame) -> Value | None:
    """The device time (ms) per step of rows of kernels.csv; None without rows.

    Steps differ between rows of a kernel that some steps lack; the most is the number captured.
    """
    if rows.empty:
        return None
    ms = rows["busy_ns"].to_numpy().sum() / rows["steps"].to_numpy().max() / NS_PER_MS
    return value(ms, "ms", rows_of("kernels", rows), formula="sum over kernels / steps")


def calls(rows: pd.DataFrame) -> Value | None:
    """The calls per step of rows of kernels.csv; None without rows."""
    if rows.empty:
        return None
    number = rows["calls"].to_numpy().sum() / rows["steps"].to_numpy().max()
    return value(number, "calls", rows_of("kernels", rows), formula="calls / steps")


def share(part: pd.DataFrame, whole: pd.DataFrame) -> Value | None:
    """The share of the device time of `whole` that `part` of it takes; 0 if there is no part."""
    of_whole = device_ms(whole)
    if part.empty:
        rows = rows_of("kernels", whole)
        return value(0.0, "share", rows, formula="none of them") if of_whole else None
    return ratio(device_ms(part), of_whole, "share", "device time / device time of the phase")


def multiplies(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows that multiply matrices."""
    return rows[rows["family"].isin(PRODUCTS)]


def product_share(rows: pd.DataFrame) -> Value | None:
    """The share of matrix products (fused attention is one) in the device time of `rows`."""
    return share(multiplies(rows), rows)


def grouped(rows: pd.DataFrame, by: str) -> dict[str, pd.DataFrame]:
    """Rows of kernels.csv by the value of a column, most device time first, then by name."""
    return dict(in_order(rows, by))


def in_order(rows: pd.DataFrame, by: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """The same one by one, for whoever needs only the first."""
    groups = rows.groupby(by)
    sums, places = groups["busy_ns"].sum(), groups.indices
    for name in sorted(sums.index, key=lambda name: (-sums[name], name)):
        yield str(name), rows.iloc[places[name]]


def kernels(rows: pd.DataFrame, by: str = "name") -> list[Kernel]:
    """The kernels in `rows` (of `device_rows`), most device time first, memory copies left out.

    `by` is "name" (a kernel's whole name) or "what" (all that do the same together).
    """
    return list(ranked(rows, by))


def ranked(rows: pd.DataFrame, by: str = "name") -> Iterator[Kernel]:
    """The same one by one, for whoever needs only the first."""
    for _, mine in in_order(rows[rows["kind"].isin(KERNEL_KINDS)], by):
        number, ms, part = calls(mine), device_ms(mine), share(mine, rows)
        if number and ms and part:
            first = mine.iloc[int(mine["busy_ns"].argmax())]
            name, short_name, family, what = (
                str(first[column]) for column in ("name", "short_name", "family", "what")
            )
            yield Kernel(name, short_name, family, what, number, ms, part)
