"""A point's case without remedies, and its samples by process."""

from workflow_src.common.case import Case
from workflow_src.studies.models import case_of
from workflow_src.studies.study import Point, Row


def plain_case(point: Point) -> Case:
    """The plain case of a point."""
    return case_of(point, point["size"], point["precision"])


def by_process(row: Row) -> dict[int, list[int]]:
    """The samples (ns) of each process by its number; of old points those of one, 0."""
    numbers = row.get("process", [0] * len(row["samples_ns"]))
    groups: dict[int, list[int]] = {}
    for number, ns in zip(numbers, row["samples_ns"], strict=True):
        groups.setdefault(number, []).append(ns)
    return groups
