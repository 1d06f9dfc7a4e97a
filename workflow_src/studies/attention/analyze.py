"""Analyzes the attention study: how many kernels ran, which ones, and how long the device works."""

from collections.abc import Iterable

from workflow_src.common.traffic import ELEMENT_BYTES
from workflow_src.common.units import MIB, NS_PER_MS
from workflow_src.studies import join_points
from workflow_src.studies.attention.work import Shape, peak_bytes
from workflow_src.studies.rows import busy_ns, calls, summed
from workflow_src.studies.study import Point, Row

NO_WORK = "bookkeeping"
"""The family of a CPU's views and allocations, which neither compute nor move data."""

RECORDS = ("activities", "both_activities", "forward_activities")
"""The columns of a measured row that hold what a profile recorded."""


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """Rows of cores and module with kernel counts, and a row per kernel of the module."""
    return [made for row in rows for made in _derived(row)]


def _derived(row: Row) -> list[Row]:
    if row["sweep"] == "loop":
        return [row | foretold(row)]
    if row["status"] != "ok":
        return [row]
    if row["sweep"] == "plain":
        return [row, *(row | found for found in product_rows(row["activities"]))]
    if row["sweep"] in ("kernel", "nsys"):
        return [row | found for found in kernel_rows(row["activities"])]
    return [row | kernel_count(row)]


BEFORE_BACKWARD = {"forward": "predicted_before_backward_mib", "backward": "predicted_peak_mib"}
"""The columns of what is predicted: in use after a forward pass, and the peak of both passes."""


def foretold(row: Row) -> Row:
    """The memory (MiB) that a phase of a loop needs by formula, whether it was measured or not."""
    names = ("batch", "heads", "context", "head_size")
    shape = Shape(**{name: row[name] for name in names}, size=ELEMENT_BYTES[row["precision"]])
    phase = "forward" if row["phase"] == "forward" else "forward_backward"
    needed = peak_bytes(row["implementation"], phase, shape)
    return {BEFORE_BACKWARD[row["phase"]]: None if needed is None else needed / MIB}


def working(activities: Iterable[Row]) -> list[Row]:
    """The activities that compute or move data, without a CPU's views and allocations."""
    return [activity for activity in activities if activity["family"] != NO_WORK]


def kernel_count(row: Row) -> Row:
    """`kernels` (on a CPU: operators) of one call of the row's phase, and their `busy_ms`.

    Empty if not profiled, or if a profile recorded nothing. Backward's are those of forward and
    backward together minus those of forward.
    """
    recorded = [row[key] for key in RECORDS if key in row]
    if not recorded or not all(recorded):
        return {}
    both, forward = working(recorded[0]), working(row.get("forward_activities", ()))
    busy_ms = (busy_ns(both) - busy_ns(forward)) / NS_PER_MS
    return {"kernels": calls(both) - calls(forward), "busy_ms": busy_ms}


KERNEL = {"kernel": "short_name", "family": "family"}


def kernel_rows(activities: Iterable[Row]) -> list[Row]:
    """A row per kernel and operator that launched it, most time first.

    Each has its calls, busy time (ms) and share (0 to 1) of the total busy time.
    """
    found = summed(working(activities), operator="operator", **KERNEL)
    total = busy_ns(found)
    shares = [_in_ms(row) | {"share": row["busy_ns"] / total} for row in found]
    return sorted(shares, key=lambda row: float(row["busy_ms"]), reverse=True)


def product_rows(activities: Iterable[Row]) -> list[Row]:
    """A row (sweep "plain_kernel") per range and kernel of a module: calls, busy time (ms)."""
    found = summed(working(activities), product="range", **KERNEL)
    return [{"sweep": "plain_kernel"} | _in_ms(row) for row in found]


def _in_ms(row: Row) -> Row:
    kept = {key: cell for key, cell in row.items() if key != "busy_ns"}
    return kept | {"busy_ms": row["busy_ns"] / NS_PER_MS}


if __name__ == "__main__":
    join_points.main(derive)
