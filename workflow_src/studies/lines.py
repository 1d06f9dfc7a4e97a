"""The lines of a study's table, whose cells become values, and tables made of such cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from workflow_src.answers import words
from workflow_src.render.value import Cell, Rows, Value, value


@dataclass(frozen=True)
class Line:
    """A line of the table `table`; the header is line 1. An absent column is as an empty cell."""

    table: str
    number: int
    cells: Mapping[str, object]

    def text(self, column: str) -> str:
        """A cell as text; "" where it is empty."""
        found = self.cells.get(column)
        return "" if found is None or found != found else str(found)

    def whole(self, column: str) -> int | None:
        """A cell as an integer that identifies: a context, a number of warm-up steps."""
        found = self.value(column, "count")
        return None if found is None else round(found.number)

    def value(self, column: str, unit: str, formula: str = "") -> Value | None:
        """A cell as a value; None where it is empty or no number."""
        rows = Rows(self.table, (self.number,))
        return value(self.cells.get(column), unit, rows, formula=formula or column)

    def true(self, column: str) -> bool:
        """Whether a cell says so."""
        return self.text(column) in ("True", "1", "1.0")

    @property
    def ok(self) -> bool:
        """Whether the line was measured."""
        return self.text("status") == "ok"

    @property
    def state(self) -> str:
        """In words, why the line wasn't measured."""
        status = self.text("status")
        return words.STATES.get(status, status)


def lines(table: pd.DataFrame, study: str) -> tuple[Line, ...]:
    """The lines of a study's table, or of `ceilings`, as section.py reads them."""
    name = study if study == "ceilings" else f"studies/{study}"
    rows = table.to_dict("records")
    return tuple(
        Line(name, int(number), {str(key): cell for key, cell in row.items()})
        for number, row in zip(table.index, rows, strict=True)
    )


def shown(rows: Sequence[Mapping[str, Cell]]) -> pd.DataFrame:
    """A table to print: a column per key, without those in which no row has a cell."""
    columns = dict.fromkeys(key for row in rows for key in row)
    kept = [key for key in columns if any(row.get(key) is not None for row in rows)]
    cells = [[row.get(key) for key in kept] for row in rows]
    return pd.DataFrame(cells, columns=kept, dtype="object")
