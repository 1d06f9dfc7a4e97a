"""What may have disturbed a case, and times that don't fit together."""

import pandas as pd

from workflow_src.answers import machines
from workflow_src.answers.machines import conditions, warned
from workflow_src.common.words import PHASES
from workflow_src.paper.number import NAN, Number, Row
from workflow_src.paper.run import Run

DETAILS = {
    machines.THROTTLED: "why_throttled",
    machines.SHARED: "others",
    machines.BUSY: "load",
    machines.CHANGED: "changed",
    machines.OVERLAPPED: "others_meanwhile",
    machines.NOT_FINITE: "not_finite",
}
"""The column of conditions that says more of a warning."""


def doubts(run: Run, times: pd.DataFrame) -> pd.DataFrame:
    """A row per doubt, indexed by case: `about` a phase or all of them, `doubt`, `detail`."""
    checks = run["captures"][run["captures"]["doubts"] != ""]
    certified = checks[["case"]].assign(about="capture", doubt=checks["doubts"], detail="")
    found = [recorded(run), unlike(times), certified]
    return pd.concat(found, ignore_index=True).set_index("case")


def recorded(run: Run) -> pd.DataFrame:
    """The warnings of the machine's record."""
    rows = conditions(run)
    others = [counted(*each) for each in zip(rows.index, rows["meanwhile"], strict=True)]
    rows["others_meanwhile"] = pd.Series(others, rows.index, dtype=object)
    told = warned(run, rows).assign(**{machines.NOT_FINITE: rows["not_finite"] != ""})
    made = []
    for name in told:
        mine = rows[told[name].eq(True)]
        detail = mine[DETAILS[name]] if name in DETAILS else ""
        made.append(mine[["case"]].assign(about="", doubt=str(name), detail=detail))
    return pd.concat(made)


def counted(row: Row, cases: str) -> object:
    """How many cases a row names."""
    number, formula = float(len(cases.split("; "))), "cases at the same time"
    return Number(number, "count", frozenset([row]), formula) if cases else NAN


def unlike(times: pd.DataFrame) -> pd.DataFrame:
    """The first reason why a CPU's times can't be right."""
    masks = machines.unlike(times)
    masks = masks[masks.any(axis=1)]
    found = masks.index.to_frame(index=False).assign(doubt=masks.idxmax(axis=1).to_numpy())
    return found.assign(about=found["phase"].map(PHASES), detail="").drop(columns="phase")
