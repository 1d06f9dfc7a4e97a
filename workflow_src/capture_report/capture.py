"""The tables of one capture, and what most of what is said of it rests on."""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import pandas as pd

from workflow_src.captures.capture import NO_KERNELS, OPERATOR
from workflow_src.diagnosis.finding import MECHANISMS
from workflow_src.paper.number import NAN, Number, lift, of
from workflow_src.paper.run import Run, first, lifted

ALL = "all"
"""The process of the row of summary.csv that has the totals."""

PAGE = 1000
"""At most so many rows has a table of the page; CSVs have all."""


@dataclass(frozen=True)
class Capture:
    """The tables of one capture."""

    run: Run
    name: str

    def __getitem__(self, table: str) -> pd.DataFrame:
        """A table as it was read."""
        return self.run[f"capture/{table}"]

    def numbers(self, table: str) -> pd.DataFrame:
        """A table with its amounts as Numbers."""
        return self.run.numbers(f"capture/{table}")

    @cached_property
    def every(self) -> pd.Series:
        """The row of all processes."""
        rows = self.numbers("summary")
        return first(rows[rows["process"] == ALL])

    @cached_property
    def several(self) -> bool:
        """Whether there are several processes."""
        return int((self["summary"]["process"] != ALL).sum()) > 1

    @cached_property
    def stepped(self) -> bool:
        """Whether there are steps."""
        return bool(self.every["steps"] > 0)

    @cached_property
    def noted(self) -> dict[str, str]:
        """What the first note of each code is about."""
        rows = self["notes"].drop_duplicates("note")
        return dict(zip(rows["note"], rows["about"], strict=True))

    @cached_property
    def total(self) -> Any:
        """The time of all work, ms."""
        return in_ms(self.every["total_ns"])

    @property
    def known_total(self) -> Any:
        """What shares are of: the time of all work, unless kernels were lost."""
        return NAN if NO_KERNELS in self.noted else self.total

    @cached_property
    def diagnoses(self) -> pd.DataFrame:
        """The processes whose steps were diagnosed."""
        rows = self.numbers("diagnoses")
        return rows[rows["recorded_ms"].notna()]

    @property
    def plain(self) -> bool:
        """Whether savings are of the plain step."""
        return bool(self.diagnoses["plain"].any())

    @cached_property
    def findings(self) -> pd.DataFrame:
        """Each place of one kind once; those of the process first whose first one saves most.

        general: what is true of a whole program.
        """
        rows = self["findings"]
        most = rows.groupby("process")["saves_ms"].transform("first").fillna(0)
        order = most.sort_values(ascending=False, kind="stable").index
        rows = self.numbers("findings").loc[order].drop_duplicates(["mechanism", "path"])
        general = [MECHANISMS[key].general for key in rows["mechanism"]]
        return rows.assign(general=pd.Series(general, rows.index, dtype=bool))

    @property
    def special(self) -> pd.DataFrame:
        """Findings but for general ones with a saving, which the account has."""
        general = self.findings["general"] & self.findings["saves_ms"].notna()
        return self.of_process(self.findings[~general])

    @cached_property
    def on_cpu(self) -> bool:
        """Whether all work is that of operators, as no device's was read."""
        return {*self["kernels"]["kind"]} == {OPERATOR}

    @cached_property
    def outside(self) -> Any:
        """The share of a CPU's steps without operators."""
        idle, wall = (of(lift(self["steps"][name]), "sum") for name in ("idle_ns", "wall_ns"))
        return share(idle, wall)

    def rows(self, table: str, most: str = "") -> pd.DataFrame:
        """The rows of a table, of many those with the most in a column, as Numbers."""
        rows = self[table]
        if most:
            rows = rows[rows[most].fillna(0).rank(method="first", ascending=False) <= PAGE]
        return self.of_process(lifted(rows))

    def of_process(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Rows that name their process if there are several."""
        return rows if self.several else rows.assign(process="")


def most_first(rows: pd.DataFrame, by: str) -> pd.DataFrame:
    """Rows by a column, the most first; what is missing comes last."""
    return rows.sort_values(by, ascending=False, kind="stable")


def in_ms(cell: Any) -> Any:
    """A Number in milliseconds."""
    return cell.to("ms") if isinstance(cell, Number) else cell


def in_steps(times: Any) -> Any:
    """How often something occurs a step; if less than once, in how many of how many steps."""
    if not isinstance(times, Number) or not 0 < times.value < 1:
        return times
    some = Fraction(times.value).limit_denominator(PAGE)
    in_some = replace(times, value=float(some.numerator), unit=f"of {some.denominator}")
    return ("in ", in_some, " steps")


def share(part: Any, whole: Any) -> Any:
    """A part of a whole; NaN where one is unknown."""
    found = part / whole
    return found.to("share") if isinstance(found, Number) else NAN
