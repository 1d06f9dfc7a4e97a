"""The table of unprofiled times, from a benchmark's raw samples: a row per phase."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from workflow_src.common.case import Case, case_of
from workflow_src.common.environment import POWER_CAP
from workflow_src.common.summary import by_process, of_each_process, summarize
from workflow_src.common.units import NS_PER_MS
from workflow_src.model.flops import parameter_count

SIZES = {
    "parameters": "parameters",
    "tokens": "tokens_per_step",
    "samples": "samples_per_step",
}
"""The columns of what is known of a model and its batch; of a brought one by its benchmark."""


def timings(result: dict[str, Any]) -> pd.DataFrame:
    """A row per phase of a benchmark: status, summary of its samples (ms), peak memory, replay."""
    own = _own_sizes(result)
    return pd.DataFrame([_row(phase, own | found) for phase, found in result["phases"].items()])


def _own_sizes(result: dict[str, Any]) -> dict[str, int]:
    """The parameters of this project's own model and the tokens of a step, by formula."""
    case = case_of(result["case"]) if "case" in result else None
    if not isinstance(case, Case):
        return {}
    return {"parameters": parameter_count(case), "tokens": case.batch * case.context}


def _row(phase: str, found: dict[str, Any]) -> dict[str, Any]:
    row = {"phase": phase, "status": found["status"], "reason": found["reason"]}
    if found["status"] == "ok":
        samples = found["samples_ns"]
        row |= summarize(samples)
        process = found.get("process", [0] * len(samples))
        row |= by_process(samples, process) | _each(samples, process)
        row["peak_memory_mib"] = found["peak_memory_mib"]
        row |= _sizes(found) | _compiled(found)
    row |= _readings(found.get("readings", []))
    if found.get("device_samples_ns"):
        row["device_median_ms"] = float(np.median(found["device_samples_ns"])) / NS_PER_MS
    if "replay" not in found:
        return row
    return row | _replayed(found["replay"]) | _launch_bound(found, found["replay"])


def _each(samples_ns: Sequence[int], process: Sequence[int]) -> dict[str, str]:
    """The mean and the standard deviation (ms) of each process, in order: "12.5; 13.1"."""
    found = of_each_process(samples_ns, process)
    return {
        f"process_{name}s_ms": "; ".join(f"{each[f'{name}_ms']:.6g}" for each in found)
        for name in ("mean", "std")
    }


def _sizes(found: dict[str, Any]) -> dict[str, int]:
    """What a step works on, and a brought model's FLOPs by torch's counter; as far as told."""
    cells = {column: found[name] for name, column in SIZES.items() if name in found}
    flops = found.get("counted", {}).get("flops", {})
    return cells | ({"counted_flops_per_step": sum(flops.values())} if flops else {})


def _compiled(found: dict[str, Any]) -> dict[str, Any]:
    """Cells of a phase that runs under torch.compile: its first call (ms) and what that made.

    compile_ms: what the first call took beyond a steady step, by the host's clock, if it compiled;
    graph_breaks: one less than graphs, as torch._dynamo.explain counts them.
    """
    if "first_call_ns" not in found:
        return {}
    first, steady = np.median(found["first_call_ns"]), np.median(found["samples_ns"])
    return {
        "first_call_ms": float(first) / NS_PER_MS,
        "compile_ms": float(first - steady) / NS_PER_MS if found["graphs"] else None,
        "graphs": found["graphs"],
        "graph_breaks": max(found["graphs"] - 1, 0),
        "graph_break_reasons": "; ".join(found["break_reasons"]),
    }


def _readings(readings: Sequence[Sequence[Any]]) -> dict[str, float]:
    """Cells of the clock and the power while the steps ran; empty without readings.

    power_capped_share: of the readings in which the driver lowered the clock for power.
    """
    clocks = [clock for clock, _, _ in readings if clock is not None]
    powers = [power for _, power, _ in readings if power is not None]
    if not clocks:
        return {}
    found = {"sm_clock_mhz": float(np.median(clocks))}
    found |= {"sm_clock_least_mhz": min(clocks), "sm_clock_most_mhz": max(clocks)}
    found |= {"power_capped_share": sum(POWER_CAP in why for *_, why in readings) / len(readings)}
    return found | ({"power_w": float(np.median(powers))} if powers else {})


def _replayed(found: dict[str, Any]) -> dict[str, Any]:
    """A replay's cells: replay_status, replay_reason and, if it ran, a summary of its samples."""
    row = {"replay_status": found["status"], "replay_reason": found["reason"]}
    if found["status"] != "ok":
        return row
    summary = summarize(found["samples_ns"])
    times = {f"replayed_{name}": summary[name] for name in ("median_ms", "p20_ms", "p80_ms")}
    return row | {"replay_samples": summary["samples"]} | times


def _launch_bound(eager: dict[str, Any], replay: dict[str, Any]) -> dict[str, float]:
    """The least and the most that replays save of the time of their own process, as shares.

    Empty where one process measured both, which tells no spread.
    """
    if replay["status"] != "ok" or len(set(replay.get("process", ()))) < 2:
        return {}
    medians = (
        [row["median_ms"] for row in of_each_process(each["samples_ns"], each["process"])]
        for each in (eager, replay)
    )
    shares = [1 - replayed / ms for ms, replayed in zip(*medians, strict=True)]
    return {"least_launch_bound_share": min(shares), "most_launch_bound_share": max(shares)}
