"""Model FLOPs utilization: what a phase multiplies a second, against what its device can."""

import pandas as pd

from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.answers.times import PhaseTimes
from workflow_src.common.thresholds import WORKING_FULLY
from workflow_src.common.units import FLOP_PER_TFLOP, MS_PER_S
from workflow_src.render.value import Value, computed, rows_of, value

NOT_PRODUCTS = frozenset({"softmax"})
"""The components of work.csv that multiply no matrices."""

PASSES = {"forward": 1, "forward_backward": 3, "train_step": 3}
"""How many times forward's FLOPs each phase has: backward makes two products of each."""


def utilization(tables: Tables, times: PhaseTimes) -> Value | None:
    """FLOPs of the phase's matrix products / plain time / the ceiling of its precision.

    None unless the device works for WORKING_FULLY of the plain time, which the host sets otherwise,
    or where the ceiling of this device wasn't measured.
    """
    working, plain = times.working, times.plain
    if working is None or plain is None or working.number < WORKING_FULLY:
        return None
    flops, ceiling = _flops(tables, times.case), _ceiling(tables, times.case)
    if flops is None or ceiling is None or not ceiling.number * plain.number > 0:
        return None
    made = PASSES[times.phase] * flops.number / (plain.number / MS_PER_S) / FLOP_PER_TFLOP
    formula = "FLOPs of products / plain time / ceiling"
    return computed(made / ceiling.number, "share", formula, flops, plain, ceiling)


def _flops(tables: Tables, case: CaseKey) -> Value | None:
    """The FLOPs of the forward pass's matrix products."""
    work = tables.of("work", case.case)
    mine = work[~work["component"].isin(NOT_PRODUCTS)]
    if mine.empty:
        return None
    return value(mine["flops"].sum(), "flops", rows_of("work", mine), formula="sum over products")


def _ceiling(tables: Tables, case: CaseKey) -> Value | None:
    """The most TFLOP/s that products of a case's precision reached on its device: a median."""
    ceilings = tables["ceilings"]
    if not {"precision", "is_ceiling", "median_tflop_per_s"} <= set(ceilings):
        return None
    compute = (ceilings["kind"] == "compute") & (ceilings["precision"] == case.precision)
    mine = ceilings[compute & (ceilings["is_ceiling"].astype(str) == "True")].head(1)
    if mine.empty or not _same_device(mine, tables.of("environments", case.case), case):
        return None
    rows = rows_of("ceilings", mine)
    return value(mine["median_tflop_per_s"].iloc[0], "TFLOP/s", rows, formula="median of samples")


def _same_device(ceiling: pd.DataFrame, environment: pd.DataFrame, case: CaseKey) -> bool:
    """Whether a ceiling was measured on a device like the case's."""
    name = "cpu" if case.on_cpu else "gpu"
    if name not in ceiling or name not in environment or environment.empty:
        return False
    return str(ceiling[name].iloc[0]) == str(environment[name].iloc[0])
