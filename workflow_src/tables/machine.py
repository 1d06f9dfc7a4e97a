"""What a benchmark recorded of its machine, and what may have disturbed it: environments.csv."""

from statistics import median
from typing import Any

import pandas as pd

from workflow_src.common.environment import HOST_SPEEDS, POWER_CAP, gpu_id
from workflow_src.common.thresholds import HOST_CHANGED

Row = dict[str, Any]

AROUND = (*HOST_SPEEDS, "load_average", "other_processes")
"""What is told of the state before and after measuring."""


def doubts(result: Row) -> Row:
    """What may have disturbed a measurement, as codes and numbers; limits are its readers' affair.

    throttled: the driver's reasons but for the limit of power where readings during steps tell of
    that by phase (see timings.csv); other_processes_most: on the device
    at one time; host_change_most: how many times as long as before something took on the host after
    a process measured, or the other way around; host_changed_processes: in how many of them by more
    than HOST_CHANGED.
    """
    around = result.get("processes", [result])
    states = [
        part[when] for part in around for when in ("before", "during", "after") if when in part
    ]
    changes = host_changes(around)
    phases = result.get("phases", {}).values()
    readings = [why for row in phases for *_, why in row.get("readings", ())]
    reasons = {why for state in states for why in state.get("throttle", [])}
    reasons |= {reason for why in readings for reason in why}
    return {
        "throttled": "; ".join(sorted(reasons - ({POWER_CAP} if readings else set()))),
        "other_processes_most": max(state.get("other_processes", 0) for state in states),
        "host_change_most": max(changes, default=None),
        "host_changed_processes": sum(change > HOST_CHANGED for change in changes),
        "locks_are_shared": result.get("locks_are_shared", True),
    }


def host_changes(around: list[Row]) -> list[float]:
    """By how many times the host's speed changed at most, of each process that measured it."""
    pairs = (
        [(part["before"].get(name), part["after"].get(name)) for name in HOST_SPEEDS]
        for part in around
    )
    changes = ([max(pair) / min(pair) for pair in each if all(pair)] for each in pairs)
    return [max(each) for each in changes if each]


def _readings(result: Row, when: str) -> Row:
    """The state before or after measuring: of several processes, before the first, after the last.

    The host's speed, which differs most from process to process, is the median of all; the load,
    for which a result is doubted, the highest.
    """
    around = [part[when] for part in result.get("processes", [result])]
    found = dict(result[when])
    for name in (*HOST_SPEEDS, "load_average"):
        if known := [part[name] for part in around if name in part]:
            found[name] = median(known) if name in HOST_SPEEDS else max(known)
    return {f"{name}_{when}": found[name] for name in AROUND if name in found}


def environment(result: Row, profiler_version: str) -> pd.DataFrame:
    """One row: hardware, versions, clocks and temperature before and after, and doubts.

    Of a brought model, the phases whose loss was no finite number, and whether it compiles, too.
    """
    measured, phases = result["environment"], result["phases"]
    row = measured | {
        "profiler_version": profiler_version,
        "gpu_id": gpu_id(measured.get("device_name", "")),
        **_readings(result, "before"),
        **_readings(result, "after"),
        **{key: result[key] for key in ("started_at", "ended_at")},
        "processes_at": "; ".join(
            f"{part['started_at']} {part['ended_at']}" for part in result.get("processes", ())
        ),
        **doubts(result),
    }
    if finite := {phase: each["finite"] for phase, each in phases.items() if "finite" in each}:
        row["loss_not_finite"] = "; ".join(phase for phase, held in finite.items() if not held)
    if compiled := [each["compiled"] for each in phases.values() if "compiled" in each]:
        row["compiled"] = any(compiled)
    return pd.DataFrame([row])
