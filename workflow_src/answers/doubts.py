"""What may have disturbed a case, as its machine recorded it: all doubts of a row, in one place."""

from dataclasses import dataclass
from enum import StrEnum

import pandas as pd

from workflow_src.answers.tables import Tables
from workflow_src.common.environment import HOST_SPEEDS
from workflow_src.common.thresholds import BUSY_LOAD, HOST_CHANGED
from workflow_src.paper.value import Rows, Value, computed, ratio, value


class Warned(StrEnum):
    """The warnings, in words."""

    THROTTLED = "device throttled"
    SHARED = "device shared"
    BUSY = "machine busy"
    HOST_CHANGED = "host's speed changed"
    NOT_LOCKED = "no lock that all users see"
    OVERLAPPED = "another case was measured meanwhile"
    NOT_FINITE = "loss not finite"
    DISTURBED = "capture disturbed"
    ELSEWHERE = "captured on another host"


OF_THE_DEVICE = frozenset({Warned.THROTTLED, Warned.SHARED})
"""What makes device time unsure, too."""

OF_THE_HOST = frozenset({Warned.BUSY, Warned.HOST_CHANGED})
"""What makes unsure what the host decides."""


@dataclass(frozen=True)
class Environment:
    """A row of environments.csv, all of whose cells are text, and its line.

    What wasn't recorded is None, or "" for a text.
    """

    cells: "pd.Series[str]"
    number: int

    def text(self, column: str) -> str:
        """A cell; "" without that column."""
        return str(self.cells.get(column, ""))

    def value(self, column: str, unit: str) -> Value | None:
        """A cell as a value."""
        return value(self.text(column), unit, Rows("environments", (self.number,)), formula=column)

    @property
    def throttled(self) -> str:
        """The driver's reasons."""
        return self.text("throttled")

    @property
    def others(self) -> Value | None:
        """The most processes of others on the device; of older tables, before and after only."""
        ends = ("other_processes_most", "other_processes_before", "other_processes_after")
        return _most([self.value(column, "count") for column in ends])

    @property
    def load(self) -> Value | None:
        """The load before the case, per core."""
        load, cores = self.value("load_average_before", ""), self.value("cpu_cores", "count")
        return ratio(load, cores, "", "load / cores")

    @property
    def changed(self) -> Value | None:
        """How many times as long something took on the host after a process as before it, or the
        other way around, at most; of older tables, of the medians of all processes."""
        return self.value("host_change_most", "near_one") or _most(
            [self._change(name) for name in HOST_SPEEDS]
        )

    @property
    def launch_us(self) -> Value | None:
        """A launch on the host before the case."""
        return self.value("host_launch_us_before", "us")

    @property
    def operation_us(self) -> Value | None:
        """An eager operation on the host before the case."""
        return self.value("host_operation_us_before", "us")

    @property
    def locked(self) -> bool:
        """Whether all users see its lock."""
        return self.text("locks_are_shared") != "False"

    @property
    def not_finite(self) -> str:
        """The phases whose loss was no finite number; only a brought model's is recorded."""
        return self.text("loss_not_finite")

    @property
    def warnings(self) -> tuple[Warned, ...]:
        """The warnings that this row gives."""
        given = {
            Warned.THROTTLED: bool(self.throttled),
            Warned.SHARED: _above(self.others, 0),
            Warned.BUSY: _above(self.load, BUSY_LOAD),
            Warned.HOST_CHANGED: _above(self.changed, HOST_CHANGED),
            Warned.NOT_LOCKED: not self.locked,
            Warned.NOT_FINITE: bool(self.not_finite),
        }
        return tuple(warning for warning, there in given.items() if there)

    def _change(self, name: str) -> Value | None:
        before, after = (self.value(f"{name}_{when}", "us") for when in ("before", "after"))
        if before is None or after is None or not min(before.number, after.number) > 0:
            return None
        low, high = sorted((before.number, after.number))
        return computed(high / low, "near_one", f"{name}: the longer / the shorter", before, after)


def environments(tables: Tables) -> tuple[Environment, ...]:
    """The rows of environments.csv."""
    rows = tables["environments"]
    return tuple(Environment(rows.loc[number], int(number)) for number in rows.index)


def recorded_warnings(tables: Tables, case: str) -> frozenset[Warned]:
    """The warnings that a case's row of environments.csv gives; none without a row."""
    rows = tables.of("environments", case)
    return frozenset(
        warning
        for number in rows.index
        for warning in Environment(rows.loc[number], int(number)).warnings
    )


def _most(values: list[Value | None]) -> Value | None:
    known = [each for each in values if each is not None]
    return max(known, key=lambda each: each.number, default=None)


def _above(value: Value | None, limit: float) -> bool:
    return value is not None and value.number > limit
