"""Rows that laws of conservation are about, where these aren't the rows of a joined table."""

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
CAUSE_COLUMNS = [f"idle_{cause}_ns" for cause in CAUSES]

ADDING = ("aten::addmm", "aten::baddbmm")
"""They also read what they add to a product, such as a layer's bias."""


def ranges_in_ns(tables: Tables) -> pd.DataFrame:
    """The ranges table with host_ns and busy_ns, which its milliseconds give exactly."""
    ranges = tables["ranges"]
    ns = (ranges[["host_ms", "busy_ms"]] * NS_PER_MS).round().astype("int64")
    return ranges.assign(host_ns=ns["host_ms"], busy_ns=ns["busy_ms"])


def ranges_inside_parents(tables: Tables) -> pd.DataFrame:
    """The ranges with the path of the range around each, which is not in the table for a step."""
    inner = ranges_in_ns(tables).query("path != phase")
    return inner.assign(path=inner["path"].str.rpartition("/")[0])


def kernels_with_outer_paths(tables: Tables) -> pd.DataFrame:
    """The kernels in steps, a row for each range that they were launched in, outer ones too."""
    kernels = tables["kernels"].query("phase != ''")
    sums = kernels.groupby([*PHASE, "path"], as_index=False)[["busy_ns"]].sum()
    parts = sums["path"].str.split("/")
    outer = [["/".join(each[: n + 1]) for n in range(len(each))] for each in parts]
    return sums.assign(path=pd.Series(outer, index=sums.index, dtype=object)).explode("path")


def kernels_counted_by_nsys(tables: Tables) -> pd.DataFrame:
    """The kernels of the cases whose kernels nsys counted too."""
    counted = tables["captures"].dropna(subset="stats_total_ns")["case"]
    kernels = tables["kernels"]
    return kernels[kernels["case"].isin(counted) & (kernels["kind"] == "kernel")]


def explained_idle(tables: Tables) -> pd.DataFrame:
    """The steps whose idle time is split by cause, with the sum of these."""
    known = tables["ledger"].dropna(subset=CAUSE_COLUMNS)
    return known.assign(causes_ns=known[CAUSE_COLUMNS].sum(axis=1))


def steps_of_kernels(tables: Tables) -> pd.DataFrame:
    """The steps of each phase by kernels.csv."""
    kernels = tables["kernels"].query("phase != ''")
    return kernels.groupby(PHASE)["steps"].max().reset_index()


def steps_of_ledger(tables: Tables) -> pd.DataFrame:
    """The steps of each phase by ledger.csv."""
    return tables["ledger"].groupby(PHASE)["step"].nunique().reset_index(name="steps")


def of_phases(rows: pd.DataFrame, others: pd.DataFrame) -> pd.DataFrame:
    """The rows of the phases that others have rows of."""
    return rows.merge(others[PHASE].drop_duplicates(), on=PHASE)


def recorded_kernels(tables: Tables) -> pd.DataFrame:
    """The kernels that operators.csv tells about: all but bookkeeping, of recorded phases."""
    kernels = tables["kernels"].query("family != 'bookkeeping'")
    told = of_phases(kernels, tables["alignment"].query("status == 'ok'"))
    return told.assign(captured_path=told["path"])


def placed_operators(tables: Tables) -> pd.DataFrame:
    """operators.csv with captured_path, which was path before there were both."""
    operators = tables["operators"]
    return operators.assign(captured_path=operators.get("captured_path", operators["path"]))


def operators_by_range(tables: Tables) -> pd.DataFrame:
    """operators.csv with `lost`: whether no range of the capture has a row's path."""
    keys = [*PHASE, "path"]
    operators, known = tables["operators"], pd.MultiIndex.from_frame(tables["ranges"][keys])
    return operators.assign(lost=~pd.MultiIndex.from_frame(operators[keys]).isin(known))


def operators_that_clear(tables: Tables) -> pd.DataFrame:
    """Rows of operators.csv that set memory for an operator of another family."""
    rows = tables["operators"].query("family == 'fill'")
    rows = rows[~rows["operator"].isin(["", REST])]
    return rows[families(rows["operator"]) != "fill"]


def calls_of_products(tables: Tables) -> pd.DataFrame:
    """The calls of products, with `without`: whether none of a call's kernels has its bytes.

    Those of a call lie with one of its kernels; what adds up its parts may have a row of its own.
    """
    rows = placed_operators(tables)
    rows = rows[rows["operator"].isin(PRODUCTS) & (rows["family"] == "gemm")]
    moved = rows.groupby(CALL)["bytes_per_step"].sum().reset_index()
    return moved.assign(without=moved["bytes_per_step"] == 0)


def operators_without_bias(tables: Tables) -> pd.DataFrame:
    """The operators of matrix products, of phases in which none of them adds anything."""
    rows = tables["operators"].query("family == 'gemm'")
    adds = rows.assign(adding=rows["operator"].isin(ADDING)).groupby(PHASE)["adding"]
    never: pd.DataFrame = rows[~adds.transform("any")]
    return never


def sized_products(tables: Tables) -> pd.DataFrame:
    """products.csv with the bytes and FLOPs that m, n, k, matrices, dtype and calls make."""
    rows = tables["products"]
    names = ("m", "n", "k", "calls_per_step", "matrices")
    m, n, k, each, matrices = (rows[name].astype("float64") for name in names)
    sizes = {short: SIZES[dtype] for dtype, short in SHORT_DTYPES.items()}
    calls, size = each * matrices, rows["dtype"].map(sizes).astype("float64")
    return rows.assign(flops=2 * m * n * k * calls, bytes=(m * k + k * n + m * n) * calls * size)


def told_kernels(tables: Tables) -> pd.DataFrame:
    """The recorded kernels of matrix products, their time (ms) times the share that has a shape."""
    kernels = recorded_kernels(tables).query("family == 'gemm' and kind == 'kernel'")
    kernels = kernels.merge(tables["alignment"][[*PHASE, "gemm_share_with_shape"]], on=PHASE)
    return kernels.assign(told_ms=kernels["busy_ms_per_step"] * kernels["gemm_share_with_shape"])


def captured_products(tables: Tables) -> pd.DataFrame:
    """products.csv, of phases that were captured as kernels."""
    return of_phases(tables["products"], told_kernels(tables))


def whole_alignment(tables: Tables) -> pd.DataFrame:
    """alignment.csv, of phases in which each matrix product has a shape."""
    return tables["alignment"].query("status == 'ok' and gemm_share_with_shape == 1")


VIEWS: Mapping[str, Callable[[Tables], pd.DataFrame]] = {
    "ranges_in_ns": ranges_in_ns,
    "ranges_inside_parents": ranges_inside_parents,
    "kernels_with_outer_paths": kernels_with_outer_paths,
    "kernels_counted_by_nsys": kernels_counted_by_nsys,
    "explained_idle": explained_idle,
    "steps_of_kernels": steps_of_kernels,
    "steps_of_ledger": steps_of_ledger,
    "recorded_kernels": recorded_kernels,
    "placed_operators": placed_operators,
    "operators_by_range": operators_by_range,
    "operators_that_clear": operators_that_clear,
    "calls_of_products": calls_of_products,
    "operators_without_bias": operators_without_bias,
    "products_without_bias": lambda t: of_phases(sized_products(t), operators_without_bias(t)),
    "sized_products": sized_products,
    "told_kernels": told_kernels,
    "captured_products": captured_products,
    "whole_alignment": whole_alignment,
    "products_with_shapes": lambda t: of_phases(captured_products(t), whole_alignment(t)),
    "kernels_with_shapes": lambda t: of_phases(told_kernels(t), whole_alignment(t)),
    "products_and_operators": lambda t: pd.concat([t["products"], t["operators"]]),
}
"""By the name that laws.csv has for them."""
