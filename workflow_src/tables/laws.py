"""Laws of conservation that hold in the tables of every run.

laws.csv has a row per law. Its sides are sums per key, as "EXPRESSION of ROWS where CONDITION", or
"max" or "nunique EXPRESSION of ...": rows are those of `derived`; expression and condition as for
pandas' `eval` and `query`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.errors import UndefinedVariableError

from workflow_src.common.csv_rows import csv_rows
from workflow_src.common.read_table import read_table, with_texts
from workflow_src.common.units import NS_PER_MS
from workflow_src.placing.ledger import CAUSES

PHASE = ["case", "phase"]

READ = ("captures", "kernels", "ranges", "ledger", "operators", "alignment")
SIDE = re.compile(
    r"(?:(?P<how>max|nunique) )?(?P<what>.+) of (?P<rows>\w+)(?: where (?P<where>.+))?"
)

ROUNDING = 1e-12
"""The share of a sum that may be lost to rounding; a FLOP or a byte is more."""

AT_MOST = "<="

Tables = Mapping[str, pd.DataFrame]


def _among(rows: pd.DataFrame, others: pd.DataFrame, keys: list[str]) -> "pd.Series[bool]":
    mine, known = (pd.MultiIndex.from_frame(each[keys]) for each in (rows, others))
    return pd.Series(mine.isin(known), rows.index)


def derived(tables: Tables) -> dict[str, pd.DataFrame]:
    """The rows of laws.csv by name. recorded: whether it is known what launched a phase's work;
    lost: whether no captured range has an operator's path.

    Raises KeyError if a table or a column is missing.
    """
    kernels, ranges, ledger, operators = (
        tables[name] for name in ("kernels", "ranges", "ledger", "operators")
    )
    recorded = _among(kernels, tables["alignment"].query("status == 'ok'"), PHASE)
    ns = (ranges[["host_ms", "busy_ms"]] * NS_PER_MS).round().astype("int64")
    ranges = ranges.assign(host_ns=ns["host_ms"], busy_ns=ns["busy_ms"])
    inner = ranges.query("path != phase")
    outer = inner["path"].str.rpartition("/")[0]
    causes = ledger[[f"idle_{cause}_ns" for cause in CAUSES]].sum(axis=1, skipna=False)
    counted = _among(kernels, tables["captures"].dropna(subset="stats_total_ns"), ["case"])
    return {
        **tables,
        "kernels": kernels.assign(
            captured_path=kernels["path"], counted=counted, recorded=recorded
        ),
        "kernels_with_outer_paths": _with_outer_paths(kernels),
        "ranges": ranges,
        "inner_ranges": inner.assign(path=outer),
        "ledger": ledger.assign(causes_ns=causes),
        "operators": operators.assign(lost=~_among(operators, ranges, [*PHASE, "path"])),
    }


def _with_outer_paths(kernels: pd.DataFrame) -> pd.DataFrame:
    """Kernels in steps, a row for each range that they were launched in, outer ones too."""
    sums = kernels.query("phase != ''").groupby([*PHASE, "path"], as_index=False)[["busy_ns"]].sum()
    outer = sums["path"].map(lambda path: [*accumulate(path.split("/"), "{}/{}".format)])
    return sums.assign(path=outer).explode("path")


@dataclass(frozen=True)
class Law:
    """left = right for each key (of `keys`) of either, or, by its relation, left <= right.

    A key that one side lacks counts as 0 there. allowed: the difference that is no violation: a
    number, or "rounding" of the right side; `why` says for what.
    """

    name: str
    left: str
    right: str
    keys: str
    unit: str
    relation: str
    allowed: str
    why: str

    def compared(self, rows: Tables) -> pd.DataFrame:
        """A row per key with its parts, left, right, their difference and what is allowed of it.

        Raises KeyError if the tables lack one, or a column, of the law.
        """
        try:
            left, right = self._summed(rows, self.left), self._summed(rows, self.right)
        except UndefinedVariableError as error:
            raise KeyError(*error.args) from error
        left, right = left.align(right, fill_value=0)
        found = pd.DataFrame({"left": left, "right": right, "difference": left - right})
        rounding = self.allowed == "rounding"
        allowed = right.abs() * ROUNDING if rounding else float(self.allowed or 0)
        return found.assign(allowed=allowed).reset_index()

    def _summed(self, rows: Tables, side: str) -> "pd.Series[float]":
        parts = SIDE.fullmatch(side)
        assert parts, side
        mine = rows[parts["rows"]]
        mine = mine.query(parts["where"], engine="python") if parts["where"] else mine
        amounts: Any = mine.eval(f"summed = {parts['what']}", engine="python")
        groups = amounts.groupby(self.keys.split())["summed"]
        return pd.Series(groups.agg(parts["how"] or "sum"))

    def broken(self, compared: pd.DataFrame) -> pd.DataFrame:
        """The rows of `compared` that violate the law; where: its key without case and phase."""
        difference = compared["difference"]
        # What is no number is a violation.
        beyond = difference if self.relation == AT_MOST else difference.abs()
        found = compared[~(beyond <= compared["allowed"])]
        names = [name for name in self.keys.split() if name not in PHASE]
        rows = found[names].to_dict("records")
        where = [", ".join(f"{name} {part}" for name, part in row.items()) for row in rows]
        return found.assign(law=self.name, where=where, phase=found.get("phase", ""))


LAWS = tuple(Law(**row) for row in csv_rows(Path(__file__).with_name("laws.csv")))


def read_tables(folder: Path) -> dict[str, pd.DataFrame]:
    """The joined tables that the laws are about. Raises StageError if one can't be read."""
    return {name: with_texts(read_table(folder / f"{name}.csv", name), name) for name in READ}
