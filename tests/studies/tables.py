"""A study's table from rows by hand, as section.py reads it, and what is concluded of it."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from workflow_src.render.show import Printer
from workflow_src.studies.registry import REGISTRY

NO_CEILINGS = pd.DataFrame()


def table_of(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """The table with these rows, written to CSV and read back."""
    text = pd.DataFrame(rows).to_csv(index=False)
    found = pd.read_csv(io.StringIO(text), keep_default_na=False, na_values=[""])
    return found.set_index(pd.RangeIndex(2, len(found) + 2))


def result_of(study: str, rows: Sequence[Mapping[str, Any]]) -> Any:
    """What a study finds in these rows."""
    return REGISTRY[study].result(table_of(rows), NO_CEILINGS)


def verdict_of(study: str, rows: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """The verdict's name and sentence."""
    headline = REGISTRY[study].headline(result_of(study, rows))
    return headline.verdict.name, str(headline.text(Printer()))


def cells(frame: pd.DataFrame, column: str) -> list[str]:
    """A column of a table as it is printed; its heading begins with `column`."""
    (name,) = (each for each in frame.columns if each.startswith(column))
    return [str(Printer()(cell)) for cell in frame[name]]
