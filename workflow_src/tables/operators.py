"""What launched the work in a capture: operators and their shapes, FLOPs and bytes, per phase.

And how much of the capture a benchmark's record explains, and whether the two agree.
"""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from workflow_src.common.case import case_of
from workflow_src.common.operators import CALLING, MULTIPLYING
from workflow_src.common.table_schema import key, own_columns
from workflow_src.common.units import NS_PER_MS
from workflow_src.placing.families import families
from workflow_src.placing.kernel_names import short_names
from workflow_src.tables import records
from workflow_src.tables.products import counted_flops, expected_flops, product_flops
from workflow_src.tables.records import Launched
from workflow_src.tables.traffic import with_amounts


def operators_table(found: pd.DataFrame) -> pd.DataFrame:
    """A row per range, operator, inputs and activity of a phase, without what only views.

    found: as of with_records, with bytes and flops. captured_path is the path in kernels.csv, by
    which the two tables have the same times; path differs from it for gradients.
    """
    table = found[found["family"] != "bookkeeping"].assign(operator=found["operator_name"])
    grouped = table.groupby([*key("operators")[1:]], as_index=False, sort=False)
    total = grouped.agg(calls=("duration_ns", "size"), busy_ns=("duration_ns", "sum"))
    steps = max(table["step"].nunique(), 1)
    total = total.assign(
        calls_per_step=total["calls"] / steps,
        busy_ms_per_step=(total["busy_ns"] / NS_PER_MS / steps).round(6),
    )
    for amount in ("bytes", "flops"):
        total[f"{amount}_per_step"] = grouped[amount].sum(skipna=False)[amount] / steps
    return total.sort_values("busy_ns", ascending=False, kind="stable")


def alignment_row(found: pd.DataFrame, launched: Launched) -> dict[str, Any]:
    """How much of a phase's device time is explained, and whether families agree; found: as of
    operators_table."""
    aligned, times = found["operator"] != records.NOT_ALIGNED, found["duration_ns"]
    calling = [
        number
        for number, each in enumerate(launched["operators"])
        if each["operator"] in CALLING | MULTIPLYING and product_flops(each) is None
    ]
    calls = (found["kind"] == "operator") & found["operator"].isin(calling)
    multiplies = found["family"] == "gemm"
    compared = aligned & found["kind"].isin(("kernel", "operator"))
    differing = compared & (found["own_family"] != found["family"])
    return {
        "aligned_share": _share(times[aligned], times),
        "gemm_share_with_shape": _share(
            times[multiplies & found["flops"].notna()], times[multiplies & ~calls]
        ),
        "flops": found["flops"].sum() / max(found["step"].nunique(), 1),
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
    """The tables operators and alignment of a case, from a capture and a benchmark."""
    case = case_of(result["case"])
    inside = activities[activities["phase"] != ""].astype({"name": object})
    steps = inside.sort_values(["phase", "step", "start_ns"], kind="stable", ignore_index=True)
    steps = steps.assign(family=families(steps["name"]), short_name=short_names(steps["name"]))
    made: dict[str, list[pd.DataFrame]] = {"operators": [], "alignment": []}
    for phase, of_phase in steps.groupby("phase", sort=False):
        recorded = result["phases"].get(phase, {})
        launched = recorded.get("launched") or {"status": "missing"}
        row = {"phase": phase, "steps": of_phase["step"].nunique(), "status": launched["status"]}
        row["flops_counted"] = counted_flops(recorded)
        row["flops_expected"] = expected_flops(case, str(phase))
        if launched["status"] == "ok":
            captured = ranges.loc[ranges["phase"] == phase, "path"].unique().tolist()
            found = records.with_records(of_phase.reset_index(drop=True), launched, captured)
            found = with_amounts(found, launched["operators"])
            made["operators"].append(operators_table(found))
            row |= alignment_row(found, launched)
        made["alignment"].append(pd.DataFrame([row]))
    return {
        name: pd.concat(parts or [pd.DataFrame()], ignore_index=True).reindex(
            columns=[*own_columns(name)]
        )
        for name, parts in made.items()
    }
