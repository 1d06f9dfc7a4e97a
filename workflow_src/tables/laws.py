"""What must hold in the tables of every run, whatever was measured: the laws of conservation.

Device time is counted once and is the same in every table: kernels = captures = ledger = ranges =
operators, and that of products is that of the kernels that multiply. FLOPs are those of the sizes,
and bytes those of the shapes. Parts are at most their whole.

laws.csv has a row per law. Its sides are sums per key, as "EXPRESSION of ROWS where CONDITION", or
"max" or "nunique EXPRESSION of ...": the rows are those of a table, with what VIEWS adds to it, or
of VIEWS alone; expression and condition as for pandas' `eval` and `query`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.errors import UndefinedVariableError

from workflow_src.common.csv_rows import csv_rows
from workflow_src.common.operators import PRODUCTS
from workflow_src.common.read_table import read_table, with_texts
from workflow_src.common.units import NS_PER_MS
from workflow_src.placing.families import families
from workflow_src.placing.ledger import CAUSES
from workflow_src.tables.operators import REST
from workflow_src.tables.records import SHORT_DTYPES
from workflow_src.tables.traffic import SIZES

Tables = Mapping[str, pd.DataFrame]
"""Joined tables by name, as of `read_tables`."""

PHASE = ["case", "phase"]
CALL = [*PHASE, "captured_path", "operator", "forward_operator", "shapes", "dtypes"]

ADDING = ("aten::addmm", "aten::baddbmm")
"""They also read what they add to a product, such as a layer's bias."""


def _among(rows: pd.DataFrame, others: pd.DataFrame, keys: list[str]) -> "pd.Series[bool]":
    """Whether `others` have a row with the keys of each row."""
    known = pd.MultiIndex.from_frame(others[keys])
    return pd.Series(pd.MultiIndex.from_frame(rows[keys]).isin(known), rows.index)


def _with_phases(tables: Tables, name: str) -> pd.DataFrame:
    """A table with what is known of the phase of each row.

    recorded: what launched its work; captured: it was, with kernels that multiply; whole: each of
    its products has a shape; told_share: the share of their time that has one; multiplies, adds:
    whether an operator of it does, or adds something to a product.
    """
    known = tables["alignment"].set_index(PHASE)

    def among(name: str, condition: str) -> Any:
        rows = tables[name].query(condition, engine="python")[PHASE].drop_duplicates()
        return known.index.isin(pd.MultiIndex.from_frame(rows))

    recorded, share = known["status"] == "ok", known["gemm_share_with_shape"]
    flags = {
        "recorded": recorded,
        "captured": recorded & among("kernels", "family == 'gemm' and kind == 'kernel'"),
        "whole": recorded & (share == 1),
        "multiplies": among("operators", "family == 'gemm'"),
        "adds": among("operators", f"family == 'gemm' and operator in {ADDING}"),
    }
    phases = pd.DataFrame(flags, known.index).assign(told_share=share.where(recorded))
    rows = tables[name].join(phases, on=PHASE)
    return rows.assign(**{flag: rows[flag].eq(True) for flag in flags})


def kernels(tables: Tables) -> pd.DataFrame:
    """The kernels with whether nsys counted those of the case, and captured_path as operators."""
    counted = tables["captures"].dropna(subset="stats_total_ns")
    rows = _with_phases(tables, "kernels")
    return rows.assign(captured_path=rows["path"], counted=_among(rows, counted, ["case"]))


def kernels_with_outer_paths(tables: Tables) -> pd.DataFrame:
    """The kernels in steps, a row for each range that they were launched in, outer ones too."""
    found = tables["kernels"].query("phase != ''")
    sums = found.groupby([*PHASE, "path"], as_index=False)[["busy_ns"]].sum()
    parts = sums["path"].str.split("/")
    outer = [["/".join(each[: n + 1]) for n in range(len(each))] for each in parts]
    return sums.assign(path=pd.Series(outer, index=sums.index, dtype=object)).explode("path")


def ranges(tables: Tables) -> pd.DataFrame:
    """The ranges with host_ns and busy_ns, which their milliseconds give exactly."""
    rows = tables["ranges"]
    ns = (rows[["host_ms", "busy_ms"]] * NS_PER_MS).round().astype("int64")
    return rows.assign(host_ns=ns["host_ms"], busy_ns=ns["busy_ms"])


def inner_ranges(tables: Tables) -> pd.DataFrame:
    """Those in others, with the path of the one around each."""
    inner = ranges(tables).query("path != phase")
    return inner.assign(path=inner["path"].str.rpartition("/")[0])


def ledger(tables: Tables) -> pd.DataFrame:
    """The steps with causes_ns, the idle time that has a cause, missing if that isn't split."""
    causes = tables["ledger"][[f"idle_{cause}_ns" for cause in CAUSES]]
    return tables["ledger"].assign(causes_ns=causes.sum(axis=1, skipna=False))


def operators(tables: Tables) -> pd.DataFrame:
    """operators.csv with what must not be.

    lost: no range of the capture has a row's path; clears: it sets memory for an operator of
    another family; without: the first row of a product's call, of which no row has bytes.
    """
    rows = _with_phases(tables, "operators")
    fills = (rows["family"] == "fill") & ~rows["operator"].isin(["", REST])
    products = rows[rows["operator"].isin(PRODUCTS) & (rows["family"] == "gemm")]
    moved = products.groupby(CALL)["bytes_per_step"].transform("sum")
    without = (moved == 0) & ~products.duplicated(CALL)
    return rows.assign(
        lost=~_among(rows, tables["ranges"], [*PHASE, "path"]),
        clears=fills & (families(rows["operator"]) != "fill"),
        without=without.reindex(rows.index, fill_value=False),
    )


def products(tables: Tables) -> pd.DataFrame:
    """products.csv with the bytes and FLOPs that m, n, k, matrices, dtype and calls make."""
    rows = _with_phases(tables, "products")
    names = ("m", "n", "k", "calls_per_step", "matrices")
    m, n, k, each, matrices = (rows[name].astype("float64") for name in names)
    sizes = {short: SIZES[dtype] for dtype, short in SHORT_DTYPES.items()}
    calls, size = each * matrices, rows["dtype"].map(sizes).astype("float64")
    bytes_ = (m * k + k * n + m * n) * calls * size
    return rows.assign(made_flops=2 * m * n * k * calls, made_bytes=bytes_)


VIEWS = (kernels, kernels_with_outer_paths, ranges, inner_ranges, ledger, operators, products)
BY_NAME: Mapping[str, Callable[[Tables], pd.DataFrame]] = {view.__name__: view for view in VIEWS}
"""By the name that laws.csv has for them."""


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
        where: Any = reduce(lambda one, other: one + ", " + other, parts) if parts else ""
        return found.assign(phase=found.get("phase", ""), where=where)[list(COLUMNS)]

    def _summed(self, tables: Tables, side: str) -> "pd.Series[float]":
        parts = SIDE.fullmatch(side)
        assert parts, side
        name = parts["rows"]
        rows = BY_NAME[name](tables) if name in BY_NAME else tables[name]
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
    *("captures", "kernels", "ranges", "ledger"),
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
