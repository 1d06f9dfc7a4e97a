"""The cases that an answer's counts and medians leave out, and why: a table for below them."""

from collections.abc import Mapping, Sequence

import pandas as pd

from workflow_src.answers.conditions import undisturbed
from workflow_src.answers.doubts import Warned
from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.common import words
from workflow_src.paper.value import Joined, Value, rows_of

NOTHING_KNOWN = "nothing known of it"
"""Of a case that was measured and captured, but doesn't tell what the answer asks for."""


def without_disturbed(tables: Tables, states: Mapping[CaseKey, str]) -> dict[CaseKey, str]:
    """`states`, in which those that are "ok" say so if the case's capture was disturbed."""
    counted = set(undisturbed(tables))
    return {
        case: Warned.DISTURBED if state == "ok" and case not in counted else state
        for case, state in states.items()
    }


def left_out(tables: Tables, states: Mapping[CaseKey, str]) -> pd.DataFrame:
    """A row per reason: in how many of all cases it holds, and in which; empty without any.

    states: "ok" for a case that is counted, or else why it isn't: a key of words.STATES, or words.
    A case of which nothing was measured has no row: the opening counts it, and tables say so.
    """
    why: dict[str, list[str]] = {}
    for case, state in states.items():
        if state != "ok" and _was_measured(tables, case):
            why.setdefault(words.STATES.get(state, state), []).append(case.case)
    every = _count(tables, [case.case for case in states])
    lines = [
        [reason, Joined((_count(tables, names), every), by=" of "), ", ".join(names)]
        for reason, names in why.items()
    ]
    return pd.DataFrame(lines, columns=["why", "cases", "which"], dtype="object")


def _was_measured(tables: Tables, case: CaseKey) -> bool:
    """Whether there is a time or a capture of a case, or a reason why there is none."""
    timed = tables.of("timings", case.case)["status"]
    return bool((timed != "not_measured").any()) or len(tables.of("captures", case.case)) > 0


def _count(tables: Tables, names: Sequence[str]) -> Value:
    """How many cases these are, with their rows in timings.csv and captures.csv."""
    sources = (
        rows_of(name, rows)
        for name in ("timings", "captures")
        if len(rows := tables[name][tables[name]["case"].isin(list(names))])
    )
    return Value(len(names), "count", tuple(sources), "cases")
