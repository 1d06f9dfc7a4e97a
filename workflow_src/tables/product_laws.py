"""Laws of matrix products: their time is that of kernels, FLOPs and bytes are those of sizes."""

import pandas as pd

from workflow_src.tables.law import FLOATS, Law, Tables, rounded, summed, total
from workflow_src.tables.operator_laws import PHASE, ROUNDED, is_ok, of_phases, recorded, rounding
from workflow_src.tables.operators import SHORT_DTYPES
from workflow_src.tables.traffic import SIZES

PRODUCT = (*PHASE, "product", "direction")

_BYTES = {short: SIZES[dtype] for dtype, short in SHORT_DTYPES.items()}


def of_sizes(tables: Tables) -> pd.DataFrame:
    """products.csv with the bytes and FLOPs that m, n, k, matrices, dtype and calls make."""
    rows = tables["products"]
    names = ("m", "n", "k", "calls_per_step", "matrices")
    m, n, k, each, matrices = (rows[name].astype("float64") for name in names)
    calls, size = each * matrices, rows["dtype"].map(_BYTES).astype("float64")
    return rows.assign(flops=2 * m * n * k * calls, bytes=(m * k + k * n + m * n) * calls * size)


def multiplying(rows: pd.DataFrame) -> "pd.Series[bool]":
    """Chooses the kernels of matrix products."""
    return (rows["family"] == "gemm") & (rows["kind"] == "kernel")


def told(tables: Tables) -> pd.DataFrame:
    """The recorded kernels of matrix products, their time (ms) times the share that has a shape."""
    kernels = recorded(tables)
    share = tables["alignment"][[*PHASE, "gemm_share_with_shape"]]
    kernels = kernels[multiplying(kernels)].merge(share, on=list(PHASE))
    return kernels.assign(told_ms=kernels["busy_ms_per_step"] * kernels["gemm_share_with_shape"])


def of_kernels(tables: Tables) -> pd.DataFrame:
    """products.csv, of phases that were captured as kernels."""
    return of_phases(tables["products"], told(tables)[list(PHASE)].drop_duplicates())


def whole(tables: Tables) -> pd.DataFrame:
    """alignment.csv, of phases in which each matrix product has a shape."""
    alignment = tables["alignment"]
    return alignment[is_ok(alignment) & (alignment["gemm_share_with_shape"] == 1)]


def counted(tables: Tables) -> pd.DataFrame:
    """The same, of phases whose FLOPs are also known without their operators."""
    alignment = whole(tables)
    return alignment[has_expected(alignment)]


def has_expected(rows: pd.DataFrame) -> "pd.Series[bool]":
    """Chooses the recorded phases of alignment.csv whose FLOPs are known from elsewhere, too."""
    return is_ok(rows) & rows["flops_expected"].notna()


def kernels_of_whole(tables: Tables) -> pd.DataFrame:
    """The kernels of matrix products, of these phases."""
    kernels = recorded(tables)
    return of_phases(kernels[multiplying(kernels)], whole(tables))


def products_of_whole(tables: Tables) -> pd.DataFrame:
    """products.csv, of these phases if they were captured as kernels."""
    return of_phases(of_kernels(tables), whole(tables))


ON_CPU = "on a CPU, operators that call another one to multiply are of the family too"
UNSHAPED = "phases in which a matrix product has no shape, by alignment.csv"

ADDING = ("aten::addmm", "aten::baddbmm")
"""They also read what they add to a product, such as a layer's bias."""


def only_multiplied(tables: Tables) -> pd.DataFrame:
    """The operators of matrix products, of phases in which none of them adds anything."""
    rows = tables["operators"]
    rows = rows[rows["family"] == "gemm"]
    adding = rows["operator"].isin(ADDING)
    return rows[~adding.groupby([rows[name] for name in PHASE]).transform("any")]


def of_only_multiplied(tables: Tables) -> pd.DataFrame:
    """The products of these phases."""
    return of_phases(of_sizes(tables), only_multiplied(tables)[list(PHASE)].drop_duplicates())


PRODUCT_LAWS = (
    Law(
        "operators = products, bytes",
        summed(only_multiplied, "bytes_per_step", *PHASE),
        summed(of_only_multiplied, "bytes", *PHASE),
        "bytes",
        allowed=rounded(summed(of_only_multiplied, "bytes", *PHASE)),
        why=f"{FLOATS}; without phases in which a product adds a bias, which it reads, too",
    ),
    Law(
        "products = kernels of the family gemm",
        summed(of_kernels, "busy_ms_per_step", *PHASE),
        summed(told, "told_ms", *PHASE),
        "ms",
        allowed=lambda tables: rounding(of_kernels(tables), *PHASE),
        why=f"{ROUNDED}; less what alignment.csv says has no shape; {ON_CPU}",
    ),
    Law(
        "products = kernels of the family gemm, calls",
        summed(products_of_whole, "kernels_per_step", *PHASE),
        summed(kernels_of_whole, "calls_per_step", *PHASE),
        "kernels per step",
        allowed=1e-6,
        why=f"{FLOATS}; without {UNSHAPED}; {ON_CPU}",
    ),
    Law(
        "products <= operators of the family gemm",
        total("products", "busy_ms_per_step", *PHASE),
        total("operators", "busy_ms_per_step", *PHASE, only=lambda rows: rows["family"] == "gemm"),
        "ms",
        at_most=True,
        allowed=lambda tables: rounding(
            pd.concat([tables["products"], tables["operators"]]), *PHASE
        ),
        why=ROUNDED,
    ),
    Law(
        "products: FLOPs = 2 m n k",
        total("products", "flops_per_step", *PRODUCT),
        summed(of_sizes, "flops", *PRODUCT),
        "FLOPs",
        allowed=rounded(summed(of_sizes, "flops", *PRODUCT)),
        why=FLOATS,
    ),
    Law(
        "products = alignment, FLOPs",
        total("products", "flops_per_step", *PHASE),
        total("alignment", "flops", *PHASE, only=is_ok),
        "FLOPs",
        allowed=rounded(total("alignment", "flops", *PHASE, only=is_ok)),
        why=FLOATS,
    ),
    Law(
        "alignment: FLOPs = those of the formulas",
        summed(counted, "flops", *PHASE),
        summed(counted, "flops_expected", *PHASE),
        "FLOPs",
        why=f"without {UNSHAPED}",
    ),
    Law(
        "alignment: FLOPs <= those of the formulas",
        total("alignment", "flops", *PHASE, only=has_expected),
        total("alignment", "flops_expected", *PHASE, only=has_expected),
        "FLOPs",
        at_most=True,
    ),
    Law(
        "products: calls <= kernels",
        total("products", "calls_per_step", *PRODUCT),
        total("products", "kernels_per_step", *PRODUCT),
        "calls per step",
        at_most=True,
        allowed=1e-6,
        why=FLOATS,
    ),
)
"""products agrees with operators, kernels and alignment, and what it says with its sizes."""
