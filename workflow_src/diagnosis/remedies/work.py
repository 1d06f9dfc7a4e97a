"""The device work of a phase, in the order of passes, from the record of its operators."""

import re

import numpy as np
import numpy.typing as npt
import pandas as pd

FORWARD, BACKWARD, OPTIMIZER = "forward", "backward", "optimizer"
PASSES = (FORWARD, BACKWARD, OPTIMIZER)

NO_HOST = dict.fromkeys(PASSES, 0.0)
"""The host's time for a launch (ns) in each pass of which nothing is known yet."""

PRODUCT, CORE_PRODUCT, CAST, ELEMENTWISE, UPDATE, OTHER = (
    *("product", "core product", "cast", "elementwise"),
    *("update", "other"),
)
"""Kinds of work: products outside and inside of attention's core, casts, chains of passes over
tensors, the optimizer's, and what no remedy touches."""

CORE = ("scores", "softmax", "values")
"""The ranges of attention's core where it is written out."""

WORK = (
    *("pass", "path", "leaf", "kind", "operator", "launches", "device_ms", "instances"),
    *("m", "n", "k", "matrices"),
)
"""Columns of a phase's work, a row per operator, place and kernel: `leaf` is the innermost range,
`instances` how often its range runs in a step; m, n, k, matrices are those of a product, else 0."""

SINGLE = ("gemm", "attention", "embedding", "optimizer", "loss", "communication")
"""Families whose kernels are no pass over a tensor that could be fused with its neighbors."""

SHAPE = re.compile(r"^\d+(?: x \d+)*$")


def work_of(operators: pd.DataFrame) -> pd.DataFrame:
    """The work of phases of cases, from operators.csv: a table with `case`, `phase` and WORK."""
    path = operators["path"].str.split("/").str[1:]
    # Backward's work stands at the path of its forward operator, or of the range of that name.
    first = path.str[0].fillna("")
    backward = (operators["forward_operator"].fillna("") != "") | (first == BACKWARD)
    name = np.select([first == OPTIMIZER, backward], [OPTIMIZER, BACKWARD], FORWARD)
    columns = {
        "case": operators["case"],
        "phase": operators["phase"],
        "pass": name.astype(object),
        "path": path.str.join("/"),
        "leaf": path.str[-1].fillna(""),
        "operator": operators["operator"],
        "launches": operators["calls_per_step"].round().clip(lower=1).astype("int64"),
        "device_ms": operators["busy_ms_per_step"].astype("float64"),
    }
    sizes = pd.DataFrame(
        [product_sizes(shapes) for shapes in operators["shapes"]],
        columns=["m", "n", "k", "matrices"],
        index=operators.index,
    )
    sizes[operators["family"] != "gemm"] = 0
    work = pd.DataFrame(columns).join(sizes)
    work["kind"] = _kinds(work, operators)
    work["instances"] = _instances(work)
    return work[["case", "phase", *WORK]].reset_index(drop=True)


def _kinds(work: pd.DataFrame, operators: pd.DataFrame) -> "npt.NDArray[np.object_]":
    family = operators["family"]
    core, updates = work["leaf"].isin(CORE), work["pass"] == OPTIMIZER
    products = (family == "gemm") & (work["m"] > 0)
    conditions = [
        updates,
        products & core,
        products,
        (family == "gemm") & core,
        _is_cast(operators) & ~core,
        ~family.isin(SINGLE),
    ]
    kinds = [UPDATE, CORE_PRODUCT, PRODUCT, CORE_PRODUCT, CAST, ELEMENTWISE]
    return np.select(conditions, kinds, OTHER).astype(object)


def _is_cast(operators: pd.DataFrame) -> pd.Series:
    """Copies from one type to another, of a matrix: a weight's or its gradient's."""
    types = operators["dtypes"].fillna("").str.extract(r"^(\w+); (\w+)$")
    changes = types[0].notna() & types[0].ne(types[1])
    matrix = operators["shapes"].fillna("").str.match(r"^\d+ x \d+; \d+ x \d+$")
    return (operators["family"] == "copy") & changes & matrix


def _instances(work: pd.DataFrame) -> pd.Series:
    """How often a range runs in a step: the commonest number of launches of its operators."""
    by = ["case", "phase", "pass", "path"]
    counted = work.groupby([*by, "launches"]).size().rename("operators").reset_index()
    commonest = counted.sort_values([*by, "operators", "launches"]).drop_duplicates(by, keep="last")
    return work[by].merge(commonest, on=by, how="left")["launches"].set_axis(work.index)


def product_sizes(shapes: object) -> tuple[int, int, int, int]:
    """m, n, k and the number of matrices of a product with these inputs; zeros if it is none."""
    parts = str(shapes).split("; ")
    shaped = [[int(each) for each in part.split(" x ")] for part in parts if SHAPE.match(part)]
    matrices = [part for part in shaped if len(part) in (2, 3)]
    if len(matrices) < 2:
        return 0, 0, 0, 0
    a, b = matrices[-2:]
    if len(a) != len(b) or a[-1] != b[-2]:
        return 0, 0, 0, 0
    return a[-2], b[-1], a[-1], a[0] if len(a) == 3 else 1
