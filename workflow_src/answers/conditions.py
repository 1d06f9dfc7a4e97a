"""What each case was measured under, and which of it is a warning: by codes and numbers.

Medians over cases leave out those whose capture was `disturbed`.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

import pandas as pd

from workflow_src.answers.kernels import device_ms
from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.common.case import PHASES
from workflow_src.common.environment import HOST_SPEEDS
from workflow_src.common.thresholds import BUSY_LOAD, HOST_CHANGED, MATCH_WITHIN
from workflow_src.render.value import Rows, Value, computed, ratio, rows_of, value


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


@dataclass(frozen=True)
class Conditions:
    """The conditions of one case; what wasn't recorded is None, or "" for a text.

    `throttled`: the driver's reasons. `others`: processes of others on the device. `load`: per
    core. `changed`: how many times as long something took on the host after the case as before it,
    or the other way around, at most; `processes`: in how many processes that was a warning.
    `not_finite`: the phases whose loss was no finite number; only a brought model's is recorded.
    `meanwhile`: the cases measured on the same host at the same time. `disturbed`: the phases that
    were disturbed while they were captured; None on a GPU.
    `launch_us`, `operation_us`: a launch and an eager operation on the host before the case;
    `captured_us`: an eager operation right before its capture. `elsewhere`: it was captured on
    another host; False if that isn't known.
    """

    case: str
    throttled: str
    others: Value | None
    load: Value | None
    changed: Value | None
    processes: Value | None
    launch_us: Value | None
    operation_us: Value | None
    locked: bool
    not_finite: str = ""
    meanwhile: str = ""
    disturbed: str | None = None
    captured_us: Value | None = None
    elsewhere: bool = False

    @property
    def warnings(self) -> tuple[Warned, ...]:
        """The warnings that these conditions give."""
        found = {
            Warned.THROTTLED: bool(self.throttled),
            Warned.SHARED: _above(self.others, 0),
            Warned.BUSY: _above(self.load, BUSY_LOAD),
            Warned.HOST_CHANGED: _above(self.changed, HOST_CHANGED),
            Warned.NOT_LOCKED: not self.locked,
            Warned.NOT_FINITE: bool(self.not_finite),
            Warned.OVERLAPPED: bool(self.meanwhile),
            Warned.DISTURBED: bool(self.disturbed),
            Warned.ELSEWHERE: self.elsewhere,
        }
        return tuple(warning for warning, given in found.items() if given)


def conditions(tables: Tables) -> tuple[Conditions, ...]:
    """The conditions of all cases in environments.csv."""
    rows = tables["environments"]
    meanwhile = _meanwhile(rows)
    phases = {case.case: "; ".join(found) for case, found in disturbed(tables).items()}
    every = (_of(_Row(rows.loc[number], int(number))) for number in rows.index)
    return tuple(
        replace(
            each,
            meanwhile=others,
            disturbed=phases.get(each.case),
            captured_us=_captured_us(tables, each.case),
            elsewhere=elsewhere(
                *(tables.of(name, each.case) for name in ("environments", "captures"))
            ),
        )
        for each, others in zip(every, meanwhile, strict=True)
    )


def _captured_us(tables: Tables, case: str) -> Value | None:
    """An eager operation right before the capture; older tables don't tell."""
    captured, column = tables.of("captures", case), "host_operation_us"
    if captured.empty or column not in captured:
        return None
    return value(captured[column].iloc[0], "us", rows_of("captures", captured), formula=column)


def elsewhere(rows: pd.DataFrame, others: pd.DataFrame) -> bool:
    """Whether no host of some rows is one of the others'; False if that isn't known."""
    mine, theirs = (
        {str(cell) for cell in each.get("host_id", ())} - {"", "nan"} for each in (rows, others)
    )
    return bool(mine and theirs and mine.isdisjoint(theirs))


def disturbed(tables: Tables) -> dict[CaseKey, tuple[str, ...]]:
    """The phases of each case on a CPU that were disturbed while they were captured.

    Their operators alone took longer under the profiler than whole steps did without it. What other
    work took from them stands in the operators that it interrupted, so that no share can be
    trusted. A GPU works as fast whatever else its host does.
    """
    return {
        case: tuple(phase for phase in PHASES if _is_disturbed(tables, case.case, phase))
        for case in tables.cases
        if case.on_cpu
    }


def _is_disturbed(tables: Tables, case: str, phase: str) -> bool:
    timed, busy = tables.of("timings", case, phase), device_ms(tables.of("kernels", case, phase))
    plain = float(timed["median_ms"].max()) if len(timed) else 0.0
    return busy is not None and 0 < (1 + MATCH_WITHIN) * plain < busy.number


def undisturbed(tables: Tables) -> tuple[CaseKey, ...]:
    """The cases to take medians over: all but those of which a phase was disturbed."""
    doubted = disturbed(tables)
    return tuple(case for case in tables.cases if not doubted.get(case))


def _meanwhile(rows: pd.DataFrame) -> list[str]:
    """Of each row the cases measured on the same host at the same time; "" if that isn't known.

    Several devices of one host are measured at once where `--resources gpu` says so. A case of
    several processes counts from the first one's start to the last one's end.
    """
    columns = ("host_id", "started_at", "ended_at", "case")
    if not set(columns) <= set(rows):
        return [""] * len(rows)
    spans = [tuple(map(str, span)) for span in rows[list(columns)].itertuples(index=False)]
    return [
        "; ".join(
            other
            for host, start, end, other in spans
            if host == mine[0] and start < mine[2] and end > mine[1] and other != mine[3]
        )
        if all(mine)
        else ""
        for mine in spans
    ]


def hosts(tables: Tables) -> Value | None:
    """On how many hosts the cases ran, a host booted again being another.

    None unless each row of environments.csv tells its own; older tables don't.
    """
    rows = tables["environments"]
    found = [str(cell) for cell in rows.get("host_id", ())]
    if not found or not all(found):
        return None
    source = rows_of("environments", rows)
    return Value(len(set(found)), "count", (source,), "different values of host_id")


@dataclass(frozen=True)
class _Row:
    """A row of environments.csv, all of whose cells are text."""

    cells: "pd.Series[str]"
    number: int

    def text(self, column: str) -> str:
        return str(self.cells.get(column, ""))

    def value(self, column: str, unit: str) -> Value | None:
        return value(self.text(column), unit, Rows("environments", (self.number,)), formula=column)


def _of(row: _Row) -> Conditions:
    return Conditions(
        case=row.text("case"),
        throttled=row.text("throttled"),
        others=_others(row),
        load=_load(row),
        changed=_changed(row),
        processes=row.value("host_changed_processes", "count"),
        launch_us=row.value("host_launch_us_before", "us"),
        operation_us=row.value("host_operation_us_before", "us"),
        locked=row.text("locks_are_shared") != "False",
        not_finite=row.text("loss_not_finite"),
    )


def _load(row: _Row) -> Value | None:
    load, cores = row.value("load_average_before", ""), row.value("cpu_cores", "count")
    return ratio(load, cores, "", "load / cores")


def _others(row: _Row) -> Value | None:
    """The most processes of others; older tables count them before and after only."""
    ends = ("other_processes_most", "other_processes_before", "other_processes_after")
    return _most([row.value(column, "count") for column in ends])


def _changed(row: _Row) -> Value | None:
    """The host's most change in a process; older tables tell it of their medians alone."""
    return row.value("host_change_most", "near_one") or _most(
        [_change(row, name) for name in HOST_SPEEDS]
    )


def _change(row: _Row, name: str) -> Value | None:
    before, after = (row.value(f"{name}_{when}", "us") for when in ("before", "after"))
    if before is None or after is None or not min(before.number, after.number) > 0:
        return None
    low, high = sorted((before.number, after.number))
    return computed(high / low, "near_one", f"{name}: the longer / the shorter", before, after)


def _most(values: list[Value | None]) -> Value | None:
    known = [each for each in values if each is not None]
    return max(known, key=lambda each: each.number, default=None)


def _above(found: Value | None, limit: float) -> bool:
    return found is not None and found.number > limit
