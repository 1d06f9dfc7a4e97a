"""Bytes that one case's kernels moved, by the shapes and types that ran, and the ceilings for them.

The record of operators can miss the ranges of some layers, whose rows then lie in a range around
theirs. Bytes are therefore taken per call, and multiplied by the calls in kernels.csv.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import nan

import pandas as pd

from workflow_src.answers.answer import Fact
from workflow_src.answers.components import component_of
from workflow_src.answers.evidence import Row, row_numbers

SIGNATURE = ["family", "operator", "shapes", "dtypes", "short_name"]
"""What tells an operator's rows apart, besides their range."""

UNKNOWN_WITHIN = 0.01
"""Bytes of several kernels are known if at most this share of their time is of unknown ones."""

KERNEL = ["component", "family", "short_name"]
Key = tuple[str, str, str]
REST = ""
"""The kernel of rows in operators.csv that sum up all others of their range and family."""


@dataclass(frozen=True)
class Calls:
    """What a kernel's calls in one component moved: bytes per call, in which operators.

    dtypes: the types of their inputs, as recorded: "fp32; fp32".
    """

    bytes_each: float
    operator: str
    evidence: tuple[int, ...]
    dtypes: tuple[str, ...] = ()


UNKNOWN = Calls(nan, "", ())
Known = Mapping[Key, Calls]


def known_of(operators: pd.DataFrame) -> dict[Key, Calls]:
    """What is known of calls' bytes, if only that they are none, by component, family and kernel.

    `operators`: one phase's rows of operators.csv. The products of a component share one mean, and
    so do the kernels without rows of their own, under REST. Those with rows that don't tell their
    bytes have none (nan).
    """
    # Activities without a partner in the record belong to no operator.
    placed = _in_place(operators[operators["operator"] != ""])
    placed = placed.assign(component=_components(placed))
    found = {
        (component_of(path).name, family, name): UNKNOWN
        for path, family, name in zip(
            *(operators[key].astype(str) for key in ("path", "family", "short_name")), strict=True
        )
        if name != REST
    }
    for component, mine in placed.groupby("component"):
        gemms = mine[mine["family"] == "gemm"]
        # Tables of older runs, whose raw files may be gone, have the bytes of some products with
        # the Memset that clears their workspace.
        callers = {*gemms["operator"], *mine.loc[mine["short_name"] == REST, "operator"]}
        clearing = (mine["family"] == "fill") & mine["operator"].isin(callers) & (len(gemms) > 0)
        for name in gemms["short_name"]:
            found[str(component), "gemm", name] = _calls(gemms, mine[clearing])
        others = mine[(mine["family"] != "gemm") & ~clearing]
        for (family, name), rows in others.groupby(["family", "short_name"]):
            found[str(component), str(family), str(name)] = _calls(rows, rows.iloc[:0])
    return found


def _in_place(operators: pd.DataFrame) -> pd.DataFrame:
    """The rows without those of which the same inputs occur in a range below theirs."""
    signed = [(str(row["path"]), *row[SIGNATURE]) for _, row in operators.iterrows()]
    below = {
        (path[:at], *signature)
        for path, *signature in signed
        for at, letter in enumerate(path)
        if letter == "/"
    }
    lost = [row in below for row in signed]
    return operators[~pd.Series(lost, index=operators.index, dtype=bool)]


def _components(rows: pd.DataFrame) -> "pd.Series[str]":
    return rows["path"].map(lambda path: component_of(path).name).astype("object")


def _calls(rows: pd.DataFrame, clearing: pd.DataFrame) -> Calls:
    both = pd.concat([rows, clearing])
    moved = float(both["bytes_per_step"].sum(skipna=False) / rows["calls_per_step"].sum())
    names = dict.fromkeys(_words(row) for _, row in rows.iterrows())
    types = tuple(dict.fromkeys(map(str, rows["dtypes"])))
    return Calls(moved, " and ".join(names), row_numbers(both), types)


def _words(row: "pd.Series[str]") -> str:
    """An operator's name; a copy that changes the type is called a cast."""
    into, *rest = str(row["dtypes"]).split("; ")
    if row["operator"] == "aten::copy_" and rest and rest[0] != into:
        return f"cast {rest[0]} to {into}"
    return str(row["operator"])


def moved(rows: pd.DataFrame, known: Known) -> list[Row]:
    """A row per kernel that moved known bytes, of one phase's rows of kernels.csv; most time first.

    ms and bytes are per pass; `evidence` are rows of kernels.csv, `read` those of operators.csv.
    """
    return [row for row in _known_rows(rows, known) if row["bytes"] > 0]


def _known_rows(rows: pd.DataFrame, known: Known, rest: bool = False) -> list[Row]:
    """A row per kernel of known bytes; with `rest` also of those that are known only together."""
    found = []
    for names, mine in rows.assign(component=_components(rows)).groupby(KERNEL):
        component, family, kernel = map(str, names)
        together = known.get((component, family, REST)) if rest else None
        calls = known.get((component, family, kernel), together)
        if calls is None or not calls.bytes_each >= 0:
            continue
        steps = mine["steps"].max()
        found.append(
            {
                "component": component,
                "kernel": kernel,
                "operator": calls.operator,
                "ms": float(mine["busy_ns"].sum() / steps / 1e6),
                "bytes": float(mine["calls"].sum() / steps) * calls.bytes_each,
                "evidence": row_numbers(mine),
                "read": calls.evidence,
                "dtypes": calls.dtypes,
            }
        )
    return sorted(found, key=lambda row: -row["ms"])


def total(rows: pd.DataFrame, known: Known) -> Row | None:
    """Bytes per pass of all these rows of kernels.csv, and the rows that say so; None if unknown.

    With them go the types of the calls' inputs.

    See UNKNOWN_WITHIN.
    """
    found = _known_rows(rows, known, rest=True)
    whole = float(rows["busy_ns"].sum() / rows["steps"].max() / 1e6) if len(rows) else 0.0
    if whole - sum(row["ms"] for row in found) > UNKNOWN_WITHIN * whole:
        return None
    read = dict.fromkeys(number for row in found if row["bytes"] > 0 for number in row["read"])
    types = dict.fromkeys(kind for row in found for kind in row["dtypes"])
    about = {"read": tuple(read), "dtypes": tuple(types)}
    return about | {"bytes": sum(row["bytes"] for row in found)} if read else None


@dataclass(frozen=True)
class Ceiling:
    """The best rate of its kind that was measured, in 10^9 per second, what did, and its rows."""

    best: float
    name: str
    rows: tuple[int, ...]

    def share(self, amount: float, ms: float) -> float:
        """The share of `ms` that `amount` takes at this rate."""
        return amount / (self.best * 1e6) / ms

    def fact(self, case: str, name: str, unit: str) -> Fact:
        """The rate as a fact of a case."""
        return Fact(case, name, self.best, unit, "ceilings", self.rows)


def ceiling(ceilings: pd.DataFrame, kind: str, column: str) -> Ceiling | None:
    """The best of `column` of one kind of ceiling in ceilings.csv; None if none was measured."""
    mine = ceilings[(ceilings["kind"] == kind) & ceilings[column].notna()]
    best = mine[mine[column] == mine[column].max()]
    if best.empty:
        return None
    return Ceiling(float(best[column].iloc[0]), str(best["name"].iloc[0]), row_numbers(best))


def bandwidth(ceilings: pd.DataFrame) -> Ceiling | None:
    """The best bandwidth in GB/s."""
    return ceiling(ceilings, "bandwidth", "best_gb_per_s")


def exponentials(ceilings: pd.DataFrame) -> Ceiling | None:
    """The best rate of exponentials, in 10^9 per second."""
    return ceiling(ceilings, "exponential", "best_giga_exp_per_s")
