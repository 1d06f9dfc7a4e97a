"""The role of each kernel of attention: softmax, qk and av, or around these two products.

Ranges tell it; of a brought model without them, operators and their shapes do.
"""

import pandas as pd

from workflow_src.paper.run import Run

ROLES = ("softmax", "qk", "av", "around")

SOFTMAX = ("aten::_softmax", "aten::softmax")
"""The operator, and what calls it, which is an activity of its own on a CPU."""

BATCHED = ("aten::bmm", "aten::baddbmm")


def with_roles(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of attention's ranges, with roles."""
    innermost = rows["path"].str.rsplit("/", n=1).str[-1].astype(object)
    product = innermost.map({"scores": "qk", "values": "av"})
    role = product.where((rows["family"] == "gemm") | product.isna(), "around")
    role = role.mask(innermost == "softmax", "softmax")
    return rows.assign(role=role)[role.notna()]


def forward_operators(run: Run) -> pd.DataFrame:
    """The operators of forward passes, with roles."""
    rows = run.of_phase("operators", "forward")
    rows = rows.assign(ms=rows["busy_ms_per_step"])
    ranged = with_roles(rows)
    others = rows[~rows["case"].isin(ranged["case"])]
    return pd.concat([ranged, others.assign(role=roles_by_shapes(others))])


def roles_by_shapes(rows: pd.DataFrame) -> pd.Series:
    """The roles of operators in whose module softmax runs between two batched products.

    QK^T has a softmax's input as output, AV its output as first factor; "either" may be both.
    """
    module = pd.MultiIndex.from_frame(rows[["case", "path"]])
    is_softmax = rows["operator"].isin(SOFTMAX) & (rows["shapes"] != "")
    softmax = rows[is_softmax]
    squares = {(case, *sizes(text)[0][-2:]) for case, text in softmax[["case", "shapes"]].values}
    products = rows[rows["operator"].isin(BATCHED) & module.isin(module[is_softmax])]
    role = pd.Series("around", rows.index, dtype=object)
    for at, case, shapes in products[["case", "shapes"]].itertuples(name=None):
        first, second = sizes(shapes)[-2:]
        is_qk, is_av = ((case, *key) in squares for key in ((first[-2], second[-1]), first[-2:]))
        role[at] = "either" if is_qk and is_av else "qk" if is_qk else "av" if is_av else "around"
    found = module.isin(module[role != "around"])
    role[softmax.index] = "softmax"
    return role.where(found, "")


def sizes(shapes: str) -> list[list[int]]:
    """The tensors in a cell such as "8 x 16 x 4; 8 x 4 x 16"."""
    found = [text.split(" x ") for text in shapes.split("; ")]
    return [list(map(int, sides)) for sides in found if all(map(str.isdigit, sides))]
