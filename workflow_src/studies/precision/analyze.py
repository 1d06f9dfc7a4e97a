"""Analyzes the precision study: errors of sums in two parts."""

import math

import numpy as np

from workflow_src.studies.study import Point, Row


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """The rows, of which sums have their errors."""
    return [
        row | errors(row, point["addend"], point["additions"])
        if row["part"] == "accumulation"
        else row
        for row in rows
    ]


def errors(row: Row, addend: float, additions: int) -> Row:
    """The error of a sum against additions x addend, in its two parts.

    `representation_error` is the error of the addend as stored, times the additions;
    `rounding_error` is the rest, due to rounding the sum at each addition. `spacing` is the
    distance from the sum's last value to the next larger one in its dtype. All are exact in double
    precision, which holds every product and difference here.
    """
    value, exact, stored = row["value"], additions * addend, additions * row["addend"]
    eps = float(np.finfo(row["sum_dtype"]).eps)
    return {
        "error": value - exact,
        "representation_error": stored - exact,
        "rounding_error": value - stored,
        "spacing": eps * 2.0 ** math.floor(math.log2(value)),
    }
