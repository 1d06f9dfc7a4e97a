"""Device time of one phase by range and family, and what its work would take at a ceiling.

The time is that of kernels.csv, by the range that launched it. Backward is launched in one range;
where operators.csv tells the forward operator whose gradient is computed, its time is placed under
the range of that operator: `backward/block/attention/softmax` is the gradient of softmax.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from workflow_src.answers.evidence import of
from workflow_src.answers.kernel_products import FEED_FORWARD, FORWARD, GATE_OR_UP
from workflow_src.answers.moved import UNKNOWN_WITHIN
from workflow_src.common.units import NS_PER_MS
from workflow_src.render.flame import Spent, Times
from workflow_src.render.markdown import records
from workflow_src.report.ceilings import Ceilings

PRODUCTS, FUSED = "gemm", "attention"
"""The families whose work is FLOPs. Those of fused attention are not recorded."""

BACKWARD = "/backward"

Key = tuple[str, str]
"""A path and a family."""


@dataclass(frozen=True)
class Tables:
    """Joined tables; operators and products may be empty."""

    kernels: pd.DataFrame
    operators: pd.DataFrame
    products: pd.DataFrame


def device_time(tables: Tables, ceilings: Ceilings, case: str, phase: str) -> Times:
    """Device time (ns, over all captured steps) by path and family; {} if nothing was captured."""
    mine = of(tables.kernels, case, phase)
    if mine.empty:
        return {}
    launched = {key: int(ns) for key, ns in _sums(mine, "busy_ns").items()}
    recorded = of(tables.operators, case, phase)
    if recorded.empty:
        return {key: Spent(ns) for key, ns in launched.items()}
    operators = _placed(recorded, phase, int(mine["steps"].max()))
    ns = _with_gradients(launched, operators)
    products = of(tables.products, case, phase)
    tflop_per_s = ceilings.tflop_per_s.get(str(mine["precision"].iloc[0]))
    best = _moved(operators, ceilings.gb_per_s) | _multiplied(operators, products, tflop_per_s)
    return {
        key: Spent(ns[key], best[key] if key in best and _known(operators, key, ns[key]) else None)
        for key in ns
    }


def _placed(operators: pd.DataFrame, phase: str, steps: int) -> pd.DataFrame:
    """Operators with their time and bytes over `steps` steps, `path` being where they ran.

    That of a gradient is the path of its forward operator, inside of backward.
    """
    gradient = operators["forward_operator"].fillna("").astype(str) != ""
    inside = operators["path"].astype(str).str.removeprefix(f"{phase}/")
    inside = inside.str.replace(rf"^(?:forward|{phase})(?:/|$)", "", regex=True)
    nested = (f"{phase}{BACKWARD}/" + inside).str.rstrip("/")
    return operators.assign(
        path=operators["path"].astype(str).where(~gradient, nested),
        ns=operators["busy_ms_per_step"] * steps * NS_PER_MS,
        bytes=operators["bytes_per_step"] * steps,
        steps=steps,
    )


def _with_gradients(launched: Mapping[Key, int], operators: pd.DataFrame) -> dict[Key, int]:
    """Launched time with that of backward placed by range; what isn't known of it stays there."""
    found = dict(launched)
    inside = operators[operators["path"].str.contains(f"{BACKWARD}/", regex=False)]
    for (path, family), ns in _sums(inside, "ns").items():
        backward = (path.partition(f"{BACKWARD}/")[0] + BACKWARD, family)
        # Times of operators are means over the steps, so that their sum can be some ns too long.
        part = min(round(ns), found.get(backward, 0))
        found[path, family] = found.get((path, family), 0) + part
        found[backward] = found.get(backward, 0) - part
    return {key: ns for key, ns in found.items() if ns}


def _moved(operators: pd.DataFrame, gb_per_s: float | None) -> dict[Key, float]:
    """The time (ns) that what was moved takes at the best bandwidth, by path and family."""
    others = operators[~operators["family"].isin([PRODUCTS, FUSED])]
    unknown = _sums(others.assign(ns=others["ns"].where(others["bytes"].isna(), 0.0)), "ns")
    times = _sums(others, "ns")
    return {
        key: moved / gb_per_s
        for key, moved in _sums(others, "bytes").items()
        if gb_per_s and unknown[key] <= UNKNOWN_WITHIN * times[key]
    }


def _multiplied(
    operators: pd.DataFrame, products: pd.DataFrame, tflop_per_s: float | None
) -> dict[Key, float]:
    """The time (ns) that the matrix products take at the best rate, by path and family.

    A product is known by the last part of its path, and by whether it is a gradient.
    """
    inside = products["product"].isin((*FEED_FORWARD, GATE_OR_UP))
    name = products["product"].mask(inside, "feed_forward")
    flops = products["flops_per_step"].groupby([name, products["direction"] != FORWARD]).sum()
    paths = operators.loc[operators["family"] == PRODUCTS, "path"].drop_duplicates()
    places = [(path.rpartition("/")[2], BACKWARD in path) for path in paths]
    return {
        (path, PRODUCTS): float(flops[place] * operators["steps"].iloc[0] / (tflop_per_s * 1e3))
        for path, place in zip(paths, places, strict=True)
        if tflop_per_s and place in flops.index and places.count(place) == 1
    }


def _known(operators: pd.DataFrame, key: Key, ns: int) -> bool:
    """Whether the operators account for the time of a path and family."""
    path, family = key
    rows = operators[(operators["path"] == path) & (operators["family"] == family)]
    return bool(abs(rows["ns"].sum() - ns) <= UNKNOWN_WITHIN * ns)


def _sums(rows: pd.DataFrame, column: str) -> dict[Key, float]:
    """The sum of a column by path and family."""
    sums = rows.groupby(["path", "family"], as_index=False)[[column]].sum()
    return {(str(row["path"]), str(row["family"])): row[column] for row in records(sums)}
