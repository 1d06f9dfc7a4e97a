"""Reading a table: from a CSV to a data frame, by the table's schema."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_src.common.case import COUNTS, LATER
from workflow_src.common.errors import StageError, remake
from workflow_src.common.reading import reading
from workflow_src.common.table_schema import columns, key

FIRST_LINE = 2
"""The line of a CSV's first row."""

ALL_TEXT = frozenset({"environments"})
"""Tables all of whose cells are read as texts: machines leave many empty."""


def read_table(path: Path, table: str, case: Mapping[str, Any] | None = None) -> pd.DataFrame:
    """The table in a file, indexed by line number: texts as texts, empty cells as NaN.

    table: its name in the schema; columns that it doesn't describe are as pandas infers them. case:
    the columns of its case, which a case's own table lacks. Raises StageError if the file is
    missing or damaged, lacks a required column (without rows: all columns), or has a row twice.
    """
    described = columns(table)
    texts = dict.fromkeys((name for name, each in described.items() if each.is_text), "object")
    with reading(path, "a readable table", remake(path), StageError):
        frame = pd.read_csv(
            path,
            dtype="object" if table in ALL_TEXT else texts,
            keep_default_na=False,
            na_values=[""],
            low_memory=False,
        )
        if case and "case" not in frame:
            frame = frame.assign(**case)
        # Axes that this run is too old to have.
        later = {n: LATER[n] for n in LATER if n in described and n not in frame}
        required = [name for name, each in described.items() if each.is_required]
        absent = [name for name in required if name not in frame and name not in later]
        if absent and (len(frame) or described.keys().isdisjoint(frame)):
            raise ValueError(f"no column {', '.join(absent)}")
        lines = pd.RangeIndex(FIRST_LINE, len(frame) + FIRST_LINE)
        frame = frame.assign(**later).set_index(lines)
        _require_different_rows(frame, key(table))
    return frame


def _require_different_rows(frame: pd.DataFrame, by: Sequence[str]) -> None:
    """Raise ValueError if two rows agree in the columns `by`, or without these in all."""
    told = bool(by) and {*by} <= {*frame}
    cells = frame[[*by]] if told else frame
    again = cells.index[cells.duplicated()]
    if len(again):
        texts = cells.astype("str")
        first = (texts == texts.loc[again[0]]).all(axis=1).idxmax()
        same = ", ".join(by) if told else "cells"
        raise ValueError(f"line {again[0]} has the same {same} as line {first}")


def described(frame: pd.DataFrame, table: str) -> pd.DataFrame:
    """The columns of a frame that a table has."""
    return frame[[name for name in frame if name in columns(table)]]


def with_texts(frame: pd.DataFrame, table: str) -> pd.DataFrame:
    """A table whose empty cells of texts are empty texts."""
    described = columns(table).values()
    named = {each.column for each in described if each.is_text}
    read = set(frame) - set(COUNTS) if table in ALL_TEXT else named
    texts = [str(name) for name in frame if name in read]
    return frame.assign(**{name: frame[name].astype("object").fillna("") for name in texts})
