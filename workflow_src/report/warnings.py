"""The cases that were measured with a warning, each with its own figures."""

from collections.abc import Sequence

import pandas as pd

from workflow_src.answers.conditions import Conditions, conditions
from workflow_src.answers.doubts import Environment, power_limited
from workflow_src.answers.tables import Tables
from workflow_src.common import words
from workflow_src.paper.value import Cell, Joined

NAMED = 3
"""Cases measured at the same time that are named: on a host of several GPUs they are many."""


def warnings(tables: Tables) -> pd.DataFrame:
    """A row per case with a warning; without columns that say nothing of any."""
    rows = [_row(each) for each in conditions(tables) if each.warnings]
    return _filled(rows)


def _row(of: Conditions) -> dict[str, Cell]:
    recorded = of.recorded
    return {
        "case": of.case,
        "warnings": "; ".join(of.warnings),
        "why throttled": recorded.throttled or None,
        "readings with the clock capped for power": _capped(recorded),
        "host's speed changed, at most": recorded.changed,
        "processes with a change": recorded.value("host_changed_processes", "count"),
        "a launch before, us": recorded.launch_us,
        "an eager operation before, us": recorded.operation_us,
        "an eager operation before the capture, us": of.captured_us,
        "other processes": recorded.others,
        "load per core": recorded.load,
        "loss not finite in": _phases(recorded.not_finite) or None,
        "measured meanwhile": _first(of.meanwhile) or None,
        "operators took longer than the plain step in": _phases(of.disturbed or "") or None,
    }


def _capped(recorded: Environment) -> Cell:
    """The phases in which power limited the clock, each with the share of its readings."""
    shares = (recorded.capped or {}).items()
    said = [
        Joined((words.PHASES[name], share), " ") for name, share in shares if power_limited(share)
    ]
    return Joined(tuple(said), ", ") if said else None


def _first(cases: str) -> str:
    """The first NAMED of several cases, and how many more there are."""
    names = cases.split("; ")
    more = len(names) - NAMED
    return "; ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")


def _phases(codes: str) -> str:
    return "; ".join(words.PHASES.get(phase, phase) for phase in codes.split("; "))


def _filled(rows: Sequence[dict[str, Cell]]) -> pd.DataFrame:
    columns = [name for name in (rows[0] if rows else ()) if any(row[name] for row in rows)]
    lines = [[row[name] for name in columns] for row in rows]
    return pd.DataFrame(lines, columns=columns, dtype="object")
