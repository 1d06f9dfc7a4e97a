"""The parts of a case's training step in plain time: idle, and the device's work by what it is."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from workflow_src.answers.components import with_components
from workflow_src.answers.kernels import PRODUCTS, device_rows
from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.answers.times import phase_times
from workflow_src.common.case import PHASES
from workflow_src.common.components import COMPONENTS
from workflow_src.common.precisions import NARROW
from workflow_src.common.units import NS_PER_MS
from workflow_src.paper.value import Cell
from workflow_src.placing.kernel_words import changes_type

PHASE = PHASES[-1]
IDLE, MULTIPLYING, SOFTMAX = "device idle", "matrix products", "softmax"
CASTS, ELSE, OPTIMIZER = "casts", "everything else", "optimizer"


@dataclass(frozen=True)
class StepParts:
    """A training step: its plain time, as it is told, too, and what each part takes of it, in ms.

    `state` is "ok", or says why there are none. Idle is what the plain time exceeds the device's
    by; where it doesn't, as under a profiler that slows operators, there is none.
    """

    case: CaseKey
    state: str
    plain_ms: float
    parts: Mapping[str, float]
    told: Cell = None


def step_parts(tables: Tables, case: CaseKey) -> StepParts:
    """The parts of one case's training step, from timings, ranges, captures and kernels.

    Backward is one range: whose gradient a kernel computes is in operators alone, so that softmax
    is a part of everything else where there is none.
    """
    times = phase_times(tables, case, PHASE)
    states = [state for state in (times.state, times.profiled_state) if state != "ok"]
    if states or times.plain is None or times.busy is None:
        return StepParts(case, states[0] if states else "not_measured", 0.0, {})
    parts = _device_parts(tables, case)
    parts[ELSE] = parts.get(ELSE, 0.0) + max(0.0, times.busy.number - sum(parts.values()))
    parts[IDLE] = max(0.0, times.plain.number - times.busy.number)
    return StepParts(case, "ok", times.plain.number, parts, times.plain_told)


def _device_parts(tables: Tables, case: CaseKey) -> dict[str, float]:
    """The device time (ms) of a step by part."""
    rows = tables.of("operators", case.case, PHASE)
    if rows.empty:
        kernels = device_rows(tables, case.case, PHASE)
        ms = kernels["busy_ns"] / kernels["steps"].max() / NS_PER_MS
        part = _part_of(kernels, case, pd.Series(False, kernels.index))
    else:
        ms = rows["busy_ms_per_step"]
        softmax = with_components(tables, rows)["component"] == COMPONENTS["softmax"].name
        part = _part_of(rows, case, softmax | (rows["family"] == "softmax"))
    return {str(name): float(each) for name, each in ms.groupby(part).sum().items()}


def _part_of(rows: pd.DataFrame, case: CaseKey, softmax: "pd.Series[bool]") -> "pd.Series[str]":
    """The part that each row belongs to; of several, the last of these."""
    found = pd.Series(ELSE, rows.index, dtype="object")
    if case.precision in NARROW:
        found[[changes_type(str(name)) for name in rows["short_name"]]] = CASTS
    found[softmax] = SOFTMAX
    found[rows["family"].isin(PRODUCTS)] = MULTIPLYING
    found[["optimizer" in str(path).split("/") for path in rows["path"]]] = OPTIMIZER
    return found
