"""Analyzes the warm-up study: each run's first step, its settled steps, and its mean."""

from workflow_src.common.units import NS_PER_MS
from workflow_src.studies import join_points
from workflow_src.studies.study import Point, Row
from workflow_src.studies.warmup import causes
from workflow_src.studies.warmup.settled import settled_after, settled_median


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """The rows with totals, the first step and the settled median of all steps (ms).

    Of a point of the cause, the rows of `causes.derive`.
    """
    if point.get("cause"):
        return causes.derive(rows)
    return [row | _derived(row) if row["status"] == "ok" else row for row in rows]


def _derived(row: Row) -> Row:
    """`settled_ms` and `settled_after_steps` are of all steps, including those of the warm-up."""
    steps = [ns / NS_PER_MS for ns in (*row["warmup_ns"], *row["samples_ns"])]
    return {
        "total_ms": sum([*row["warmup_ns"], *row["samples_ns"]]) / NS_PER_MS,
        "warmup_ms": sum(row["warmup_ns"]) / NS_PER_MS,
        "first_step_ms": steps[0],
        "settled_ms": settled_median(steps),
        "settled_after_steps": settled_after(steps),
    }


if __name__ == "__main__":
    join_points.main(derive)
