"""A number that knows its rows: arithmetic unites them and writes the formula, on whole columns.

Columns are series of pandas: of floats as they were read, indexed by table and line, or of Numbers
(dtype object). What is missing is NaN in both, and stays so through arithmetic and comparison.
"""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, partialmethod, reduce
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from workflow_src.paper.units import combined, earned, printed, scale, unit_of

NAN = float("nan")
Row = tuple[str, int]
"""A table's name, and the line of its CSV; the header is line 1."""

Numbers = pd.Series
"""A column of Numbers, NaN where one is missing."""

REDUCED: Mapping[str, Callable[[Any], Any]] = {
    **{"sum": np.sum, "count": np.sum, "mean": np.mean, "median": np.median, "spread": np.median},
    **{"min": np.min, "max": np.max},
}
"""How a group becomes one. "spread" is the median with the least and the most as ends; "count" is
of those that hold (see `holds`), "17 of 40"."""

SIGNS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


@dataclass(frozen=True, eq=False, slots=True)
class Number:
    """A finite number; ends: the least and the most that it was; digits: see `printed`.

    No float, so that pandas never makes it one.
    """

    value: float
    unit: str = ""
    rows: frozenset[Row] = frozenset()
    formula: str = ""
    ends: "tuple[Number, Number] | None" = None
    digits: int = 0

    def __float__(self) -> float:
        """The value, for numpy and for drawing."""
        return float(self.value)

    def __hash__(self) -> int:
        """That of the value, which it equals."""
        return hash(self.value)

    def __str__(self) -> str:
        """As it is printed."""
        return printed(self.value, self.unit, self.digits)

    def to(self, unit: str) -> "Number":
        """In another unit; ValueError if that isn't of the same kind."""
        if unit == self.unit:
            return self
        try:
            by = scale(self.unit, unit)
        except ValueError as error:
            raise ValueError(f"{self.formula} is {error}") from error
        ends = self.ends and (self.ends[0].to(unit), self.ends[1].to(unit))
        return replace(self, value=self.value * by, unit=unit, ends=ends)

    def within(self, low: Any, high: Any) -> "Number":
        """With ends, and the digits that they leave."""
        known = isinstance(low, Number) and isinstance(high, Number)
        digits = earned(self.value, *((float(low), float(high)) if known else (NAN, NAN)))
        return replace(self, ends=(low, high) if known else None, digits=digits)

    def _with(self, other: Any, sign: str, swapped: bool = False) -> Any:
        if not isinstance(other, Number | Real):
            return NotImplemented
        if float(other) != float(other):
            return NAN
        one, two = (other, self) if swapped else (self, other)
        if other != other or (sign == "/" and float(two) == 0):
            return NAN
        formula = f"{_said(one)} {sign} {_said(two)}"
        units = (each.unit if isinstance(each, Number) else "" for each in (one, two))
        try:
            unit = combined(sign, *units)
        except ValueError as error:
            raise ValueError(f"{formula} would be {error}") from error
        value = SIGNS[sign](float(one), float(two))
        rows = self.rows | other.rows if isinstance(other, Number) else self.rows
        return Number(value, unit, rows, formula) if abs(value) < np.inf else NAN

    def _holds(self, other: Any, holds: Callable[[float, float], bool]) -> Any:
        known = isinstance(other, Number | Real)
        return holds(self.value, float(other)) if known else NotImplemented

    __add__ = __radd__ = partialmethod(_with, sign="+")
    __sub__ = partialmethod(_with, sign="-")
    __rsub__ = partialmethod(_with, sign="-", swapped=True)
    __mul__ = __rmul__ = partialmethod(_with, sign="*")
    __truediv__ = partialmethod(_with, sign="/")
    __rtruediv__ = partialmethod(_with, sign="/", swapped=True)
    __eq__ = partialmethod(_holds, holds=operator.eq)
    __lt__ = partialmethod(_holds, holds=operator.lt)
    __le__ = partialmethod(_holds, holds=operator.le)
    __gt__ = partialmethod(_holds, holds=operator.gt)
    __ge__ = partialmethod(_holds, holds=operator.ge)

    def __abs__(self) -> "Number":
        """Without its sign."""
        return replace(self, value=abs(self.value), formula=f"|{self.formula}|", ends=None)

    def __pow__(self, power: int) -> "Number":
        """The power of a pure number."""
        said = f"{_said(self)}^{power}"
        return Number(self.value**power, combined("*", self.unit, ""), self.rows, said)


def _said(term: Any) -> str:
    if not isinstance(term, Number):
        return f"{float(term):g}"
    return f"({term.formula})" if re.search(r" [-+*/] ", term.formula) else term.formula


def is_number(cell: object) -> bool:
    """Whether a cell is a Number."""
    return isinstance(cell, Number)


def lift(column: pd.Series) -> Numbers:
    """A column of floats as it was read, as Numbers with the schema's unit."""
    name = str(column.name)
    made: list[object] = [
        Number(value, unit_of(row[0], name), frozenset([row]), name) if abs(value) < np.inf else NAN
        for row, value in zip(column.index, column.astype(float), strict=True)
    ]
    return pd.Series(made, column.index, dtype=object, name=name)


def over(
    rows: pd.DataFrame, by: str | Sequence[str], column: str, how: str = "sum", unit: str = ""
) -> Numbers:
    """A column of floats or Numbers reduced in each group that isn't empty, as REDUCED says.

    unit: of what was computed of floats.
    """
    known, keys = rows[rows[column].notna()], [by] if isinstance(by, str) else [*by]
    if known.empty:
        return pd.Series(dtype=object, index=known.reindex(columns=keys).set_index(keys).index)
    cells, first, is_read = known[column], known[column].iloc[0], known[column].dtype != object
    values = cells.astype(float).to_numpy()
    sources = cells.index.to_numpy() if is_read else cells.map(lambda each: each.rows).to_numpy()
    unit = unit or (unit_of(cells.index[0][0], column) if is_read else first.unit)
    formula = f"{how.replace('spread', 'median')}({column if is_read else first.formula})"
    groups = known.groupby(keys, sort=False, dropna=False)
    sizes, order = groups.size(), np.argsort(groups.ngroup().to_numpy(), kind="stable")
    made: list[object] = []
    for mine in np.split(order, sizes.cumsum().to_numpy()[:-1]):
        of = frozenset(sources[mine] if is_read else chain.from_iterable(sources[mine]))
        value = float(REDUCED[how](values[mine]))
        said = f"of {len(mine)}" if how == "count" else unit
        ends = None
        if how == "spread" and len(mine) > 1 and not is_read:
            ends = tuple(cells.iloc[mine[at(values[mine])]] for at in (np.argmin, np.argmax))
        made.append(Number(value, said, of, formula, ends) if abs(value) < np.inf else NAN)
    return pd.Series(made, sizes.index, dtype=object)


def of(cells: Numbers, how: str = "spread") -> Any:
    """That of all Numbers of a column; NaN without any."""
    found = over(pd.DataFrame({"all": "", "cell": cells.astype(object)}), "all", "cell", how)
    return found.iloc[0] if len(found) else NAN


def holds(cells: Numbers, mask: pd.Series, rule: str) -> Numbers:
    """1 where a rule holds for a Number, else 0."""
    return each(cells, lambda number, it: Number(float(it), "count", number.rows, rule), mask)


def count(cells: Numbers, mask: pd.Series, rule: str) -> Any:
    """For how many Numbers a rule holds, "17 of 40"; NaN without any."""
    return of(holds(cells, mask, rule), "count")


def added(frame: pd.DataFrame) -> Numbers:
    """The sum of the Numbers in each row; NaN without any."""
    known = ([each for each in row if is_number(each)] for row in frame.to_numpy(object))
    made: list[object] = [reduce(operator.add, row) if row else NAN for row in known]
    return pd.Series(made, frame.index, dtype=object)


def to(cells: Numbers, unit: str) -> Numbers:
    """Numbers in another unit."""
    return each(cells, lambda number: number.to(unit))


def within(cells: Numbers, low: Numbers, high: Numbers) -> Numbers:
    """Numbers with ends; see Number.within."""
    return each(cells, Number.within, low, high)


def end(cells: Numbers, which: int) -> Numbers:
    """One of the ends of Numbers, NaN without."""
    return each(cells, lambda number: number.ends[which] if number.ends else NAN)


def each(cells: Numbers, make: Callable[..., object], *beside: pd.Series) -> Numbers:
    """What a function makes of each Number and what is beside it; other cells stay."""
    rows = zip(cells, *beside, strict=True)
    made: list[object] = [make(c, *more) if isinstance(c, Number) else c for c, *more in rows]
    return pd.Series(made, cells.index, dtype=object)


def named(frame: pd.DataFrame) -> pd.DataFrame:
    """Numbers whose formula is their column's name, so that those of what follows are readable."""
    made = {str(name): each(frame[name], partial(replace, formula=str(name))) for name in frame}
    return pd.DataFrame(made, frame.index, dtype=object)
