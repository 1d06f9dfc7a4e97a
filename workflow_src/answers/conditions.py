"""What each case was measured under, and which of it is a warning: by codes and numbers.

Medians over cases leave out those whose capture was `disturbed`.
"""

from dataclasses import dataclass

import pandas as pd

from workflow_src.answers.doubts import Environment, Warned, environments
from workflow_src.answers.kernels import device_ms
from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.common.case import PHASES
from workflow_src.common.thresholds import MATCH_WITHIN
from workflow_src.paper.value import Value, cell_of, rows_of


@dataclass(frozen=True)
class Conditions:
    """The conditions of one case: what its row of environments.csv says, and other rows.

    `meanwhile`: the cases measured on the same host at the same time. `disturbed`: the phases that
    were disturbed while they were captured; None on a GPU. `captured_us`: an eager operation right
    before its capture, None if that wasn't recorded. `elsewhere`: it was captured on another host;
    False if that isn't known.
    """

    recorded: Environment
    meanwhile: str
    disturbed: str | None
    captured_us: Value | None
    elsewhere: bool

    @property
    def case(self) -> str:
        """The case's id."""
        return self.recorded.text("case")

    @property
    def warnings(self) -> tuple[Warned, ...]:
        """The warnings that these conditions give."""
        given = {
            Warned.OVERLAPPED: bool(self.meanwhile),
            Warned.DISTURBED: bool(self.disturbed),
            Warned.ELSEWHERE: self.elsewhere,
        }
        return (*self.recorded.warnings, *(warning for warning, there in given.items() if there))


def conditions(tables: Tables) -> tuple[Conditions, ...]:
    """The conditions of all cases in environments.csv."""
    meanwhile = _meanwhile(tables["environments"])
    phases = {case.case: "; ".join(named) for case, named in disturbed(tables).items()}
    cases = []
    for row, others in zip(environments(tables), meanwhile, strict=True):
        case = row.text("case")
        rows = (tables.of(name, case) for name in ("environments", "captures"))
        captured_us = cell_of(tables.of("captures", case), "captures", "host_operation_us", "us")
        cases.append(Conditions(row, others, phases.get(case), captured_us, elsewhere(*rows)))
    return tuple(cases)


def elsewhere(rows: pd.DataFrame, others: pd.DataFrame) -> bool:
    """Whether no host of some rows is one of the others'; False if that isn't known."""
    ours, theirs = host_ids(rows), host_ids(others)
    return bool(ours and theirs and ours.isdisjoint(theirs))


def host_ids(rows: pd.DataFrame) -> set[str]:
    """The hosts that some rows name."""
    return {str(cell) for cell in rows.get("host_id", ())} - {"", "nan"}


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
    return _different(tables, "host_id")


def gpus(tables: Tables) -> Value | None:
    """On how many GPUs the cases ran, likewise."""
    return _different(tables, "gpu_id")


def _different(tables: Tables, column: str) -> Value | None:
    rows = tables["environments"]
    found = [str(cell) for cell in rows.get(column, ())]
    if not found or not all(found):
        return None
    source = rows_of("environments", rows)
    return Value(len(set(found)), "count", (source,), f"different values of {column}")
