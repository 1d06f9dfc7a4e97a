"""What may have disturbed a case, as its machine recorded it: all doubts of a row, in one place."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import pandas as pd

from workflow_src.answers.tables import Tables
from workflow_src.common.case import PHASES
from workflow_src.common.environment import HOST_SPEEDS, POWER_CAP
from workflow_src.common.thresholds import (
    BUSY_LOAD,
    HOST_CHANGED,
    SHARED_BEYOND,
    THROTTLED_BEYOND,
)
from workflow_src.paper.value import Rows, Value, cell_of, computed, ratio, value


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

    What wasn't recorded is None, or "" for a text. capped: by phase the share of readings during
    its steps in which the driver lowered the clock for power; None if none were taken.
    """

    cells: "pd.Series[str]"
    number: int
    capped: Mapping[str, Value] | None = None

    def text(self, column: str) -> str:
        """A cell; "" without that column."""
        return str(self.cells.get(column, ""))

    def value(self, column: str, unit: str) -> Value | None:
        """A cell as a value."""
        return value(self.text(column), unit, Rows("environments", (self.number,)), formula=column)

    @property
    def throttled(self) -> str:
        """The driver's reasons; for power during steps only, where it was read during them."""
        reasons = set(self.text("throttled").split("; ")) - {""}
        if self.capped is not None:
            limited = any(map(power_limited, self.capped.values()))
            reasons = reasons - {POWER_CAP} | ({POWER_CAP} if limited else set())
        return "; ".join(sorted(reasons))

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
        return self.value("host_change_most", "times") or _most(
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
            Warned.SHARED: _above(self.others, SHARED_BEYOND),
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
        return computed(high / low, "times", f"{name}: the longer / the shorter", before, after)


def power_limited(share: Value | None) -> bool:
    """Whether power limited the clock in too large a share of a phase's readings."""
    return _above(share, THROTTLED_BEYOND)


def environments(tables: Tables) -> tuple[Environment, ...]:
    """The rows of environments.csv."""
    return _environments(tables, tables["environments"])


def recorded_warnings(tables: Tables, case: str) -> frozenset[Warned]:
    """The warnings that a case's row of environments.csv gives; none without a row."""
    every = _environments(tables, tables.of("environments", case))
    return frozenset(warning for each in every for warning in each.warnings)


def _environments(tables: Tables, rows: pd.DataFrame) -> tuple[Environment, ...]:
    return tuple(
        Environment(row, int(str(number)), _capped(tables, str(row["case"])))
        for number, row in rows.iterrows()
    )


def _capped(tables: Tables, case: str) -> Mapping[str, Value] | None:
    """By phase the share of readings with the clock lowered for power; None without readings."""
    shares = {
        phase: cell_of(
            tables.of("timings", case, phase), "timings", "power_capped_share", "share", "readings"
        )
        for phase in PHASES
    }
    return {phase: share for phase, share in shares.items() if share} or None


def _most(values: list[Value | None]) -> Value | None:
    known = [each for each in values if each is not None]
    return max(known, key=lambda each: each.number, default=None)


def _above(value: Value | None, limit: float) -> bool:
    return value is not None and value.number > limit
