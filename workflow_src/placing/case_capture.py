"""The exported capture of a case: read and placed as any other, its phases and steps numbered."""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_src.captures.capture import Capture
from workflow_src.captures.domains import is_library
from workflow_src.captures.reading import read
from workflow_src.common.case import END_OF_CAPTURE, PHASES
from workflow_src.common.errors import CAPTURE_AGAIN, TraceError, remake
from workflow_src.common.nesting import NOWHERE, flattened
from workflow_src.common.nsys_cli import DATABASE, TRACE
from workflow_src.placing.attributed import Attributed, attributed
from workflow_src.placing.step_rules import Rule, StepRanges
from workflow_src.placing.steps import step_ranges, steps
from workflow_src.placing.turns import one_after_another

_FACT = re.compile(r"(?P<name>host_id|host_operation_us|host_launch_us)=(?P<value>.+)")
"""Range names that say something about a capture: see measure/profiled_run.py."""

LOST = ("bad ranges", "bad work", "bad calls", "bad events", "cut off", "endless calls")


@dataclass(frozen=True)
class CaseCapture:
    """A case's capture.

    placed: with the ranges of PHASES as steps. ranges: with `path`, and `phase` and `step` of the
    step that they lie in, or "" and NOWHERE; work: as of with_places.
    """

    placed: Attributed
    ranges: pd.DataFrame
    work: pd.DataFrame

    @property
    def facts(self) -> dict[str, str]:
        """What the capture says of its host, by name; those of older runs say nothing."""
        found = filter(None, map(_FACT.fullmatch, self.ranges["name"]))
        return {each["name"]: each["value"] for each in found}


def read_case(export: Path) -> CaseCapture:
    """The capture in an export's folder. Raises TraceError if it can't be read."""
    try:
        here = [path for path in (export / DATABASE, export / TRACE) if path.is_file()]
        if not here:
            raise TraceError(f"{export} is no export: it holds neither {DATABASE} nor {TRACE}")
        return placed_case(read(here[0]))
    except TraceError as error:
        raise TraceError(f"{error}, or {remake(export)}") from error


def placed_case(capture: Capture) -> CaseCapture:
    """A capture of a case, placed."""
    # By domains, so that no step of torch.profiler counts: one holds all that is captured.
    own = tuple(each for each in capture.ranges["domain"].unique() if not is_library(each))
    found = attributed(capture, own or None, fold="")
    ranges = found.placed.ranges
    is_step = ((ranges["parent"] == NOWHERE) & ranges["name"].isin(PHASES)).to_numpy(copy=True)
    is_step[is_step] = one_after_another(ranges[is_step])
    found = replace(found, steps=StepRanges(Rule.NAMED, is_step))
    outer, _ = flattened(ranges["parent"].to_numpy(), deepest=2)
    root, steps = np.where(outer == NOWHERE, np.arange(len(ranges)), outer), step_ranges(found)
    ranges = ranges.assign(
        path=pd.Series(found.paths.text[found.paths.of_range], dtype="str"),
        phase=steps["path"].reindex(root, fill_value="").to_numpy(),
        step=steps["step"].reindex(root, fill_value=NOWHERE).to_numpy(),
    )
    return CaseCapture(found, ranges, with_places(ranges, found.work))


def with_places(ranges: pd.DataFrame, work: pd.DataFrame) -> pd.DataFrame:
    """Work with `phase`, `step` and `path` of its range, or "", NOWHERE and ""."""
    nowhere: dict[str, Any] = {"phase": "", "step": NOWHERE, "path": ""}
    at = work["range"].to_numpy()
    return work.assign(
        **{name: np.append(ranges[name].to_numpy(), [other])[at] for name, other in nowhere.items()}
    )


def ledger(case: CaseCapture) -> pd.DataFrame:
    """A row per step: `phase`, and as of `steps`."""
    return steps(case.placed).rename(columns={"path": "phase"}).drop(columns="process")


def require_complete(case: CaseCapture) -> None:
    """Raise TraceError unless the capture's closing range is there, and all of it was read."""
    capture, made = case.placed.capture, case.placed.capture.recording
    by = f"{made.profiler} {made.version}"
    if not (capture.ranges["name"] == END_OF_CAPTURE).any():
        raise TraceError(
            f"the capture was cut short: its closing range {END_OF_CAPTURE!r} is not among the "
            f"{len(capture.ranges)} ranges that {by} kept; {CAPTURE_AGAIN}, with a profiler no "
            "older than the CUDA libraries it has to understand"
        )
    for note in capture.notes:
        if note.code in LOST:
            raise TraceError(f"{note.count} {note.code} in the capture by {by}; {CAPTURE_AGAIN}")
