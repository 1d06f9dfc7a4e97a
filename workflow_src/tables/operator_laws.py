"""Laws of operators: their time is that of kernels, in the same ranges, and bytes lie with kernels.

They hold of phases whose benchmark recorded what launched the work, of which alignment.csv has the
status ok.
"""

import pandas as pd

from workflow_src.common.case import PHASES
from workflow_src.common.operators import PRODUCTS
from workflow_src.placing.families import families
from workflow_src.tables.law import FLOATS, Law, Tables, summed, total
from workflow_src.tables.operators import REST
from workflow_src.tables.time_laws import steps_by_kernels

PHASE = ("case", "phase")
FAMILY = (*PHASE, "family")
PLACE = (*PHASE, "captured_path", "family")
PATH = (*PHASE, "path", "family")
CALL = (*PHASE, "captured_path", "operator", "forward_operator", "shapes", "dtypes")

LAST_DIGIT = 0.5e-6
"""Times of operators and products (ms) are rounded to whole nanoseconds per step."""

FLOAT = 1e-9
"""What a sum of so many times (ms) loses at most."""
ROUNDED = "each row is rounded in its last digit, a nanosecond per step"
BACKWARD = r"/backward(?:/|$)"


def of_phases(rows: pd.DataFrame, alignment: pd.DataFrame) -> pd.DataFrame:
    """The rows of the phases that are in `alignment`."""
    return rows.merge(alignment[list(PHASE)], on=list(PHASE))


def recorded(tables: Tables) -> pd.DataFrame:
    """The kernels that operators.csv tells about: all but bookkeeping, of recorded phases."""
    kernels, alignment = tables["kernels"], tables["alignment"]
    told = of_phases(kernels[kernels["family"] != "bookkeeping"], alignment[is_ok(alignment)])
    return told.assign(captured_path=told["path"])


def recorded_forward(tables: Tables) -> pd.DataFrame:
    """The same, of the phase in which there are no gradients."""
    kernels = recorded(tables)
    return kernels[of_forward(kernels)]


def placed(tables: Tables) -> pd.DataFrame:
    """operators.csv with captured_path, which was path before there were both."""
    operators = tables["operators"]
    return operators.assign(captured_path=operators.get("captured_path", operators["path"]))


def rounding(rows: pd.DataFrame, *keys: str) -> pd.Series:
    """How much (ms) sums of rounded times may differ from exact ones, by keys."""
    return rows.groupby(list(keys)).size() * LAST_DIGIT + FLOAT


def forward_elsewhere(tables: Tables) -> pd.DataFrame:
    """Operators launched outside of backward whose path is not the captured one."""
    rows = placed(tables)
    forward = ~rows["captured_path"].str.contains(BACKWARD)
    return rows[forward & (rows["path"] != rows["captured_path"])]


def outside_ranges(tables: Tables) -> pd.Series:
    """How many rows of operators.csv have a path that no range of the capture has."""
    keys = [*PHASE, "path"]
    known = pd.MultiIndex.from_frame(tables["ranges"][keys].drop_duplicates())
    operators = tables["operators"]
    lost = ~pd.MultiIndex.from_frame(operators[keys]).isin(known)
    return operators.assign(lost=lost).groupby(list(PHASE))["lost"].sum()


def nothing(tables: Tables) -> pd.Series:
    """0 for each recorded phase."""
    alignment = tables["alignment"]
    ok = alignment.loc[is_ok(alignment), list(PHASE)]
    return pd.Series(0, index=pd.MultiIndex.from_frame(ok))


def clearing(tables: Tables) -> pd.DataFrame:
    """Rows of operators.csv that set memory for an operator of another family."""
    rows = tables["operators"]
    rows = rows[(rows["family"] == "fill") & ~rows["operator"].isin(["", REST])]
    return rows[families(rows["operator"]) != "fill"]


def without_bytes(tables: Tables) -> pd.Series:
    """How many products (path, operator, shapes, gradient of what) have no bytes with any kernel.

    Those of a call lie with one of its kernels; what adds up its parts may have a row of its own.
    """
    rows = placed(tables)
    rows = rows[rows["operator"].isin(PRODUCTS) & (rows["family"] == "gemm")]
    moved = rows.groupby(list(CALL))["bytes_per_step"].sum()
    return (moved == 0).groupby(list(PHASE)).sum()


def is_ok(rows: pd.DataFrame) -> "pd.Series[bool]":
    """Chooses the phases of alignment.csv that have a record."""
    return rows["status"] == "ok"


def of_forward(rows: pd.DataFrame) -> "pd.Series[bool]":
    """Chooses the phase in which there are no gradients."""
    return rows["phase"] == PHASES[0]


OPERATOR_LAWS = (
    Law(
        "operators = kernels, by path and family",
        summed(placed, "busy_ms_per_step", *PLACE),
        summed(recorded, "busy_ms_per_step", *PLACE),
        "ms",
        allowed=lambda tables: rounding(placed(tables), *PLACE),
        why=ROUNDED,
    ),
    Law(
        "operators = kernels, forward by path and family",
        total("operators", "busy_ms_per_step", *PATH, only=of_forward),
        summed(recorded_forward, "busy_ms_per_step", *PATH),
        "ms",
        allowed=lambda tables: rounding(tables["operators"], *PATH),
        why=f"{ROUNDED}; in other phases the path of a gradient is that of its forward operator",
    ),
    Law(
        "operators = kernels, by family",
        total("operators", "busy_ms_per_step", *FAMILY),
        summed(recorded, "busy_ms_per_step", *FAMILY),
        "ms",
        allowed=lambda tables: rounding(tables["operators"], *FAMILY),
        why=ROUNDED,
    ),
    Law(
        "operators = kernels, calls",
        summed(placed, "calls_per_step", *PLACE),
        summed(recorded, "calls_per_step", *PLACE),
        "activities per step",
        allowed=1e-6,
        why=FLOATS,
    ),
    Law(
        "operators outside backward: path = captured path",
        summed(forward_elsewhere, "busy_ms_per_step", *PHASE),
        nothing,
        "ms",
    ),
    Law("operators: paths are ranges", outside_ranges, nothing, "rows"),
    Law(
        "operators: setting memory moves no bytes of others",
        summed(clearing, "bytes_per_step", *PHASE),
        nothing,
        "bytes",
        why="a row of the rest doesn't tell which operators are in it",
    ),
    Law("operators: products have bytes", without_bytes, nothing, "products"),
    Law(
        "kernels = alignment, steps",
        steps_by_kernels,
        lambda tables: tables["alignment"].groupby(list(PHASE))["steps"].sum(),
        "steps",
    ),
)
"""operators agrees with kernels, in time, calls and places, and each product in it has bytes."""
