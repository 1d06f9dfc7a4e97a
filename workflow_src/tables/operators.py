"""What launched the work in a capture: operators, shapes and matrix products, per phase.

And how much of the capture a benchmark's record explains, and whether the two agree.
"""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from workflow_src.common.case import AnyCase, case_of
from workflow_src.common.components import told_apart
from workflow_src.common.operators import CALLING, MULTIPLYING
from workflow_src.common.table_schema import key, own_columns
from workflow_src.common.units import NS_PER_MS
from workflow_src.placing.families import families
from workflow_src.placing.kernel_names import short_names
from workflow_src.tables import products, records
from workflow_src.tables.records import Launched
from workflow_src.tables.traffic import booked


def operators_table(found: pd.DataFrame, launched: Launched) -> pd.DataFrame:
    """A row per range, operator, inputs and activity of a phase, without what only views.

    captured_path is the path in kernels.csv, by which the two tables have the same times; path
    differs from it for gradients. Bytes count once per call (see `booked`).
    """
    moved = booked(found, launched["operators"])
    table = found.assign(bytes=moved, operator=found["operator_name"])
    return _per_step(table[table["family"] != "bookkeeping"], "operators", "bytes")


def _per_step(table: pd.DataFrame, name: str, amount: str) -> pd.DataFrame:
    grouped = table.groupby([*key(name)[1:]], as_index=False, sort=False)
    total = grouped.agg(calls=("duration_ns", "size"), busy_ns=("duration_ns", "sum"))
    steps = max(table["step"].nunique(), 1)
    total = total.assign(
        calls_per_step=total["calls"] / steps,
        busy_ms_per_step=(total["busy_ns"] / NS_PER_MS / steps).round(6),
    )
    total[f"{amount}_per_step"] = grouped[amount].sum(skipna=False)[amount] / steps
    return total.sort_values("busy_ns", ascending=False, kind="stable")


def products_table(multiplied: pd.DataFrame) -> pd.DataFrame:
    """A row per product, its sizes and kernel, of activities as of with_products.

    A call counts where its FLOPs do: kernels that only take part in one don't.
    """
    total = _per_step(multiplied, "products", "flops")
    once = 2 * total[["m", "n", "k", "matrices"]].astype("float64").prod(axis=1)
    return total.assign(
        kernels_per_step=total["calls_per_step"], calls_per_step=total["flops_per_step"] / once
    )


def with_products(
    found: pd.DataFrame, launched: Launched, case: AnyCase, modules: Mapping[str, str]
) -> pd.DataFrame:
    """The activities of a phase that are matrix products, with the columns of a product.

    found: as of with_records; modules: names by path, of products that neither sizes nor order
    name. A call's FLOPs count with its first kernel in the family gemm: others clear its workspace,
    or add up what it split.
    """
    known = products.products_of(launched["operators"], case)
    rows = [(*each, each.flops) for each in known.values()]
    names = [*products.Product._fields, "flops"]
    sizes = pd.DataFrame(rows, pd.Index([*known], dtype="int64"), names)
    table = found[found["family"] == "gemm"].join(sizes, on="operator", how="inner")
    again = table.duplicated(["step", "call"])
    named = table["product"].mask(table["product"] == "", table["path"].map(modules))
    return table.assign(product=named, flops=table["flops"].where(~again, 0))


def alignment_row(
    found: pd.DataFrame, launched: Launched, multiplied: pd.DataFrame
) -> dict[str, Any]:
    """How much of a phase's device time is explained, and whether families agree.

    multiplied: those of its activities that are products.
    """
    aligned, times = found["operator"] != records.NOT_ALIGNED, found["duration_ns"]
    calling = [
        number
        for number, each in enumerate(launched["operators"])
        if each["operator"] in CALLING | MULTIPLYING and "order" not in each
    ]
    calls = (found["kind"] == "operator") & found["operator"].isin(calling)
    compared = aligned & found["kind"].isin(("kernel", "operator"))
    differing = compared & (found["own_family"] != found["family"])
    return {
        "aligned_share": _share(times[aligned], times),
        "gemm_share_with_shape": _share(
            multiplied["duration_ns"], times[(found["family"] == "gemm") & ~calls]
        ),
        "flops": multiplied["flops"].sum() / max(found["step"].nunique(), 1),
        "family_disagreement_share": _share(times[differing], times[compared])
        if differing.any()
        else 0.0,
    }


def _share(part: "pd.Series[int]", whole: "pd.Series[int]") -> float:
    return int(part.sum()) / int(whole.sum()) if whole.any() else 1.0


def operator_tables(
    ranges: pd.DataFrame,
    activities: pd.DataFrame,
    result: Mapping[str, Any],
) -> dict[str, pd.DataFrame]:
    """The tables operators, products and alignment of a case, from a capture and a benchmark."""
    case = case_of(result["case"])
    steps = records.in_steps(activities)
    steps = steps.assign(family=families(steps["name"]), short_name=short_names(steps["name"]))
    modules = told_apart(ranges["path"].unique())
    made: dict[str, list[pd.DataFrame]] = {"operators": [], "products": [], "alignment": []}
    for phase, of_phase in steps.groupby("phase", sort=False):
        recorded = result["phases"].get(phase, {})
        launched = recorded.get("launched") or {"status": "missing"}
        row = {"phase": phase, "steps": of_phase["step"].nunique(), "status": launched["status"]}
        row["flops_counted"] = products.counted_flops(recorded)
        row["flops_expected"] = products.expected_flops(case, str(phase))
        if launched["status"] == "ok":
            captured = ranges.loc[ranges["phase"] == phase, "path"].unique().tolist()
            found = records.with_records(of_phase.reset_index(drop=True), launched, case, captured)
            multiplied = with_products(found, launched, case, modules)
            made["operators"].append(operators_table(found, launched))
            made["products"].append(products_table(multiplied))
            row |= alignment_row(found, launched, multiplied)
        made["alignment"].append(pd.DataFrame([row]))
    return {
        name: pd.concat(parts or [pd.DataFrame()], ignore_index=True).reindex(
            columns=[*own_columns(name)]
        )
        for name, parts in made.items()
    }
