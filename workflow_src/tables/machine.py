"""What a benchmark recorded of its machine, and what may have disturbed it: environments.csv."""

from statistics import median
from typing import Any

import pandas as pd

from workflow_src.common.environment import HOST_SPEEDS, POWER_CAP, gpu_id
from workflow_src.common.thresholds import HOST_CHANGED


def doubts(result: dict[str, Any]) -> dict[str, Any]:
    """What may have disturbed a measurement, as codes and numbers; limits are its readers' affair.

    throttled: the driver's reasons but for the limit of power where readings during steps tell of
    that by phase (see timings.csv); other_processes_most: on the device
    at one time; host_change_most: how many times as long as before something took on the host after
    a process measured, or the other way around; host_changed_processes: in how many of them by more
    than HOST_CHANGED.
    """
    around = result.get("processes", [result])
    whens = ("before", "during", "after")
    states = [part[when] for part in around for when in whens if when in part]
    changes = host_changes(around)
    reasons = {why for state in states for why in state.get("throttle", [])}
    readings = [
        why for row in result.get("phases", {}).values() for *_, why in row.get("readings", ())
    ]
    during = {reason for why in readings for reason in why}
    reasons = (reasons | during) - ({POWER_CAP} if readings else set())
    return {
        "throttled": "; ".join(sorted(reasons)),
        "other_processes_most": max(state.get("other_processes", 0) for state in states),
        "host_change_most": max(changes, default=None),
        "host_changed_processes": sum(change > HOST_CHANGED for change in changes),
        "locks_are_shared": result.get("locks_are_shared", True),
    }


def _told(phases: dict[str, Any]) -> dict[str, Any]:
    """Of a brought model, the phases whose loss was no finite number, and whether it compiles."""
    finite = {phase: row["finite"] for phase, row in phases.items() if "finite" in row}
    compiled = [row["compiled"] for row in phases.values() if "compiled" in row]
    wrong = "; ".join(phase for phase, held in finite.items() if not held)
    found = {"loss_not_finite": wrong} if finite else {}
    return found | ({"compiled": any(compiled)} if compiled else {})


def host_changes(around: list[dict[str, Any]]) -> list[float]:
    """By how many times the host's speed changed at most, of each process that measured it."""
    found = []
    for part in around:
        pairs = [(part["before"].get(name), part["after"].get(name)) for name in HOST_SPEEDS]
        ratios = [max(pair) / min(pair) for pair in pairs if all(pair)]
        found += [max(ratios)] if ratios else []
    return found


def _readings(result: dict[str, Any], when: str) -> dict[str, Any]:
    """The state before or after measuring: of several processes, before the first, after the last.

    The host's speed, which differs most from process to process, is the median of all; the load,
    for which a result is doubted, the highest.
    """
    around = [part[when] for part in result.get("processes", [result])]
    known = {name: [part[name] for part in around if name in part] for name in HOST_SPEEDS}
    medians = {name: median(speeds) for name, speeds in known.items() if speeds}
    loads = [part["load_average"] for part in around if "load_average" in part]
    highest = {"load_average": max(loads)} if loads else {}
    return {**result[when], **medians, **highest}


def environment(result: dict[str, Any], profiler_version: str) -> pd.DataFrame:
    """One row: hardware, versions, clocks and temperature before and after, and doubts."""
    readings = {
        f"{name}_{when}": value
        for when in ("before", "after")
        for name, value in _readings(result, when).items()
        if not isinstance(value, list)
    }
    when = {key: result[key] for key in ("started_at", "ended_at")}
    when["processes_at"] = "; ".join(
        f"{part['started_at']} {part['ended_at']}" for part in result.get("processes", ())
    )
    about = {"profiler_version": profiler_version}
    about["gpu_id"] = gpu_id(result["environment"].get("device_name", ""))
    row = result["environment"] | about | readings | when
    return pd.DataFrame([row | doubts(result) | _told(result["phases"])])
