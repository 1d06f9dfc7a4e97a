"""The tables of a benchmark's result: unprofiled times, and what it recorded of its machine."""

from collections.abc import Sequence
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

from workflow_src.common.case import Case, case_of
from workflow_src.common.environment import HOST_SPEEDS, POWER_CAP, gpu_id
from workflow_src.common.read_table import described
from workflow_src.common.summary import by_process, summarize
from workflow_src.common.units import NS_PER_MS
from workflow_src.model.flops import parameter_count

Row = dict[str, Any]

SIZES = {"parameters": "parameters", "tokens": "tokens_per_step", "samples": "samples_per_step"}
"""Columns by what is known of a model and its batch; of a brought one by its benchmark."""

REPLAYED = ("median_ms", "p20_ms", "p80_ms")

COUNTER_STEP_S = 0.1
"""An H200's energy counter changes so often: up to this much may be missing from a reading."""


def timings(result: Row) -> pd.DataFrame:
    """A row per phase of a benchmark; parameters and tokens of this project's model by formula."""
    case, own = case_of(result["case"]) if "case" in result else None, {}
    if isinstance(case, Case):
        own = {"parameters": parameter_count(case), "tokens": case.batch * case.context}
    rows = [_row(phase, own | found) for phase, found in result["phases"].items()]
    return described(pd.DataFrame(rows), "timings")


def _row(phase: str, found: Row) -> Row:
    row = {"phase": phase, "status": found["status"], "reason": found["reason"]}
    if found["status"] == "ok":
        samples = found["samples_ns"]
        row |= summarize(samples) | by_process(samples, found.get("process", [0] * len(samples)))
        row["peak_memory_mib"] = found["peak_memory_mib"]
        row |= {column: found[name] for name, column in SIZES.items() if name in found}
        if flops := found.get("counted", {}).get("flops"):
            row["counted_flops_per_step"] = sum(flops.values())
        row |= _compiled(found)
    row |= _readings(found.get("readings", [])) | _energy(found.get("energy", {}))
    return row | _replayed(found.get("replay"))


def _compiled(found: Row) -> Row:
    """Of the first call under torch.compile; graph_breaks as torch._dynamo.explain counts."""
    if "first_call_ns" not in found:
        return {}
    first, steady = np.median(found["first_call_ns"]), np.median(found["samples_ns"])
    return {
        "compile_ms": float(first - steady) / NS_PER_MS if found["graphs"] else None,
        "graphs": found["graphs"],
        "graph_breaks": max(found["graphs"] - 1, 0),
        "graph_break_reasons": "; ".join(found["break_reasons"]),
    }


def _readings(readings: Sequence[Sequence[Any]]) -> dict[str, float]:
    clocks = [clock for clock, _, _ in readings if clock is not None]
    powers = [power for _, power, _ in readings if power is not None]
    if not clocks:
        return {}
    return {
        "sm_clock_mhz": float(np.median(clocks)),
        "sm_clock_least_mhz": min(clocks),
        "sm_clock_most_mhz": max(clocks),
        "power_capped_share": sum(POWER_CAP in why for *_, why in readings) / len(readings),
        **({"power_w": float(np.median(powers))} if powers else {}),
    }


def _energy(found: Row) -> Row:
    """The energy of a step by the counter, with the least and the most that it may be: it may be
    off by what COUNTER_STEP_S takes."""
    before, after = found.get("counter_mj", (None, None))
    if before is None or after is None:
        return {}
    seconds, joules = found["ns"] / 1e9, (after - before) / 1e3
    watts, steps = joules / seconds, found["steps"]
    return {
        "joules_per_step": joules / steps,
        "joules_least": (joules - watts * COUNTER_STEP_S) / steps,
        "joules_most": (joules + watts * COUNTER_STEP_S) / steps,
        "watts": watts,
    }


def _replayed(found: Row | None) -> Row:
    if found is None:
        return {}
    summary = summarize(found["samples_ns"]) if found["status"] == "ok" else {}
    times = {f"replayed_{name}": summary[name] for name in REPLAYED if name in summary}
    return {"replay_status": found["status"], "replay_reason": found["reason"]} | times


def doubts(result: Row) -> Row:
    """What may have disturbed a measurement; `throttled` without the limit of power where readings
    during steps tell of it by phase."""
    around = result.get("processes", [result])
    states = [
        part[when] for part in around for when in ("before", "during", "after") if when in part
    ]
    phases = result.get("phases", {}).values()
    readings = [why for row in phases for *_, why in row.get("readings", ())]
    reasons = {why for state in states for why in state.get("throttle", [])}.union(*readings)
    changes = [change for part in around if (change := _changed(part["before"], part["after"]))]
    return {
        "throttled": "; ".join(sorted(reasons - ({POWER_CAP} if readings else set()))),
        "other_processes_most": max(state.get("other_processes", 0) for state in states),
        "host_change_most": max(changes, default=None),
        "locks_are_shared": result.get("locks_are_shared", True),
    }


def _changed(before: Row, after: Row) -> float:
    pairs = ([before.get(name, 0.0), after.get(name, 0.0)] for name in HOST_SPEEDS)
    return max((max(pair) / min(pair) for pair in pairs if all(pair)), default=0.0)


def _before(result: Row) -> Row:
    """The host before measuring: of several processes the median of its speed, which differs most
    from one to the other, and the highest load, for which a result is doubted."""
    around = [part["before"] for part in result.get("processes", [result])]
    how = dict.fromkeys(HOST_SPEEDS, median) | {"load_average": max}
    known = {name: [part[name] for part in around if name in part] for name in how}
    return {f"{name}_before": how[name](each) for name, each in known.items() if each}


def environment(result: Row, profiler_version: str) -> pd.DataFrame:
    """One row: hardware, versions, the host's speed before, and doubts."""
    measured, phases = result["environment"], result["phases"]
    row = measured | {
        "profiler_version": profiler_version,
        "gpu_id": gpu_id(measured.get("device_name", "")),
        **_before(result),
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
