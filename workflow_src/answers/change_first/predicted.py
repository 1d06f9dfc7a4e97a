"""What the model of a step predicts remedies to save, from remedies.csv."""

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from workflow_src.answers.change_first.saving import Known, Saving, saving, touching
from workflow_src.answers.intervals import Interval
from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.answers.times import PhaseTimes
from workflow_src.common.remedies import GRAPH
from workflow_src.paper.value import cell_of

TABLE = "remedies"

BF16 = "bf16"


def predicted(tables: Tables, times: PhaseTimes) -> Iterator[Saving]:
    """The predictions of a phase; none in a run whose tables are older than remedies.csv.

    The intervals are of the time with the remedies; the plain time is what they were made from.
    """
    case, phase = times.case, times.phase
    rows, in_bf16 = _known(tables, case, phase), _in_bf16(tables, case, phase)
    known = Known(False, times.processes, times.power_limited)
    for remedies, row in rows.items():
        names = touching(remedies.split("+"), phase)
        found = _saving(names, row, in_bf16.get(remedies, row), known)
        if names and found:
            yield found


def _known(tables: Tables, case: CaseKey, phase: str) -> dict[str, pd.DataFrame]:
    """The predictions of a phase, a row each, by their remedies."""
    rows = tables.of(TABLE, case.case, phase)
    return {
        str(rows.loc[line, "remedies"]): rows.loc[[line]]
        for line in rows.index[rows["status"] == "ok"]
    }


def _in_bf16(tables: Tables, case: CaseKey, phase: str) -> dict[str, pd.DataFrame]:
    """What the same case in bf16 is predicted to take as a CUDA graph, by remedies with bf16.

    Its kernels were measured in bf16, and no host slows a graph down.
    """
    twin = next(
        (
            each
            for each in tables.cases
            if each.precision == BF16 != case.precision
            and replace(each, precision=case.precision, case=case.case) == case
        ),
        None,
    )
    known = _known(tables, twin, phase) if twin else {}
    return {f"{BF16}+{names}": row for names, row in known.items() if GRAPH in names.split("+")}


def _saving(
    names: tuple[str, ...], row: pd.DataFrame, time: pd.DataFrame, known: Known
) -> Saving | None:
    """The saving of a row's plain time; `time` is the row of the time with the remedies."""
    plain = cell_of(row, TABLE, "plain_ms")
    middle, low, high = (
        cell_of(time, TABLE, f"{name}_ms") for name in ("predicted", "low", "high")
    )
    if plain is None or middle is None or low is None or high is None:
        return None
    return saving(names, Interval(plain, plain, plain), Interval(middle, low, high), known)
