"""How far a measured time of the levers study may be off."""

import statistics

from workflow_src.studies.study import Row

NORMAL_95 = 1.96
"""Standard uncertainties on each side of a value that make an interval of 95 %."""

STUDENT_95 = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""The same where a spread comes from 2, 3, ... 10 values: so few tell it badly (Student's t)."""

MEASURED = 0.02
"""Relative uncertainty of a device time that one profiled pass gives: passes agree within 1 %."""


def relative(row: Row) -> float:
    """Half the range from the 20th to the 80th percentile over the median, at least MEASURED."""
    half = (row["p80_ms"] - row["p20_ms"]) / 2
    return float(max(MEASURED, half / row["median_ms"]))


def by_process(row: Row) -> dict[int, list[int]]:
    """The samples (ns) of each process by its number; of old points those of one, 0."""
    numbers = row.get("process", [0] * len(row["samples_ns"]))
    groups: dict[int, list[int]] = {}
    for number, ns in zip(numbers, row["samples_ns"], strict=True):
        groups.setdefault(number, []).append(ns)
    return groups


def between(row: Row, count: int | None = None) -> float:
    """How far off a wall time may be for the luck of its processes, relative, with 95 %.

    From the medians of the row's processes, for a time that comes from `count` others, or from
    these; the mean of n of them is n ** 0.5 times as sure as one. Of a single process, the spread
    of its samples has to do.
    """
    medians = [statistics.median(group) for group in by_process(row).values()]
    if len(medians) < 2:
        return NORMAL_95 * relative(row)
    student = STUDENT_95[min(len(medians) - 2, len(STUDENT_95) - 1)]
    spread = statistics.stdev(medians) / statistics.mean(medians)
    return float(max(NORMAL_95 * MEASURED, student * spread / (count or len(medians)) ** 0.5))
