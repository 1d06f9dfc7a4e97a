"""What the model of a step predicts remedies to save, from remedies.csv."""

from collections.abc import Iterator

import pandas as pd

from workflow_src.answers.change_first.saving import Interval, Saving, saving, touching
from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.render.value import Value, rows_of, value

TABLE = "remedies"


def predicted(tables: Tables, case: CaseKey, phase: str) -> Iterator[Saving]:
    """The predictions of a phase; none in a run whose tables are older than remedies.csv.

    The intervals are of the time with the remedies; the plain time is what they were made from.
    """
    rows = tables.of(TABLE, case.case, phase)
    for line in rows.index[rows["status"] == "ok"]:
        names = touching(str(rows.loc[line, "remedies"]).split("+"), phase)
        found = _saving(names, rows.loc[[line]])
        if names and found:
            yield found


def _saving(names: tuple[str, ...], row: pd.DataFrame) -> Saving | None:
    plain, middle, low, high = (
        _ms(row, f"{name}_ms") for name in ("plain", "predicted", "low", "high")
    )
    if plain is None or middle is None or low is None or high is None:
        return None
    return saving(names, Interval(plain, plain, plain), Interval(middle, low, high), False)


def _ms(row: pd.DataFrame, column: str) -> Value | None:
    return value(row[column].iloc[0], "ms", rows_of(TABLE, row), formula=column)
