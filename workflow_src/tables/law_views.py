"""What laws of conservation are about besides the joined tables' own rows and columns."""

from collections.abc import Callable, Mapping

import pandas as pd

from workflow_src.common.operators import PRODUCTS
from workflow_src.common.units import NS_PER_MS
from workflow_src.placing.families import families
from workflow_src.placing.ledger import CAUSES
from workflow_src.tables.operators import REST, SHORT_DTYPES
from workflow_src.tables.traffic import SIZES

Tables = Mapping[str, pd.DataFrame]
"""Joined tables by name, as of `read_tables` in tables/laws.py."""

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
    known, rows = tables["alignment"], tables[name]
    multiplying = tables["operators"].query("family == 'gemm'")
    adding = multiplying[multiplying["operator"].isin(ADDING)]
    kernels = tables["kernels"].query("family == 'gemm' and kind == 'kernel'")
    recorded, share = known["status"] == "ok", known["gemm_share_with_shape"]
    phases = {
        "recorded": known[recorded],
        "captured": known[recorded & _among(known, kernels, PHASE)],
        "whole": known[recorded & (share == 1)],
        "multiplies": multiplying,
        "adds": adding,
    }
    told = rows[PHASE].merge(known[recorded], "left", PHASE)["gemm_share_with_shape"]
    flags = {flag: _among(rows, phase, PHASE) for flag, phase in phases.items()}
    return rows.assign(told_share=told.set_axis(rows.index), **flags)


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


Views = Mapping[str, Callable[[Tables], pd.DataFrame]]
VIEWS: Views = {
    view.__name__: view
    for view in (
        *(kernels, kernels_with_outer_paths, ranges, inner_ranges),
        *(ledger, operators, products),
    )
}
"""By the name that laws.csv has for them."""
