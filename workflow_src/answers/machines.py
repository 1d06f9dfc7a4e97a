"""What may have disturbed a case, as its machine recorded it."""

from typing import Any

import pandas as pd

from workflow_src.answers.facts import disturbed
from workflow_src.common.environment import HOST_SPEEDS, POWER_CAP
from workflow_src.common.thresholds import (
    BUSY_LOAD,
    HOST_CHANGED,
    MATCH_WITHIN,
    SHARED_BEYOND,
    SPREAD_BEYOND,
    THROTTLED_BEYOND,
)
from workflow_src.paper.number import NAN, Number, Numbers, over
from workflow_src.paper.run import Run, keyed

THROTTLED, SHARED = "device throttled", "device shared"
BUSY, CHANGED = "machine busy", "host's speed changed"
NOT_LOCKED, OVERLAPPED = "no lock that all users see", "another case was measured meanwhile"
DISTURBED, ELSEWHERE = "capture disturbed", "captured on another host"
NOT_FINITE = "loss not finite"

SPREAD, SHORTER = "samples spread widely", "faster under the profiler than without"
LONGER = "its operators alone took longer under the profiler than all of it without"
"""See `unlike`."""


def conditions(run: Run) -> pd.DataFrame:
    """What environments.csv says of each of its rows.

    changed: how many times as long something took on the host after a process as before it, or the
    other way around. elsewhere: the host of the capture, if it is another.
    """
    texts, rows = run["environments"], run.numbers("environments")
    case, by_case = texts["case"], keyed(run["captures"], "case")
    captured = case.map(by_case["host_id"]).astype(object).fillna("")
    other = (captured != texts["host_id"]) & (captured != "") & (texts["host_id"] != "")
    ratios = {n: rows[f"{n}_after"] / rows[f"{n}_before"] for n in HOST_SPEEDS}
    ratios = {n: ratio.mask((ratio < 1).astype(bool), 1 / ratio) for n, ratio in ratios.items()}
    ends = [f"other_processes_{end}" for end in ("most", "before", "after")]
    most = over(run["timings"], "case", "power_capped_share", "max")
    capped = most.reindex(case).set_axis(rows.index)
    return pd.DataFrame(
        {
            "case": case,
            "device": texts["device"],
            "why_throttled": reasons(texts["throttled"], capped),
            "changed": rows["host_change_most"].fillna(largest(pd.DataFrame(ratios))),
            "launch_us": rows["host_launch_us_before"],
            "operation_us": rows["host_operation_us_before"],
            "others": largest(rows[ends]),
            "load": rows["load_average_before"] / rows["cpu_cores"],
            "locks": texts["locks_are_shared"],
            "not_finite": texts["loss_not_finite"],
            "meanwhile": case.map(meanwhile(texts)).astype(object).fillna(""),
            "elsewhere": captured.where(other, ""),
        }
    )


def warned(run: Run, rows: pd.DataFrame) -> pd.DataFrame:
    """A column of each warning; NaN where nothing that tells it was recorded."""
    told = pd.DataFrame(index=rows.index)
    told[THROTTLED] = (rows["why_throttled"] != "").astype(object)
    for name, column, limit in (
        (SHARED, "others", SHARED_BEYOND),
        (BUSY, "load", BUSY_LOAD),
        (CHANGED, "changed", HOST_CHANGED),
    ):
        told[name] = (rows[column] > limit).astype(object).where(rows[column].notna())
    told[NOT_LOCKED] = (rows["locks"] == "False").astype(object).where(rows["locks"] != "")
    told[OVERLAPPED] = (rows["meanwhile"] != "").astype(object)
    spoiled = rows["case"].map(disturbed(run)).astype(object)
    told[DISTURBED] = spoiled.where(rows["device"] == "cpu")
    told[ELSEWHERE] = (rows["elsewhere"] != "").astype(object)
    brought = bool((run["plan"]["workload"] != "").any())
    told[NOT_FINITE] = (rows["not_finite"] != "").astype(object) if brought else NAN
    return told


def on_both(times: pd.DataFrame) -> "pd.Series[bool]":
    """Which are a CPU's phases with a time without and one with the profiler."""
    timed = times["unprofiled"].notna() & times["profiled"].notna()
    return timed & (times["device"] == "cpu")


def unlike(times: pd.DataFrame) -> pd.DataFrame:
    """Whether facts.phases has times with and without the profiler that can't both be right, a
    column for each reason. A GPU works as fast whatever its host does."""
    ms = times[["unprofiled", "profiled", "busy", "p20_ms", "p80_ms"]].astype(float)
    least = ((1 - MATCH_WITHIN) * ms["unprofiled"]).clip(upper=ms["p20_ms"])
    masks = {
        SPREAD: ms["p80_ms"] > SPREAD_BEYOND * ms["p20_ms"],
        SHORTER: ms["profiled"] < least,
        LONGER: ms["busy"] > ms["unprofiled"],
    }
    return pd.DataFrame(masks).mul(on_both(times), axis=0)


def reasons(texts: pd.Series, capped: Numbers) -> pd.Series:
    """Why the driver lowered the clock; of power, what readings during steps say, if any."""
    found = []
    for text, share in zip(texts, capped, strict=True):
        told = {*text.split("; ")} - {""}
        if share == share:
            told = told - {POWER_CAP} | ({POWER_CAP} if share > THROTTLED_BEYOND else set())
        found.append("; ".join(sorted(told)))
    return pd.Series(found, texts.index, dtype=object)


def largest(frame: pd.DataFrame) -> Numbers:
    """The largest Number of each row."""
    rows = frame.to_numpy(object)
    made = [max((cell for cell in row if cell == cell), default=NAN) for row in rows]
    return pd.Series(made, frame.index, dtype=object)


def meanwhile(rows: pd.DataFrame) -> pd.Series:
    """By case those measured on the same host at the same time, by each process if it is told."""
    whole = rows["started_at"] + " " + rows["ended_at"]
    each = rows["processes_at"].where(rows["processes_at"] != "", whole).str.split("; ")
    spans = rows[["host_id", "case"]].assign(at=each).explode("at", ignore_index=True)
    times = spans["at"].str.partition(" ").reindex(columns=[0, 2])
    spans = spans.assign(started_at=times[0], ended_at=times[2]).drop(columns="at")
    spans = spans[(spans != "").all(axis=1)]
    pairs = spans.merge(spans, on="host_id", suffixes=("", "_other"))
    at_once = pairs["started_at"] < pairs["ended_at_other"]
    at_once &= pairs["ended_at"] > pairs["started_at_other"]
    pairs = pairs[at_once & (pairs["case"] != pairs["case_other"])]
    pairs = pairs.drop_duplicates(["case", "case_other"])
    return pairs.groupby("case")["case_other"].agg("; ".join)


def hosts(run: Run, column: str = "host_id") -> Any:
    """On how many hosts (or GPUs) the cases ran; NaN unless each row tells its own."""
    rows = run["environments"]
    if rows.empty or (rows[column] == "").any():
        return NAN
    return counted(rows.drop_duplicates(column), f"different {column}")


def counted(found: pd.DataFrame, rule: str, among: pd.DataFrame | None = None) -> Any:
    """How many rows were found, of those looked `among`; NaN if of none."""
    every = found if among is None else among
    unit = "count" if among is None else f"of {len(among)}"
    rows = frozenset((found if len(found) else every).index)
    return Number(float(len(found)), unit, rows, rule) if len(every) else NAN


def of_cases(run: Run, cases: pd.Index, rule: str) -> Any:
    """How many these cases are, of all if not all; NaN of none."""
    rows = pd.concat([run[name] for name in ("timings", "captures")]).drop_duplicates("case")
    among = None if len(cases) == len(rows) else rows
    return counted(rows[rows["case"].isin(cases)], rule, among)
