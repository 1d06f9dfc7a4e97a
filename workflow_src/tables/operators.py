"""What launched the work in a capture: operators, shapes and matrix products, per phase.

A benchmark records, in a step of its own, what launched each activity (measure/operators.py); here
that record is aligned with each captured step, activity by activity.
"""

from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from workflow_src.common.case import AnyCase, case_of
from workflow_src.common.components import told_apart
from workflow_src.common.operators import SEARCHED
from workflow_src.common.units import NS_PER_MS
from workflow_src.placing.alignment import NOT_ALIGNED, align, normal_names
from workflow_src.placing.families import families
from workflow_src.placing.kernel_names import short_names
from workflow_src.tables.alignment import (
    ALIGNMENT_COLUMNS,
    Launched,
    alignment_row,
    families_of,
)
from workflow_src.tables.paths import with_paths
from workflow_src.tables.product_names import call_names, named_by_range, products_of
from workflow_src.tables.products import calls_per_step, counted_flops, expected_flops
from workflow_src.tables.traffic import booked, moved_bytes, moved_on_cpu

SHORT_DTYPES = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "float64": "fp64"}
WORDS = ("range_path", "operator_name", "forward_operator", "shapes", "dtypes")
REST = "the rest"
DETAILED_SHARE = 0.995
"""Operators that take this share of a phase's time have rows of their own, and so do SEARCHED."""
NOT_RECORDED = "missing"
"""The status of a phase whose benchmark didn't record what launched its work."""

CALL_KEYS = (
    *("phase", "path", "captured_path", "family"),
    *("operator", "forward_operator", "shapes", "dtypes"),
)
OPERATOR_KEYS = (*CALL_KEYS, "short_name")
OPERATOR_COLUMNS = (*OPERATOR_KEYS, "calls_per_step", "busy_ms_per_step", "bytes_per_step")
PRODUCT_KEYS = (
    *("phase", "product", "direction", "m", "n", "k", "matrices", "layout", "dtype"),
    "short_name",
)
PRODUCT_COLUMNS = (
    *PRODUCT_KEYS,
    *("calls_per_step", "kernels_per_step", "busy_ms_per_step", "flops_per_step"),
)


def in_steps(ranges: pd.DataFrame, activities: pd.DataFrame) -> pd.DataFrame:
    """Activities launched in a step, with `phase`, `step` and `path`, in the order they ran.

    ranges: attributed and numbered; activities: attributed.
    """
    at = activities["range"].to_numpy()
    of_range = {name: np.append(ranges[name].to_numpy(dtype=object), "") for name in _PLACES}
    placed = activities.assign(**{name: values[at] for name, values in of_range.items()})
    placed = placed[placed["phase"] != ""]
    return placed.sort_values(["phase", "step", "start_ns"], kind="stable", ignore_index=True)


_PLACES = ("phase", "step", "path")


def with_operators(steps: pd.DataFrame, launched: Launched) -> pd.DataFrame:
    """A phase's activities with the place in `launched` of each, its operator and its call.

    place, operator: numbers, or NOT_ALIGNED; call: the place of the call's first activity.
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
    operator = np.append(sequence[:, 0], NOT_ALIGNED)[place]
    return steps.assign(place=place, operator=operator, call=first[place])


def with_records(
    found: pd.DataFrame, launched: Launched, case: AnyCase, captured: Collection[str]
) -> pd.DataFrame:
    """A phase's activities with WORDS of the operator of each, its product's name and its paths.

    product: what sizes and order tell; empty for what is no product, and where they don't tell.
    path, captured_path: see with_paths, which takes the paths of the phase's ranges, `captured`.
    """
    words = pd.DataFrame([_in_words(each) for each in launched["operators"]], columns=list(WORDS))
    table = found.merge(words, how="left", left_on="operator", right_index=True)
    table[list(WORDS)] = table[list(WORDS)].fillna("")
    names = call_names(launched, case)
    table["product"] = [names.get(call, "") for call in table["call"]]
    return with_paths(table, captured)


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
    table = _with_rest(table[table["family"] != "bookkeeping"])
    return _per_step(table, OPERATOR_KEYS, "bytes")[list(OPERATOR_COLUMNS)]


def _with_rest(table: pd.DataFrame) -> pd.DataFrame:
    """`table` with the smallest groups told apart by paths and family only, as REST.

    An operator's kernels stay together: the bytes of a call lie with one of them. Work without an
    operator stays as it is, and so does what is SEARCHED.
    """
    keys, kept = list(CALL_KEYS), [*SEARCHED, ""]
    total = table.groupby(keys)["duration_ns"].sum().sort_values(ascending=False, kind="stable")
    small = total.index[total.cumsum() - total > DETAILED_SHARE * total.sum()]
    rest = pd.MultiIndex.from_frame(table[keys]).isin(small) & ~table["operator"].isin(kept)
    about = dict.fromkeys(("forward_operator", "shapes", "dtypes", "short_name"), "")
    return table.assign(**{
        name: table[name].mask(rest, value) for name, value in ({"operator": REST} | about).items()
    })  # fmt: skip


def _in_words(operator: Mapping[str, Any]) -> dict[str, Any]:
    """What WORDS names, of a recorded operator."""
    pairs = list(zip(operator["shapes"], operator["dtypes"], strict=True))
    given = [(shape, dtype) for shape, dtype in pairs if dtype]
    return {
        "range_path": operator["range"],
        "operator_name": operator["operator"],
        "forward_operator": operator["forward_operator"],
        "shapes": "; ".join(_shape(*each) for each in given),
        "dtypes": "; ".join(_dtype(each) for _, each in given),
    }


def _shape(shape: list[Any], dtype: Any) -> str:
    if isinstance(dtype, list):
        return f"list of {len(dtype)}"
    return " x ".join(map(str, shape)) or "scalar"


def _dtype(dtype: Any) -> str:
    if isinstance(dtype, list):
        return "/".join(sorted({_dtype(each) for each in dtype}))
    return SHORT_DTYPES.get(dtype, str(dtype))


def _per_step(table: pd.DataFrame, keys: tuple[str, ...], amount: str) -> pd.DataFrame:
    """Calls, busy time and `amount` per step of each group; missing if any amount is."""
    grouped = table.groupby(list(keys), as_index=False, sort=False)
    total = grouped.agg(
        calls=("duration_ns", "size"),
        busy_ns=("duration_ns", "sum"),
        amount=(amount, lambda values: values.sum(skipna=False)),
    )
    steps = max(table["step"].nunique(), 1)
    total = total.assign(
        calls_per_step=total["calls"] / steps,
        busy_ms_per_step=(total["busy_ns"] / NS_PER_MS / steps).round(6),
    )
    total[f"{amount}_per_step"] = total["amount"] / steps
    return total.sort_values("busy_ns", ascending=False, kind="stable")


def with_products(
    found: pd.DataFrame, launched: Launched, case: AnyCase, modules: Mapping[str, str]
) -> pd.DataFrame:
    """The activities of a phase that are matrix products, with the columns of a product.

    found: as of with_records; modules: the names of a brought model's, by path. A call's FLOPs
    count with the first of its kernels in the family gemm: others clear its workspace, or add up
    what it split.
    """
    known = products_of(launched["operators"], case)
    rows = {
        number: asdict(each) | {"dtype": _dtype(each.dtype), "flops": each.flops}
        for number, each in known.items()
    }
    columns = [*PRODUCT_KEYS[2:-1], "flops"]
    products = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    gemms = found[(found["family"] == "gemm") & found["operator"].isin(products.index)]
    table = gemms.merge(products, left_on="operator", right_index=True)
    again = table.duplicated(["step", "call"])
    asked = zip(table["product"], table["operator"], table["path"], strict=True)
    names = [
        told or named_by_range(known[number], path, modules.get(path, path), case)
        for told, number, path in asked
    ]
    return table.assign(product=names, flops=table["flops"].where(~again, 0))


def products_table(products: pd.DataFrame) -> pd.DataFrame:
    """A row per product, sizes and kernel of a phase.

    A call counts with its first kernel, as its FLOPs do; kernels_per_step counts each.
    """
    table = _per_step(products, PRODUCT_KEYS, "flops")
    table = table.rename(columns={"calls_per_step": "kernels_per_step"})
    return table.assign(calls_per_step=calls_per_step(table))[list(PRODUCT_COLUMNS)]


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
    for phase in steps["phase"].unique():
        of_phase = steps[steps["phase"] == phase]
        recorded = result["phases"].get(phase, {})
        launched = recorded.get("launched") or {"status": NOT_RECORDED}
        expected, counted = expected_flops(case, phase), counted_flops(recorded)
        row = {"phase": phase, "steps": of_phase["step"].nunique(), "status": launched["status"]}
        row |= {"reason": launched.get("reason", ""), "flops_expected": expected}
        row |= {"flops_counted": counted}
        if launched["status"] == "ok":
            aligned = with_operators(of_phase.reset_index(drop=True), launched)
            captured = ranges.loc[ranges["phase"] == phase, "path"].unique().tolist()
            found = with_records(aligned, launched, case, captured)
            multiplied = with_products(found, launched, case, modules)
            operators.append(operators_table(found, launched))
            products.append(products_table(multiplied))
            row |= alignment_row(found, launched, multiplied)
        rows.append(row)
    return {
        "operators": _together(operators, OPERATOR_COLUMNS),
        "products": _together(products, PRODUCT_COLUMNS),
        "alignment": pd.DataFrame(rows, columns=list(ALIGNMENT_COLUMNS)),
    }


def _together(parts: list[pd.DataFrame], columns: tuple[str, ...]) -> pd.DataFrame:
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(columns))
