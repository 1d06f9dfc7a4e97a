"""A forward pass's time by component of the model, and what runs in each besides products."""

from collections.abc import Mapping, Sequence

import pandas as pd

from workflow_src.answers import kernel_words
from workflow_src.answers.answer import Fact
from workflow_src.answers.components import by_component
from workflow_src.answers.evidence import Row, row_numbers

MATMUL_FAMILIES = ("gemm", "attention")
"""Fused attention includes its two matrix multiplications, so it doesn't count as "besides"."""


def besides(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of kernels.csv that aren't matrix multiplication."""
    return rows[~rows["family"].isin(MATMUL_FAMILIES)]


def ms_of(rows: pd.DataFrame) -> float:
    """Device time per step of `rows` of one phase of one case."""
    return float(rows["busy_ns"].sum() / rows["steps"].max() / 1e6) if len(rows) else 0.0


def times_of(rows: pd.DataFrame) -> Row:
    """The pass's time in ms, and how much of it is matrix multiplication and how much is not."""
    ms, others = ms_of(rows), ms_of(besides(rows))
    return {"ms": ms, "besides_ms": others, "matmul_ms": ms - others}


def component_rows(rows: pd.DataFrame) -> dict[str, Row]:
    """Per component: its time and share of the pass, and of those what is besides products."""
    whole = ms_of(rows)
    return {
        name: {
            "ms": ms_of(mine),
            "share": ms_of(mine) / whole,
            "besides_ms": ms_of(besides(mine)),
            "besides": ms_of(besides(mine)) / whole,
            "evidence": row_numbers(mine),
            "besides_evidence": row_numbers(besides(mine)),
            "families": families_of(besides(mine)),
        }
        for name, mine in by_component(rows).items()
        if whole > 0
    }


def families_of(rows: pd.DataFrame) -> dict[str, float]:
    """The time of each family of kernels in ms."""
    return {str(family): ms_of(mine) for family, mine in rows.groupby("family")}


def component_facts(case: str, found: Mapping[str, Row]) -> list[Fact]:
    """The times and shares of components as facts."""
    return [
        Fact(case, f"component/{name}/{key}", row[key], unit, "kernels", row[rows])
        for name, row in found.items()
        for key, unit, rows in (
            ("ms", "ms", "evidence"),
            ("share", "1", "evidence"),
            ("besides_ms", "ms", "besides_evidence"),
            ("besides", "1", "besides_evidence"),
        )
        if row[rows]
    ]


def does(rows: pd.DataFrame) -> "pd.Series[str]":
    """What each row's kernel does, in words."""
    words = [
        kernel_words.what(str(row["name"]), str(row["short_name"]), str(row["family"]))
        for _, row in rows.iterrows()
    ]
    return pd.Series(words, index=rows.index, dtype="object")


def casts_of(rows: pd.DataFrame) -> Row:
    """Calls, time and share of the kernels whose names say that they change the type."""
    mine = rows[does(rows).isin(kernel_words.CASTS)]
    calls = float(mine["calls"].sum() / mine["steps"].max()) if len(mine) else 0.0
    ms, whole = ms_of(mine), ms_of(rows)
    share = ms / whole if whole > 0 else 0.0
    places = [
        {
            "component": name,
            "calls": float(found["calls"].sum() / found["steps"].max()),
            "ms": ms_of(found),
            "evidence": row_numbers(found),
        }
        for name, found in by_component(mine).items()
    ]
    return {"calls": calls, "ms": ms, "share": share, "evidence": row_numbers(mine)} | {
        "places": places
    }


def cast_facts(case: str, casts: Row) -> list[Fact]:
    """The casts of a case as facts, if it has any."""
    units = {"calls": "calls", "ms": "ms", "share": "1"} if casts["evidence"] else {}
    found = [
        Fact(case, f"casts/{key}", casts[key], unit, "kernels", casts["evidence"])
        for key, unit in units.items()
    ]
    return found + [
        Fact(case, f"casts/{row['component']}/{key}", row[key], unit, "kernels", row["evidence"])
        for row in casts["places"]
        for key, unit in (("calls", "calls"), ("ms", "ms"))
    ]


def operations_of(rows: pd.DataFrame) -> list[Row]:
    """What runs in each component besides products, most time first: calls, ms and share."""
    whole = ms_of(rows)
    return [
        {
            "component": component,
            "what": what,
            "calls": float(found["calls"].sum() / found["steps"].max()),
            "ms": ms_of(found),
            "share": ms_of(found) / whole,
            "evidence": row_numbers(found),
        }
        for component, mine in by_component(besides(rows)).items()
        for what, found in sorted(
            mine.groupby(does(mine)), key=lambda group: (-group[1]["busy_ns"].sum(), group[0])
        )
        if whole > 0
    ]


def operation_facts(case: str, operations: Sequence[Row]) -> list[Fact]:
    """What runs in each component as facts."""
    return [
        Fact(
            case,
            f"component/{row['component']}/{row['what']}/{key}",
            row[key],
            unit,
            "kernels",
            row["evidence"],
        )
        for row in operations
        for key, unit in (("calls", "calls"), ("ms", "ms"), ("share", "1"))
    ]
