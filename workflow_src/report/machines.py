"""What the cases were measured on and with: devices, versions, warnings, hosts' speeds."""

import pandas as pd
from markupsafe import Markup

from workflow_src.answers.evidence import Row
from workflow_src.answers.hosts import hosts_of, slower
from workflow_src.common.case import CASE_COLUMNS
from workflow_src.common.environment import HOST_SPEEDS, PRIVATE, SAME_EVERYWHERE
from workflow_src.render.markdown import Column, between, limit, markdown_table, number, records
from workflow_src.report.warnings import grouped

VALUES_SHOWN = 3


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


def occasions(environments: pd.DataFrame) -> str:
    """On how many days the cases were measured, and on what hosts; empty if all on the same.

    Hosts are told apart by their number of cores only: names are private.
    """
    days = sorted({str(moment)[:10] for moment in environments.get("started_at", ()) if moment})
    cores = sorted({round(float(count)) for count in environments.get("cpu_cores", ()) if count})
    parts = [f"on {len(days)} days ({days[0]} to {days[-1]})"] if days[1:] else []
    parts += [f"on hosts with {' or '.join(map(str, cores))} cores"] if cores[1:] else []
    return ", ".join(parts)


def mixed(environments: pd.DataFrame) -> list[str]:
    """The columns of SAME_EVERYWHERE, machine and versions, in which cases differ."""
    there = [name for name in SAME_EVERYWHERE if name in environments.columns]
    return [name for name in there if environments[name].nunique() > 1]


def warning_columns(environments: pd.DataFrame) -> list[str]:
    """The columns that hold warnings."""
    return [column for column in environments.columns if column.startswith("warning")]


def warnings(environments: pd.DataFrame) -> list[Row]:
    """Throttled, shared, busy or changing machines: a row per kind, with its text and cases."""
    given = [
        (str(case), str(text))
        for column in warning_columns(environments)
        for case, text in zip(environments["case"], environments[column], strict=True)
        if text
    ]
    return grouped(given, _checked(environments)) + uneven_hosts(environments)


def _checked(environments: pd.DataFrame) -> str:
    """In how many cases a change would be known, if not in all: " (of 12 in which ...)"."""
    twice = [
        _speeds(environments, name, "before").notna() & _speeds(environments, name, "after").notna()
        for name in HOST_SPEEDS
    ]
    known = max(int(each.sum()) for each in twice)
    both = "it was measured before and after"
    return "" if known == len(environments) else f" (of {known} in which {both})"


def warning_table(environments: pd.DataFrame) -> Markup:
    """Per case with a warning or a slower host: its speeds in us, and its warnings in full."""
    slow = {case for row in uneven_hosts(environments) for case in row["cases"]}
    columns = warning_columns(environments)
    rows = [
        row | {"text": "; ".join(str(row[name]) for name in columns if row[name])}
        for row in records(environments)
    ]
    speeds = [
        Column(f"{what} {when}, us", f"{name}_{when}", number, "none")
        for name, what in HOST_SPEEDS.items()
        for when in ("before", "after")
        if f"{name}_{when}" in environments
    ]
    shown = [row | {"none": "none"} for row in rows if row["text"] or row["case"] in slow]
    for row in shown:
        row |= {column.source: float(row[column.source] or "nan") for column in speeds}
    return markdown_table(shown, [Column("case", "case"), *speeds, Column("warning", "text")])


def uneven_hosts(environments: pd.DataFrame) -> list[Row]:
    """A warning about the cases whose host was slower than the fastest, if any was."""
    cases = [str(case) for case in environments["case"]]
    slow = slower(hosts_of(cases, environments))
    if not slow:
        return []
    where = (
        f"{slow['measured']} cases"
        if slow["measured"] == len(cases)
        else (f"the {slow['measured']} cases where it was measured")
    )
    text = (
        f"slower hosts: before {len(slow['cases'])} of {where} {slow['what']} took more than "
        f"{limit(slow['by_more_than'])} longer than on the fastest host, up to "
        f"{number(slow['most_us'])} us ({slow['slowest']}) against {number(slow['fastest_us'])} "
        f"us: times that depend on the host can't be compared"
    )
    return [{"text": text, "cases": slow["cases"], "told": True}]


def _speeds(environments: pd.DataFrame, name: str, when: str = "before") -> "pd.Series[float]":
    """A measure of the host's speed before or after each case; NaN where it wasn't measured."""
    empty = pd.Series("", environments.index)
    return pd.to_numeric(environments.get(f"{name}_{when}", empty), errors="coerce")


def host_speeds(environments: pd.DataFrame) -> Row:
    """How fast the hosts were ("speeds"), and before which cases that was measured ("before")."""
    columns = {what: _speeds(environments, name) for name, what in HOST_SPEEDS.items()}
    known = {what: list(speeds.dropna()) for what, speeds in columns.items()}
    every, count = len(environments), max(map(len, known.values()))
    return {
        "before": "each case" if count == every else f"{count} of {every} cases",
        "speeds": [f"{what} {between(found)} us" for what, found in known.items() if found],
    }
