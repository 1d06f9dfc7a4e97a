"""What the cases were measured on and with: devices, versions, warnings, hosts' speeds."""

import pandas as pd

from workflow_src.answers.evidence import Row
from workflow_src.common.case import CASE_COLUMNS
from workflow_src.common.environment import HOST_SPEEDS, PRIVATE, SAME_EVERYWHERE
from workflow_src.render.markdown import between, number

VALUES_SHOWN = 3

UNEVEN = 1.1
"""Ratio above which the speeds of two hosts are told apart."""


def environment(environments: pd.DataFrame) -> list[Row]:
    """What the cases were measured on: a row per property, with its value or values."""
    hidden = (*CASE_COLUMNS, *PRIVATE)
    names = [c for c in environments.columns if c not in hidden and not c.startswith("warning")]
    rows = [{"name": name, "value": values(environments[name])} for name in names]
    return [row for row in rows if row["value"]]


def values(column: "pd.Series[str]") -> str:
    """A column as text: its one value, a few values with counts, or a range of numbers or times."""
    counts = column[column != ""].value_counts()
    if len(counts) == 1:
        return str(counts.index[0])
    numbers = pd.to_numeric(counts.index.to_series(), errors="coerce")
    if len(counts) and numbers.notna().all():
        return f"{number(numbers.min())} to {number(numbers.max())}"
    if str(column.name).endswith("_at") and len(counts):
        return f"{min(counts.index)} to {max(counts.index)}"
    shown = [f"{value} (cases: {count})" for value, count in counts.head(VALUES_SHOWN).items()]
    more = len(counts) - VALUES_SHOWN
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


VERSIONS = {
    "torch": "torch",
    "cuda": "CUDA",
    "driver": "driver",
    "profiler_version": "profiler",
    "python": "Python",
}
"""The columns of environments that the report's first lines show, with what they are called."""


def versions(environments: pd.DataFrame) -> list[str]:
    """What the cases were measured with: "torch 2.11.0", "CUDA 13.0"."""
    shown = {name: values(environments[name]) for name in VERSIONS if name in environments.columns}
    return [f"{VERSIONS[name]} {value}" for name, value in shown.items() if value]


def mixed(environments: pd.DataFrame) -> list[str]:
    """The columns of SAME_EVERYWHERE, machine and versions, in which cases differ."""
    there = [name for name in SAME_EVERYWHERE if name in environments.columns]
    return [name for name in there if environments[name].nunique() > 1]


def warnings(environments: pd.DataFrame) -> list[Row]:
    """Throttled, shared or busy devices: the text of each warning and the cases it is about."""
    found: dict[str, list[str]] = {}
    for column in (c for c in environments.columns if c.startswith("warning")):
        for case, text in zip(environments["case"], environments[column], strict=True):
            if text:
                found.setdefault(str(text), []).append(str(case))
    return [{"text": text, "cases": cases} for text, cases in found.items()] + uneven_hosts(
        environments
    )


def uneven_hosts(environments: pd.DataFrame) -> list[Row]:
    """A warning about the cases whose host was slower than the fastest, if any was."""
    for name, what in HOST_SPEEDS.items():
        if f"{name}_before" in environments.columns:
            speeds = pd.to_numeric(environments[f"{name}_before"])
            slow = speeds > UNEVEN * speeds.min()
            if not slow.any():
                return []
            text = (
                f"slower hosts: {what} took up to {number(speeds.max())} us before these cases, "
                f"and {number(speeds.min())} us where it was fastest, so that times that depend "
                "on the host can't be compared"
            )
            return [{"text": text, "cases": [str(c) for c in environments.loc[slow, "case"]]}]
    return []


def host_speeds(environments: pd.DataFrame) -> list[str]:
    """How fast the hosts were: "a launch 2.1 us", "an eager operation 5.0 to 5.4 us"."""
    found = []
    for name, what in HOST_SPEEDS.items():
        column = environments.get(f"{name}_before", pd.Series(dtype=float))
        speeds = pd.to_numeric(column).dropna()
        if len(speeds):
            found.append(f"{what} {between(list(speeds))} us")
    return found
