"""Code that is compiled or loaded while steps run."""

import pandas as pd

from workflow_src.captures.call_kinds import OF_OTHERS, matching
from workflow_src.diagnosis.edit import Edit
from workflow_src.diagnosis.facts import LARGE
from workflow_src.diagnosis.finding import Found, Subject, mechanism, rows_of
from workflow_src.diagnosis.recording import LAUNCH

LOADS = r"(?:Module|Library)Load|nvrtc|cuLink"
"""Calls that load or compile code, whenever they are made; other calls about code only ask for what
is loaded, as scans and selections do of their kernels in each step."""


@mechanism("recompilation")
def find_recompilations(subject: Subject) -> list[Found]:
    """Modules are loaded in a later step, after the host has compiled them."""
    calls = subject.own
    loads = calls[matching(calls["name"], LOADS) | _asks_first(calls)]
    loads = loads[loads["step"] > 0]
    if not len(loads):
        return []
    rows = rows_of(loads)
    spent = (loads["gap_ns"] + loads["end_ns"] - loads["start_ns"]).sum()
    return [subject.found_in(loads, (Edit(rows, gap=0, cost=0, drops=True),), spent)]


def _asks_first(calls: pd.DataFrame) -> "pd.Series[bool]":
    """Which calls ask for code and load it: they take long, before a kernel's first launch."""
    launch_ns = calls.loc[calls["kind"] == LAUNCH, "cost_ns"].median()
    first = ~calls["launched"].duplicated().shift(-1, fill_value=True)
    asks = matching(calls["name"], OF_OTHERS["load"])
    return first & asks & (calls["cost_ns"] > LARGE * launch_ns)
