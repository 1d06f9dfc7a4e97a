"""Analyzes the study ranks: bandwidths of all-reduces, and predictions beside what was measured."""

import pandas as pd

from workflow_src.common.case import Case
from workflow_src.studies.models import DIMENSIONS, case_of, dimensions
from workflow_src.studies.ranks.collectives import AllReduceTimes, bus_factor, gb_per_s
from workflow_src.studies.ranks.predictions import Baseline
from workflow_src.studies.study import Point, Row


def derive(point: Point, rows: list[Row]) -> list[Row]:
    """All-reduces with their bandwidths; ways, then their collectives."""
    ranks = {"ranks": point["ranks"]}
    if point["measurement"] == "all_reduce":
        return [row | ranks | bandwidths(row, point["ranks"]) for row in rows]
    case = case_of(point, point["size"], point["precision"])
    about = ranks | dimensions(case)
    return [*(row | about for row in rows), *(each for row in rows for each in collectives(row))]


def bandwidths(row: Row, ranks: int) -> Row:
    """Algorithm and bus bandwidth (GB/s) of an all-reduce's median; empty without one.

    The first is its bytes over its time, the second what a link carries of them: see bus_factor.
    """
    if row["status"] != "ok":
        return {}
    rate = gb_per_s(row["bytes"], row["median_ms"])
    return {
        "algorithm_gb_per_s": rate,
        "bus_gb_per_s": rate * bus_factor("all_reduce", ranks),
    }


def collectives(row: Row) -> list[Row]:
    """A row per kind of collective that the trace of a way holds."""
    names = ("way", "size", "context", "batch", "precision", "status", "reason")
    about = {"measurement": "collective"} | {name: row[name] for name in names}
    return [about | each for each in row.get("collectives", [])]


def complete(table: pd.DataFrame) -> pd.DataFrame:
    """The table with the predicted step of each way, if its baseline was measured."""
    rows = [{str(name): cell for name, cell in row.items()} for row in table.to_dict("records")]
    return pd.DataFrame([row | _predicted(row, table) for row in rows])


def _predicted(row: Row, table: pd.DataFrame) -> Row:
    if row["measurement"] != "training" or row["way"] == "alone":
        return {}
    found = baseline(table, str(row["point"]))
    return {"predicted_step_ms": found.predicted_ms(_case(row), row["way"])} if found else {}


def baseline(table: pd.DataFrame, point: str) -> Baseline | None:
    """What the predictions of a point start from; None where a part of it is missing."""
    ran = table[table["status"] == "ok"]
    reduced = ran[ran["measurement"] == "all_reduce"]
    trained = ran[(ran["point"] == point) & (ran["measurement"] == "training")]
    alone = trained[trained["way"] == "alone"].to_dict("records") if len(trained) else []
    if not len(reduced) or not alone or pd.isna(alone[0].get("optimizer_ms")):
        return None
    reduced = reduced.sort_values("bytes")
    sizes, times = (tuple(reduced[name].tolist()) for name in ("bytes", "median_ms"))
    curve = AllReduceTimes(sizes, times, int(reduced["ranks"].iloc[0]))
    return Baseline(curve, float(alone[0]["median_ms"]), float(alone[0]["optimizer_ms"]))


def _case(row: Row) -> Case:
    names = ("context", "batch", *DIMENSIONS)
    fixed = {"case": row["point"], "attention": "naive", "optimizer": "fused", "device": "cuda"}
    numbers = {name: int(row[name]) for name in names}
    return Case.from_dict(fixed | numbers | {name: row[name] for name in ("size", "precision")})
