"""The table of unprofiled times, from a benchmark's raw samples: a row per phase."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from workflow_src.common.case import Case, case_of
from workflow_src.common.environment import POWER_CAP
from workflow_src.common.read_table import described
from workflow_src.common.summary import by_process, summarize
from workflow_src.common.units import NS_PER_MS
from workflow_src.model.flops import parameter_count

Row = dict[str, Any]

SIZES = {"parameters": "parameters", "tokens": "tokens_per_step", "samples": "samples_per_step"}
"""The columns of what is known of a model and its batch; of a brought one by its benchmark."""

COUNTER_STEP_S = 0.1
"""An H200's energy counter changes so often: when it is read, up to this much may not be in it."""


def timings(result: Row) -> pd.DataFrame:
    """A row per phase of a benchmark: status, summary of its samples (ms), peak memory, replay.

    The parameters of this project's own model and the tokens of a step are by formula.
    """
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
    """Cells of a phase that runs under torch.compile: what its first call made.

    compile_ms: what the first call took beyond a steady step, by the host's clock, if it compiled;
    graph_breaks: one less than graphs, as torch._dynamo.explain counts them.
    """
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


def _energy(found: Row) -> Row:
    """Cells of the energy of a step, with the least and the most that it may be.

    By the counter, it may be off by what COUNTER_STEP_S takes. Without one it is the mean of the
    power that was read times the time, and at least and at most that with the lowest and the
    highest reading, as power lags behind the work.
    """
    if found.get("status") != "ok":
        return {}
    powers = [power for _, power, _ in found.get("readings", ()) if power is not None]
    before, after = found["counter_mj"]
    seconds = found["ns"] / 1e9
    if before is not None and after is not None:
        watts = (after - before) / 1e3 / seconds
        off = watts * COUNTER_STEP_S / seconds
        by, ends = "counter", (watts - off, watts + off)
    elif powers:
        watts, by, ends = float(np.mean(powers)), "sampled power", (min(powers), max(powers))
    else:
        return {}
    names = ("joules_per_step", "joules_least", "joules_most")
    a_step = seconds / found["steps"]
    joules = {name: each * a_step for name, each in zip(names, (watts, *ends), strict=True)}
    return joules | {"watts": watts, "energy_by": by}


def _replayed(found: Row | None) -> Row:
    """A replay's cells: replay_status, replay_reason and, if it ran, a summary of its samples."""
    if found is None:
        return {}
    row = {"replay_status": found["status"], "replay_reason": found["reason"]}
    if found["status"] == "ok":
        summary = summarize(found["samples_ns"])
        row |= {f"replayed_{name}": summary[name] for name in ("median_ms", "p20_ms", "p80_ms")}
    return row
