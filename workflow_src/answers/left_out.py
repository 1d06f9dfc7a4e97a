"""The cases that an answer's counts and medians leave out, and why: a table for below them."""

from collections.abc import Mapping

import pandas as pd

from workflow_src.answers.conditions import Warned, undisturbed
from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.common import words
from workflow_src.render.value import Joined

NOTHING_KNOWN = "nothing known of it"
"""Of a case that was measured and captured, but doesn't tell what the answer asks for."""


def without_disturbed(tables: Tables, states: Mapping[CaseKey, str]) -> dict[CaseKey, str]:
    """`states`, in which those that are "ok" say so if the case's capture was disturbed."""
    counted = set(undisturbed(tables))
    return {
        case: Warned.DISTURBED if state == "ok" and case not in counted else state
        for case, state in states.items()
    }


def left_out(states: Mapping[CaseKey, str]) -> pd.DataFrame:
    """A row per reason: in how many of all cases it holds, and in which; empty without any.

    states: "ok" for a case that is counted, or else why it isn't: a key of words.STATES, or words.
    """
    why: dict[str, list[str]] = {}
    for case, state in states.items():
        if state != "ok":
            why.setdefault(words.STATES.get(state, state), []).append(case.case)
    lines = [
        [reason, Joined((len(names), len(states)), by=" of "), ", ".join(names)]
        for reason, names in why.items()
    ]
    return pd.DataFrame(lines, columns=["why", "cases", "which"], dtype="object")
