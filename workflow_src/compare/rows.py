"""Rows of the tables of two runs, as dictionaries, and the words for what they are of."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from workflow_src.common.case import CASE_COLUMNS
from workflow_src.common.units import NS_PER_MS

Row = dict[str, Any]


def cases_of(table: pd.DataFrame) -> list[Row]:
    """The cases in a table, in order of first appearance, as rows of case columns."""
    found: list[Row] = table[list(CASE_COLUMNS)].drop_duplicates("case").to_dict("records")  # type: ignore[assignment]
    return found


def of(table: pd.DataFrame, case: str, phase: str | None = None) -> pd.DataFrame:
    """The rows of one case, restricted to `phase` if given."""
    mine = table[table["case"] == case]
    return mine if phase is None else mine[mine["phase"] == phase]


def axes(cases: Sequence[Mapping[str, Any]]) -> list[str]:
    """The case columns that distinguish `cases`: size, context, and any others that vary."""
    others = [c for c in CASE_COLUMNS[3:] if len({case[c] for case in cases}) > 1]
    return ["size", "context", *others]


def words(cases: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """What to call activities and their time: on a CPU, operators take the place of kernels."""
    devices = {case["device"] for case in cases}
    if devices == {"cpu"}:
        return {"kernel": "operator", "device_time": "operator time"}
    if "cpu" in devices:
        return {"kernel": "kernel or operator", "device_time": "device or operator time"}
    return {"kernel": "kernel", "device_time": "device time"}


def by_kernel(kernels: pd.DataFrame) -> dict[str, Row]:
    """The kernels of a phase by whole name, most device time first: what each is, calls, ms."""
    if kernels.empty:
        return {}
    steps = int(kernels["steps"].max())
    groups = kernels.groupby("name", sort=True)
    sums = groups[["calls", "busy_ns"]].sum().sort_values("busy_ns", ascending=False, kind="stable")
    about = groups[["short_name", "kind", "family"]].first().astype(str).to_dict("index")
    return {
        str(name): {
            "name": str(name),
            **{str(column): text for column, text in about[name].items()},
            "calls_per_step": float(calls / steps),
            "busy_ms_per_step": float(ns / steps / NS_PER_MS),
        }
        for name, calls, ns in sums.itertuples()
    }
