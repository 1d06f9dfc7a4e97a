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


def _whole(tables: Tables) -> pd.DataFrame:
    """The phases in which each matrix product has a shape."""
    return tables["alignment"].query("status == 'ok' and gemm_share_with_shape == 1")


def ranges(tables: Tables) -> pd.DataFrame:
    """The ranges with host_ns and busy_ns, which their milliseconds give exactly."""
    rows = tables["ranges"]
    ns = (rows[["host_ms", "busy_ms"]] * NS_PER_MS).round().astype("int64")
    return rows.assign(host_ns=ns["host_ms"], busy_ns=ns["busy_ms"])


def inner_ranges(tables: Tables) -> pd.DataFrame:
    """Those in others, with the path of the one around each."""
    inner = ranges(tables).query("path != phase")
    return inner.assign(path=inner["path"].str.rpartition("/")[0])


def kernels(tables: Tables) -> pd.DataFrame:
    """The kernels, which of them nsys counted, too, and which operators.csv tells about.

    recorded: all but bookkeeping, of recorded phases; whole: of phases whose products all have a
    shape; told_ms: their time (ms) per step times the share that has a shape, of products.
    """
    rows, record = tables["kernels"], tables["alignment"].query("status == 'ok'")
    counted = tables["captures"].dropna(subset="stats_total_ns")
    share = rows[PHASE].merge(record, "left", PHASE)["gemm_share_with_shape"]
    return rows.assign(
        counted=_among(rows, counted, ["case"]) & (rows["kind"] == "kernel"),
        recorded=_among(rows, record, PHASE) & (rows["family"] != "bookkeeping"),
        captured_path=rows["path"],
        whole=_among(rows, _whole(tables), PHASE),
        told_ms=rows["busy_ms_per_step"] * share.set_axis(rows.index),
    )


def kernels_with_outer_paths(tables: Tables) -> pd.DataFrame:
    """The kernels in steps, a row for each range that they were launched in, outer ones too."""
    found = tables["kernels"].query("phase != ''")
    sums = found.groupby([*PHASE, "path"], as_index=False)[["busy_ns"]].sum()
    parts = sums["path"].str.split("/")
    outer = [["/".join(each[: n + 1]) for n in range(len(each))] for each in parts]
    return sums.assign(path=pd.Series(outer, index=sums.index, dtype=object)).explode("path")


def ledger(tables: Tables) -> pd.DataFrame:
    """The steps with causes_ns, the idle time that has a cause, missing if that isn't split."""
    causes = tables["ledger"][[f"idle_{cause}_ns" for cause in CAUSES]]
    return tables["ledger"].assign(causes_ns=causes.sum(axis=1, skipna=False))


def operators(tables: Tables) -> pd.DataFrame:
    """operators.csv with what must not be.

    lost: no range of the capture has a row's path; clears: it sets memory for an operator of
    another family; without: the first row of a product's call, of which no row has bytes; adds: in
    the phase, something is added to a product.
    """
    rows = tables["operators"]
    fills = (rows["family"] == "fill") & ~rows["operator"].isin(["", REST])
    products = rows["operator"].isin(PRODUCTS) & (rows["family"] == "gemm")
    moved = rows[products].groupby(CALL)["bytes_per_step"].transform("sum") == 0
    adding = rows["operator"].isin(ADDING) & (rows["family"] == "gemm")
    return rows.assign(
        lost=~_among(rows, tables["ranges"], [*PHASE, "path"]),
        clears=fills & (families(rows["operator"]) != "fill"),
        without=(moved & ~rows[products].duplicated(CALL)).reindex(rows.index, fill_value=False),
        adds=_among(rows, rows[adding], PHASE),
    )


def products(tables: Tables) -> pd.DataFrame:
    """products.csv with the bytes and FLOPs that m, n, k, matrices, dtype and calls make.

    captured: of phases that were captured as kernels; whole: and whose products all have a shape;
    adds_nothing: of phases in which operators multiply and none adds something.
    """
    rows = tables["products"]
    names = ("m", "n", "k", "calls_per_step", "matrices")
    m, n, k, each, matrices = (rows[name].astype("float64") for name in names)
    sizes = {short: SIZES[dtype] for dtype, short in SHORT_DTYPES.items()}
    calls, size = each * matrices, rows["dtype"].map(sizes).astype("float64")
    told = kernels(tables).query("recorded and family == 'gemm' and kind == 'kernel'")
    captured = _among(rows, told, PHASE)
    adds_nothing = operators(tables).query("family == 'gemm' and not adds")
    return rows.assign(
        made_flops=2 * m * n * k * calls,
        made_bytes=(m * k + k * n + m * n) * calls * size,
        captured=captured,
        whole=captured & _among(rows, _whole(tables), PHASE),
        adds_nothing=_among(rows, adds_nothing, PHASE),
    )


VIEWS: Mapping[str, Callable[[Tables], pd.DataFrame]] = {
    view.__name__: view
    for view in (
        *(ranges, inner_ranges, kernels, kernels_with_outer_paths),
        *(ledger, operators, products),
    )
}
"""By the name that laws.csv has for them."""
