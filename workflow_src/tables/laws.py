"""What must hold in the tables of every run, whatever was measured: the laws of conservation.

Device time is counted once and is the same in every table: kernels = captures = ledger = ranges =
operators, and that of products is that of the kernels that multiply. FLOPs are those of the sizes,
and bytes those of the shapes. Parts are at most their whole.

laws.csv has a row per law. Its sides are sums per key, as "EXPRESSION of ROWS where CONDITION", or
"max" or "nunique EXPRESSION of ...": the rows are those of a table, with what VIEWS adds to it, or
of VIEWS alone; expression and condition as for pandas' `eval` and `query`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.errors import UndefinedVariableError

from workflow_src.common.csv_rows import csv_rows
from workflow_src.common.read_table import read_table, with_texts
from workflow_src.tables.law_views import VIEWS
from workflow_src.tables.law_views import Tables as Tables

COLUMNS = ("case", "phase", "law", "where", "left", "right", "difference", "allowed")

SIDE = re.compile(
    r"(?:(?P<how>max|nunique) )?(?P<what>.+) of (?P<rows>\w+)(?: where (?P<where>.+))?"
)

ROUNDING = 1e-12
"""The share of a sum that may be lost to rounding; a FLOP or a byte more is a larger one."""

LAST_DIGIT = 0.5e-6
"""Times of operators and products (ms) are rounded to whole nanoseconds per step."""

FLOAT = 1e-9
"""What a sum of so many times (ms) loses at most."""


@dataclass(frozen=True)
class Law:
    """left = right for each key (of `keys`) of either, or, by its relation, left <= right.

    A key that one side lacks counts as 0 there. allowed: the difference that is no violation: a
    number, "rounding" of the right side, or the last "digits of ROWS where CONDITION", of several
    with ";" between; `why` says for what, and which rows the law leaves out. A side that is not a
    number is a violation.
    """

    name: str
    left: str
    right: str
    keys: str
    unit: str
    relation: str
    allowed: str
    why: str

    @property
    def at_most(self) -> bool:
        """Whether the left side may be less."""
        return self.relation == "<="

    def compared(self, tables: Tables) -> pd.DataFrame:
        """A row with COLUMNS per key; difference: left - right, in `unit` as both sides are.

        where: the parts of the key besides case and phase. Raises KeyError if `tables` lack a
        table or a column of the law.
        """
        try:
            left, right = (self._summed(tables, side) for side in (self.left, self.right))
        except UndefinedVariableError as error:
            raise KeyError(*error.args) from error
        keys = left.index.union(right.index)
        found = pd.DataFrame({
            "left": left.reindex(keys, fill_value=0),
            "right": right.reindex(keys, fill_value=0),
        })  # fmt: skip
        found["difference"] = found["left"] - found["right"]
        found = found.assign(law=self.name, allowed=self._allowed(tables, right)).reset_index()
        names = [name for name in self.keys.split() if name not in ("case", "phase")]
        parts = [f"{name} " + found[name].astype(str) for name in names]
        where = parts[0].str.cat(parts[1:], sep=", ") if parts else ""
        return found.assign(phase=found.get("phase", ""), where=where)[list(COLUMNS)]

    def _summed(self, tables: Tables, side: str) -> "pd.Series[float]":
        parts = SIDE.fullmatch(side)
        assert parts, side
        rows = VIEWS.get(parts["rows"], lambda given: given[parts["rows"]])(tables)
        rows = rows.query(parts["where"], engine="python") if parts["where"] else rows
        amounts: Any = rows.eval(f"summed = {parts['what']}", engine="python")
        sums: pd.Series[float] = amounts.groupby(self.keys.split())["summed"].agg(
            parts["how"] or "sum"
        )
        return sums

    def _allowed(self, tables: Tables, right: "pd.Series[float]") -> "pd.Series[float] | float":
        """For each key of the right side, or for all of them."""
        if self.allowed == "rounding":
            return right.abs() * ROUNDING
        if not self.allowed.startswith("digits"):
            return float(self.allowed or 0)
        counts = [self._summed(tables, f"1 {of}") for of in re.findall(" (of [^;]*)", self.allowed)]
        lost = pd.concat(counts).groupby(self.keys.split()).sum() * LAST_DIGIT + FLOAT
        return lost.reindex(right.index, fill_value=0.0)

    def broken(self, compared: pd.DataFrame) -> pd.DataFrame:
        """The rows of `compared` that violate the law."""
        difference = compared["difference"]
        beyond = difference if self.at_most else difference.abs()
        return compared[~(beyond <= compared["allowed"])]


LAWS = tuple(Law(**row) for row in csv_rows(Path(__file__).with_name("laws.csv")))

READ = (
    *("captures", "kernels", "ranges", "ledger", "launches", "launch_delays"),
    *("operators", "products", "alignment"),
)
"""The tables that the laws are about."""


def read_tables(folder: Path) -> dict[str, pd.DataFrame]:
    """The joined tables that the laws are about, by name. Raises StageError if one can't be read.

    A run without a record of operators has those tables too, without rows.
    """
    return {name: with_texts(read_table(folder / f"{name}.csv", name), name) for name in READ}


def check(tables: Tables, laws: Sequence[Law] = LAWS) -> pd.DataFrame:
    """A row with COLUMNS per violation of laws. Raises KeyError: see `Law.compared`."""
    return pd.concat([law.broken(law.compared(tables)) for law in laws], ignore_index=True)
