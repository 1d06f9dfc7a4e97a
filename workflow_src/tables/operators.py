"""What launched the work in a capture: operators, shapes and matrix products, per phase.

A benchmark records, in a step of its own, what launched each activity (measure/operators.py); here
that record is aligned with each captured step, activity by activity.
"""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd

from workflow_src.common.case import AnyCase, Brought, case_of
from workflow_src.common.components import told_apart
from workflow_src.common.operators import SEARCHED
from workflow_src.common.table_schema import key, own_columns
from workflow_src.common.units import NS_PER_MS
from workflow_src.placing.alignment import NOT_ALIGNED, align, normal_names
from workflow_src.placing.families import families
from workflow_src.placing.kernel_names import short_names
from workflow_src.tables.alignment import Launched, alignment_row, families_of
from workflow_src.tables.paths import with_paths
from workflow_src.tables.products import (
    Product,
    call_names,
    calls_per_step,
    counted_flops,
    expected_flops,
    fitting,
    named,
    products_of,
)
from workflow_src.tables.traffic import booked, moved_bytes, moved_on_cpu

SHORT_DTYPES = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "float64": "fp64"}
REST = "the rest"
DETAILED_SHARE = 0.995
"""Operators that take this share of a phase's time have rows of their own, and so do SEARCHED."""
NOT_RECORDED = "missing"
"""The status of a phase whose benchmark didn't record what launched its work."""


def in_steps(ranges: pd.DataFrame, activities: pd.DataFrame) -> pd.DataFrame:
    """Activities launched in a step, with `phase`, `step` and `path`, in the order they ran.

    ranges: attributed and numbered; activities: attributed.
    """
    at = activities["range"].to_numpy()
    of_range = {
        name: np.append(ranges[name].to_numpy(dtype=object), "")
        for name in ("phase", "step", "path")
    }
    placed = activities.assign(**{name: values[at] for name, values in of_range.items()})
    placed = placed[placed["phase"] != ""]
    return placed.sort_values(["phase", "step", "start_ns"], kind="stable", ignore_index=True)


def with_records(
    steps: pd.DataFrame, launched: Launched, case: AnyCase, captured: Collection[str]
) -> pd.DataFrame:
    """A phase's activities with what launched each, as far as the record aligns with the capture.

    place: in the record's sequence, or NOT_ALIGNED; operator: its number there; call: the place of
    the call's first activity; product: its name, as far as sizes and order tell, "" of what is no
    product. With the operator in words, and path and captured_path, for which see with_paths;
    captured: the paths of the phase's ranges.
    """
    sequence = np.array(launched["sequence"], dtype=np.int64).reshape(-1, 2)
    names = pd.Series(launched["names"], dtype="str")
    others = normal_names(names).to_numpy(dtype=object)[sequence[:, 1]].tolist()
    mine = normal_names(steps["name"])
    place = np.full(len(steps), NOT_ALIGNED)
    for rows in steps.groupby("step").indices.values():
        place[rows] = align(mine.iloc[rows].tolist(), others)
    first = np.arange(len(sequence) + 1)
    for later, earlier in launched["continued"]:
        first[later] = earlier
    operator, call = np.append(sequence[:, 0], NOT_ALIGNED)[place], first[place]
    products = call_names(launched, case)
    words = pd.DataFrame([_in_words(each) for each in [*launched["operators"], _NOTHING]])
    return with_paths(
        steps.assign(
            **words.iloc[operator].set_index(steps.index),
            place=place,
            operator=operator,
            call=call,
            product=[products.get(each, "") for each in call],
        ),
        captured,
    )


_NOTHING: Mapping[str, Any] = {
    **dict.fromkeys(("range", "operator", "forward_operator"), ""),
    **dict.fromkeys(("shapes", "dtypes"), ()),
}
"""The last record, that NOT_ALIGNED stands for."""


def _in_words(operator: Mapping[str, Any]) -> dict[str, str]:
    pairs = zip(operator["shapes"], operator["dtypes"], strict=True)
    given = [(shape, dtype) for shape, dtype in pairs if dtype]
    return {
        "range_path": operator["range"],
        "operator_name": operator["operator"],
        "forward_operator": operator["forward_operator"],
        "shapes": "; ".join(
            f"list of {len(dtype)}"
            if isinstance(dtype, list)
            else " x ".join(map(str, shape)) or "scalar"
            for shape, dtype in given
        ),
        "dtypes": "; ".join(_dtype(dtype) for _, dtype in given),
    }


def _dtype(dtype: Any) -> str:
    if isinstance(dtype, list):
        return "/".join(sorted({_dtype(each) for each in dtype}))
    return SHORT_DTYPES.get(dtype, str(dtype))


def operators_table(found: pd.DataFrame, launched: Launched) -> pd.DataFrame:
    """A row per range, operator, inputs and activity of a phase; what only views is left out.

    Those that take least of the time share rows: see DETAILED_SHARE. captured_path is the path in
    kernels.csv, by which the two tables have the same times; path differs from it for gradients.
    Bytes count once per call (see `booked`), and are missing where unknown.
    """
    own = families_of(launched)
    moved = moved_on_cpu if (found["kind"] == "operator").any() else moved_bytes
    pairs = zip(launched["operators"], own, strict=True)
    amounts = pd.Series([moved(each, family) for each, family in pairs], dtype="float64")
    table = found.assign(bytes=booked(found, amounts, own), operator=found["operator_name"])
    return _per_step(_with_rest(table[table["family"] != "bookkeeping"]), "operators", "bytes")


def _with_rest(table: pd.DataFrame) -> pd.DataFrame:
    """`table` with the smallest groups told apart by paths and family only, as REST.

    An operator's kernels stay together: the bytes of a call lie with one of them. Work without an
    operator stays as it is, and so does what is SEARCHED.
    """
    keys = [name for name in key("operators")[1:] if name != "short_name"]
    total = table.groupby(keys)["duration_ns"].sum().sort_values(ascending=False, kind="stable")
    small = total.index[total.cumsum() - total > DETAILED_SHARE * total.sum()]
    kept = table["operator"].isin([*SEARCHED, ""])
    rest = pd.MultiIndex.from_frame(table[keys]).isin(small) & ~kept
    said = dict.fromkeys(("forward_operator", "shapes", "dtypes", "short_name"), "")
    said["operator"] = REST
    return table.assign(**{name: table[name].mask(rest, value) for name, value in said.items()})


def _per_step(table: pd.DataFrame, name: str, amount: str) -> pd.DataFrame:
    """The table called `name`: calls, busy time and `amount` per step; missing if any amount is."""
    grouped = table.groupby([*key(name)[1:]], as_index=False, sort=False)
    total = grouped.agg(calls=("duration_ns", "size"), busy_ns=("duration_ns", "sum"))
    steps = max(table["step"].nunique(), 1)
    total = total.assign(
        calls_per_step=total["calls"] / steps,
        busy_ms_per_step=(total["busy_ns"] / NS_PER_MS / steps).round(6),
    )
    total[f"{amount}_per_step"] = grouped[amount].sum(skipna=False)[amount] / steps
    if name == "products":
        # A call counts with its first kernel, as its FLOPs do.
        total["kernels_per_step"] = total["calls_per_step"]
        total["calls_per_step"] = calls_per_step(total)
    total = total.sort_values("busy_ns", ascending=False, kind="stable")
    return total[[*own_columns(name)]]


def with_products(
    found: pd.DataFrame, launched: Launched, case: AnyCase, modules: Mapping[str, str]
) -> pd.DataFrame:
    """The activities of a phase that are matrix products, with the columns of a product.

    found: as of with_records; modules: the names of a brought model's, by path. A call's FLOPs
    count with the first of its kernels in the family gemm: others clear its workspace, or add up
    what it split. What neither sizes nor order name is named by its range.
    """
    known = products_of(launched["operators"], case)
    rows = [
        each._asdict() | {"dtype": _dtype(each.dtype), "flops": each.flops}
        for each in known.values()
    ]
    columns = [*Product._fields, "flops"]
    sizes = pd.DataFrame(rows, pd.Index([*known], dtype="int64"), columns)
    table = found[found["family"] == "gemm"].join(sizes, on="operator", how="inner")
    again = table.duplicated(["step", "call"])

    def by_range(number: int, path: str) -> str:
        if isinstance(case, Brought):
            return modules.get(path, path)
        return named(fitting(known[number], case), path.rpartition("/")[2])

    asked = zip(table["product"], table["operator"], table["path"], strict=True)
    names = [told or by_range(number, path) for told, number, path in asked]
    return table.assign(product=names, flops=table["flops"].where(~again, 0))


def operator_tables(
    ranges: pd.DataFrame,
    activities: pd.DataFrame,
    result: Mapping[str, Any],
    rules: pd.DataFrame | None = None,
) -> dict[str, pd.DataFrame]:
    """The tables operators, products and alignment of a case, from a capture and a benchmark."""
    case = case_of(result["case"])
    steps = in_steps(ranges, activities)
    steps = steps.assign(
        family=families(steps["name"], rules), short_name=short_names(steps["name"])
    )
    modules = told_apart(ranges["path"].unique())
    operators, products, rows = [], [], []
    for phase, of_phase in steps.groupby("phase", sort=False):
        recorded = result["phases"].get(phase, {})
        launched = recorded.get("launched") or {"status": NOT_RECORDED}
        row = {"phase": phase, "steps": of_phase["step"].nunique(), "status": launched["status"]}
        row |= {"reason": launched.get("reason", ""), "flops_counted": counted_flops(recorded)}
        row["flops_expected"] = expected_flops(case, str(phase))
        if launched["status"] == "ok":
            captured = ranges.loc[ranges["phase"] == phase, "path"].unique().tolist()
            found = with_records(of_phase.reset_index(drop=True), launched, case, captured)
            multiplied = with_products(found, launched, case, modules)
            operators.append(operators_table(found, launched))
            products.append(_per_step(multiplied, "products", "flops"))
            row |= alignment_row(found, launched, multiplied)
        rows.append(row)
    return {
        "operators": _together("operators", operators),
        "products": _together("products", products),
        "alignment": pd.DataFrame(rows, columns=[*own_columns("alignment")]),
    }


def _together(name: str, parts: list[pd.DataFrame]) -> pd.DataFrame:
    empty = pd.DataFrame(columns=[*own_columns(name)])
    return pd.concat(parts, ignore_index=True) if parts else empty
