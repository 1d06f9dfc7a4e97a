"""How much of the forward pass's time goes to launches: by replay, or else by an estimate.

A replayed CUDA graph runs the same kernels without a launch for each. What it saves of the
unprofiled time is what the host's work for them costs: Python, PyTorch and the driver. Without a
replay, the time in which the device has no work stands in.
"""

from collections.abc import Mapping, Sequence
from statistics import median

import pandas as pd

from workflow_src.answers import wording
from workflow_src.answers.answer import Fact
from workflow_src.answers.evidence import Row
from workflow_src.answers.wording import median_of
from workflow_src.common.units import NS_PER_MS
from workflow_src.render import markdown

MOST = 0.5
"""If a replay takes away more than this share of the idle time, the host's work is why."""

SAME_WITHIN = 0.05
"""Device time counts as the same with and without the profiler within this share."""

IDLE_CAUSES = {
    "launches": "differ: the device waits for the host for much of the unprofiled time",
    "other": "differ: the device is idle for much of the unprofiled time, and not for the host",
}
"""What the verdict "idle" says in a case that was replayed."""

DERIVED = {
    "launch_bound_share": ("replayed_median_ms", "median_ms"),
    "launch_bound_range": ("least_launch_bound_share", "most_launch_bound_share"),
    "launch_bound_estimate": ("median_ms",),
    "replayed_times": ("replayed_median_ms",),
    "idle_removed": ("replayed_median_ms", "median_ms"),
    "idle_cause": ("idle_removed",),
}
"""Values computed from others of their case; those that compare with the device's work, `active`,
also from that."""

BETWEEN = ("least_launch_bound_share", "most_launch_bound_share")
"""The columns of timings.csv with the share that a replay saves in one process of several."""

WITH_ACTIVE = ("launch_bound_estimate", "replayed_times", "idle_removed")


def measure(row: Row, timed: pd.DataFrame, steps: pd.DataFrame) -> Row:
    """What a replay, or an estimate, says of one case whose forward pass takes `median_ms`.

    `row` is the case as measured so far, `timed` its row of timings.csv, `steps` those of
    ledger.csv, if there are any. Nothing is found on a CPU, which launches nothing.
    """
    if row["device"] == "cpu" or "median_ms" not in row:
        return {"replay_state": "none" if row["device"] == "cpu" else row["median_state"]}
    found = _replayed(markdown.records(timed)[0], row["median_ms"])
    if len(steps):
        found["device_active_ms"] = float(steps["device_active_ns"].median()) / NS_PER_MS
    active = found.get("device_active_ms", row.get("busy_ms"))
    if active is None:
        return found
    idle = row["median_ms"] - active
    if "launch_bound_share" not in found:
        found["launch_bound_estimate"] = max(0.0, idle / row["median_ms"])
        return found
    if active > 0:
        found["replayed_times"] = found["replayed_median_ms"] / active
    if row.get("often_idle") and idle > 0:
        removed = max(0.0, row["median_ms"] - found["replayed_median_ms"]) / idle
        found |= {"idle_removed": removed, "idle_cause": "launches" if removed > MOST else "other"}
    return found


def _replayed(timed: Mapping[str, object], median_ms: float) -> Row:
    """The state of a replay and, if it ran, its median and the share that it saves."""
    state = str(timed.get("replay_status") or "not_measured")
    found: Row = {"replay_state": state, "replay_reason": str(timed.get("replay_reason") or "")}
    if state == "ok":
        replayed = float(str(timed["replayed_median_ms"]))
        found["replayed_median_ms"] = replayed
        found["launch_bound_share"] = 1 - replayed / median_ms
        least, most = (float(str(timed.get(name, "nan"))) for name in BETWEEN)
        if least <= most:
            found |= dict(zip(BETWEEN, (least, most), strict=True))
            found["launch_bound_range"] = most - least
    return found


def facts_of(row: Row, timed: tuple[int, ...], steps: tuple[int, ...]) -> list[Fact]:
    """The facts of one case, given the numbers of its rows in timings.csv and ledger.csv."""
    case, sources = row["case"], {"replayed_median_ms": ("timings", timed)}
    sources["device_active_ms"] = ("ledger", steps)
    found = [
        Fact(case, name, row[name], "ms", table, rows)
        for name, (table, rows) in sources.items()
        if name in row
    ]
    found += [Fact(case, name, row[name], "1", "timings", timed) for name in BETWEEN if name in row]
    active = "device_active_ms" if "device_active_ms" in row else "busy_ms"
    for name, parts in DERIVED.items():
        if name in row:
            unit = "" if name == "idle_cause" else "1"
            every = (*parts, active) if name in WITH_ACTIVE else parts
            found.append(Fact(case, name, row[name], unit, derived_from=every))
    return found


def summarize(rows: Sequence[Row]) -> Row:
    """Values for the template, from rows with what `measure` found and their names in words."""
    tested = [row for row in rows if "launch_bound_share" in row]
    estimated = [row for row in rows if "launch_bound_estimate" in row]
    idle = [row for row in tested if "idle_cause" in row]
    other = [row for row in idle if row["idle_cause"] == "other"]
    return {
        "precisions": [
            precision_row(precision, mine)
            for precision, mine in wording.by_precision(tested).items()
        ],
        "between": between_processes(tested),
        "unprofiled": unprofiled_work(tested),
        "idle": len(idle),
        "launches": len(idle) - len(other),
        "removed": min((r["idle_removed"] for r in idle if r not in other), default=None),
        "by_launches": wording.in_cases(len(idle) - len(other), len(idle)),
        "other": wording.listed(other),
        "failed": failed(rows),
        "estimates": [
            {"precision": name, "cases": len(m), "share": median_of(m, "launch_bound_estimate")}
            for name, m in wording.by_precision(estimated).items()
        ],
    }


def precision_row(precision: str, rows: Sequence[Row]) -> Row:
    """What replays save in the cases of one precision: the median, and the cases at both ends."""
    return {
        "precision": precision,
        "cases": len(rows),
        "share": median_of(rows, "launch_bound_share"),
        "least": min(rows, key=lambda row: row["launch_bound_share"]),
        "most": max(rows, key=lambda row: row["launch_bound_share"]),
    }


def unprofiled_work(rows: Sequence[Row]) -> Row | None:
    """How many times the device's recorded time its replays take, which aren't profiled.

    Without the profiler the device works less if some replay takes less by more than SAME_WITHIN,
    and as long ("same") if the median isn't more by that either; else gaps between a replay's
    kernels may be why, and nothing is shown ("").
    """
    times = [row["replayed_times"] for row in rows if "replayed_times" in row]
    if not times:
        return None
    found = {"least": min(times), "median": median(times), "most": max(times), "cases": len(times)}
    if found["least"] < 1 - SAME_WITHIN:
        return found | {"works": "less"}
    return found | {"works": "same" if found["median"] <= 1 + SAME_WITHIN else ""}


def between_processes(rows: Sequence[Row]) -> Row | None:
    """How far the share that a replay saves differs between a case's processes, where known."""
    known = [row for row in rows if "launch_bound_range" in row]
    if not known:
        return None
    return {
        "cases": len(known),
        "range": median_of(known, "launch_bound_range"),
        "most": max(known, key=lambda row: row["launch_bound_range"]),
    }


def failed(rows: Sequence[Row]) -> list[Row]:
    """Why forward passes that were timed were not replayed, with the cases of each reason."""
    reasons: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.get("replay_reason"):
            reasons.setdefault((row["replay_state"], row["replay_reason"]), []).append(row)
    return [
        {"state": markdown.STATE_WORDS[state], "reason": reason, "listed": wording.listed(mine)}
        for (state, reason), mine in reasons.items()
    ]
