"""The modules of each case's step as a tree: what each takes of the device, and at which rate.

Repeated layers share one. Backward's are those whose gradients its kernels compute, by
operators.csv; without that, backward is one.
"""

from collections.abc import Set
from dataclasses import replace

import pandas as pd
from markupsafe import escape

from workflow_src.answers.facts import PRODUCTS, kernels
from workflow_src.common.case import PHASES
from workflow_src.common.components import COMPONENTS, module_of
from workflow_src.common.thresholds import LEAST_SHARE_SHOWN
from workflow_src.common.words import PHASES as IN_WORDS
from workflow_src.paper.cells import Both
from workflow_src.paper.markdown import escape as escape_markdown
from workflow_src.paper.number import Numbers, each, over, to
from workflow_src.paper.run import Run, down_to, tree_order

KEY = ["case", "node"]
"""A node is the path of a module, or that with "/" behind it: what lies in none below."""

KNOWN, FEW = 0.9, 0.1
"""A module has a rate if what it is of takes the first share of it; GB/s if products take less than
the second."""

OWN = ("block", "attention")
"""What of these lies in no module below has a name of its own."""


def modules(run: Run) -> pd.DataFrame:
    """A row per module of each case's longest captured phase, from LEAST_SHARE_SHOWN of it on.

    `level` in the tree, `name`, `ms` of device time, `share` of the phase, `tflops` or `gbs`.
    """
    rows = pd.concat([kernels(run, phase) for phase in PHASES])
    last = rows.drop_duplicates("case", keep="last").set_index("case")["phase"]
    rows, traced = rows[rows["phase"] == rows["case"].map(last)], operators(run, last)
    inner = traced[traced["inner"]]
    pairs = pairs_of(pd.concat([rows, inner]))
    parents = {(case, above) for case, path in pairs for above in down_to(path)[:-1]}
    at = spread(rows, parents)
    # What of backward is in none of its modules is told by operators.
    at = at[~(at["case"].isin(inner["case"]) & (at["node"] == at["phase"] + "/backward/"))]
    ms = over(pd.concat([at, spread(inner, parents, 3)]), KEY, "ms")
    rate = rates(spread(traced, parents), ms)
    found = pd.DataFrame({"ms": ms} | rate, dtype=object).reset_index()
    whole = found[found["node"].isin(PHASES)].set_index("case")["ms"]
    # Its rows would be those of the whole step, in each share.
    whole = each(whole, lambda number: replace(number, rows=frozenset()))
    found["share"] = to(found["ms"] / found["case"].map(whole).astype(object), "share")
    found = found[(found["share"] >= LEAST_SHARE_SHOWN).astype(bool)]
    found = found.iloc[tree_order(pairs_of(found, "node"), found["ms"].astype(float))]
    level = found["node"].str.count("/").astype(str)
    return found.assign(name=names(run, found), level=level).set_index("case")


def operators(run: Run, last: pd.Series) -> pd.DataFrame:
    """The operators of each case's last phase; of those that backward launched (`inner`) the path
    is that of the module, in backward, whose gradient they compute."""
    rows = run["operators"]
    rows = rows[rows["phase"] == rows["case"].map(last)]
    inner = rows["captured_path"] == rows["phase"] + "/backward"
    moves = inner & (rows["path"] != rows["captured_path"])
    path = rows["path"].mask(moves, in_backward(rows))
    return rows.assign(path=path, inner=inner, ms=rows["busy_ms_per_step"])


def pairs_of(rows: pd.DataFrame, column: str = "path") -> list[tuple[str, str]]:
    """The case and the path of each row."""
    return [(str(case), str(path)) for case, path in rows[["case", column]].to_numpy()]


def spread(rows: pd.DataFrame, parents: Set[tuple[str, str]], least: int = 1) -> pd.DataFrame:
    """Rows once for each `node` of at least so many names that they lie in."""
    made = [
        down_to(path)[least - 1 :] + [f"{path}/"] * ((case, path) in parents)
        for case, path in pairs_of(rows)
    ]
    nodes = pd.Series(made, rows.index, dtype=object)
    return rows.assign(node=nodes).explode("node").dropna(subset="node")


def rates(at: pd.DataFrame, ms: Numbers) -> dict[str, Numbers]:
    """FLOPs a second of nodes with products, bytes a second of others; see KNOWN."""
    multiplied, moved = at[at["flops_per_step"].notna()], at[at["bytes_per_step"] > 0]

    def taken(rows: pd.DataFrame) -> "pd.Series[float]":
        return rows.groupby(KEY)["ms"].sum().reindex(ms.index).fillna(0.0)

    def summed(rows: pd.DataFrame, column: str, unit: str) -> Numbers:
        return over(rows, KEY, column, unit=unit).reindex(ms.index).astype(object)

    multiplies = taken(at[at["family"].isin(PRODUCTS)])
    whole = ms.astype(float)
    reads = (taken(moved) >= KNOWN * whole) & (multiplies < FEW * whole)
    counted = (taken(multiplied) >= KNOWN * multiplies) & (multiplies > 0) & ~reads
    computes = to(summed(multiplied, "flops_per_step", "flops") / ms, "TFLOP/s")
    gb = summed(moved, "bytes_per_step", "bytes") / summed(moved, "ms", "ms")
    return {"tflops": computes.where(counted), "gbs": to(gb, "GB/s").where(reads)}


def in_backward(rows: pd.DataFrame) -> pd.Series:
    """The paths that the modules of rows would have in backward."""
    pairs = zip(rows["phase"], rows["path"], strict=True)
    made = ["/".join([phase, "backward", *module_of(path)]) for phase, path in pairs]
    return pd.Series(made, rows.index, dtype=object)


def names(run: Run, found: pd.DataFrame) -> pd.Series:
    """What nodes are called, in Markdown with a dot for each level."""
    rows = run["ranges"]
    often = rows.groupby(["case", "path"])["instances"].median().to_dict()
    made: list[object] = []
    for case, node in pairs_of(found, "node"):
        path, own = node.removesuffix("/"), node.endswith("/")
        base = path.rpartition("/")[2]
        named = base in COMPONENTS and base not in (*OWN, *PHASES)
        name = IN_WORDS.get(path, COMPONENTS[base] if named else base)
        if own:
            name = COMPONENTS[base] if base in OWN else "elsewhere"
        forward = path.replace("/backward/", "/forward/", 1)
        times = often.get((case, path), often.get((case, forward), 1.0))
        name += f" \N{MULTIPLICATION SIGN} {times:g}" if times > 1 and not own else ""
        dots = "\N{MIDDLE DOT} " * node.count("/")
        made.append(Both(dots + escape_markdown(name), str(escape(name))))
    return pd.Series(made, found.index, dtype=object)
