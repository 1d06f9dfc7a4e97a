"""Measure phases, components of the forward pass, and the two ceilings of the roofline."""

import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch

from workflow_src.common.case import Case
from workflow_src.common.summary import NS_PER_MS
from workflow_src.measure.benchmark import measure_phase
from workflow_src.measure.oom import all_skipped, in_rising_order
from workflow_src.measure.profiled_run import run_steps, settle, torch_window
from workflow_src.measure.workload import AUTOCAST, Workload, use_precision
from workflow_src.model.flops import forward_work
from workflow_src.model.memory_formulas import MIB, model_row, peak_bytes, phase_flops
from workflow_src.studies.outcomes import attempt, free, spread
from workflow_src.studies.study import Point, Row
from workflow_src.studies.timing import time_call
from workflow_src.traces import kineto
from workflow_src.traces.attribution import NOWHERE, attribute


def case_of(point: Point, size: str) -> Case:
    """The case of a size at a point, with written-out attention and AdamW."""
    return Case(
        case=f"{size}-{point['precision']}",
        size=size,
        **point["sizes"][size],
        vocabulary=point["vocabulary"],
        batch=point["batch"],
        context=point["context"],
        precision=point["precision"],
        attention="naive",
        optimizer="adamw",
        device=point["device"],
    )


def measure_point(point: Point) -> list[Row]:
    """Rows of four kinds (`measurement`): model, phase, component and ceiling."""
    # Memory that was freed and taken again can copy 10 % slower, so that on a device the ceilings
    # come first; on a CPU last, since their memory would be in the peaks of all that follows.
    ceilings = measure_ceilings(point) if point["device"] == "cuda" else []
    free(point["device"])
    rows = []
    for size in point["sizes"]:
        case = case_of(point, size)
        rows.append(_about(case, "model") | {"status": "ok", "reason": ""} | model_row(case))
    for size in point["measured"]:
        rows += measure_size(case_of(point, size), point["warmup_steps"], point["steps"])
        free(point["device"])
    ceilings = ceilings or measure_ceilings(point)
    return [row | utilisation(row, ceilings) for row in rows] + ceilings


def _about(case: Case, measurement: str) -> Row:
    names = ("size", "context", "batch", "precision")
    return {"measurement": measurement} | {name: getattr(case, name) for name in names}


def memory_before_mib(device: str) -> float:
    """Memory that a peak measured from now on holds already: see benchmark.peak_memory_mib."""
    if device == "cuda":
        return torch.cuda.memory_allocated() / MIB
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure_size(case: Case, warmup_steps: int, steps: int) -> list[Row]:
    """A row per phase, and one per component of the forward pass."""
    before = memory_before_mib(case.device)
    found: dict[str, dict[str, Any]] = {}
    try:
        workload = Workload(case)
    except torch.OutOfMemoryError as error:
        outcomes = all_skipped("the model itself did not fit", str(error).split(". ")[0])
    else:

        def run(phase: str) -> None:
            found[phase] = measure_phase(workload, phase, warmup_steps, steps)
            print(f"{case.case} {phase}: {min(found[phase]['samples_ns']) / 1e6:.3f} ms at best")

        outcomes = list(in_rising_order(workload, run))
    phases = [
        _about(case, "phase")
        | {"phase": outcome.phase, "status": outcome.status, "reason": outcome.reason}
        | (phase_row(case, outcome.phase, before, found.get(outcome.phase)))
        for outcome in outcomes
    ]
    if "forward" not in found:
        return phases
    workload.release()
    return phases + measure_components(workload, steps)


def phase_row(case: Case, phase: str, before_mib: float, found: Mapping[str, Any] | None) -> Row:
    """FLOPs and predicted peak of a phase, and what was found where it ran. Peaks in MiB.

    The measured peak leaves out what was held before the model was built.
    """
    row = {"flops": phase_flops(case, phase), "predicted_peak_mib": peak_bytes(case, phase) / MIB}
    if found is None:
        return row
    peak = found["peak_memory_mib"] - before_mib
    return row | spread(found["samples_ns"]) | {"peak_mib": peak, "memory_before_mib": before_mib}


def measure_components(workload: Workload, steps: int) -> list[Row]:
    """A row per component of flops.forward_work: its work and its device time, profiled."""
    case = workload.case
    times: dict[str, float] = {}
    outcome = attempt(lambda: times.update(component_ms(workload, steps)) or {}, workload.release)
    rows = []
    for component, flops, moved in forward_work(case).itertuples(index=False):
        row = _about(case, "component") | outcome
        row |= {"component": component, "flops": int(flops), "bytes": int(moved)}
        row["flops_per_byte"] = flops / moved
        if times.get(component):
            row |= {
                "busy_ms": times[component],
                "tflop_per_s": flops / times[component] / NS_PER_MS / 1e3,
            }
        rows.append(row)
    return rows


def component_ms(workload: Workload, steps: int) -> dict[str, float]:
    """Busy time (ms a step) of the forward pass by innermost range, from torch.profiler."""
    settling = partial(settle, workload, ["forward"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json.gz")
        with torch_window(workload.case.device, path, settling):
            run_steps(workload, ["forward"], steps)
        ranges, activities = attribute(kineto.read(path))
    inside = activities[activities["range"] != NOWHERE]
    names = ranges["name"].to_numpy()[inside["range"].to_numpy()]
    busy = inside.groupby(names)["duration_ns"].sum() / (steps * NS_PER_MS)
    return {str(name): float(ms) for name, ms in busy.items()}


def measure_ceilings(point: Point) -> list[Row]:
    """The rates of square matrix products in the point's precision, and that of a copy."""
    use_precision(point["precision"])
    dtype = AUTOCAST.get(point["precision"], torch.float32)
    rows = []
    for side in point["matmul_sides"]:
        time = partial(_matmul, point, side, dtype)
        rows.append(_ceiling(point, f"matmul {side}") | attempt(time, partial(free, "cpu")))
    time = partial(_copy, point)
    return [*rows, _ceiling(point, "copy") | attempt(time, partial(free, "cpu"))]


def _ceiling(point: Point, name: str) -> Row:
    return {"measurement": "ceiling", "precision": point["precision"], "ceiling": name}


def _time(point: Point, call: Any) -> Row:
    return spread(time_call(call, point["device"], point["warmup_steps"], point["ceiling_steps"]))


def _matmul(point: Point, side: int, dtype: torch.dtype) -> Row:
    a, b = (torch.randn(side, side, device=point["device"], dtype=dtype) for _ in range(2))
    times, flops = _time(point, lambda: a @ b), 2 * side**3
    return times | {"flops": flops, "tflop_per_s": flops / times["median_ms"] / NS_PER_MS / 1e3}


def _copy(point: Point) -> Row:
    source = torch.randn(point["copy_elements"], device=point["device"])
    target = torch.empty_like(source)
    times, moved = _time(point, lambda: target.copy_(source)), 8 * source.numel()
    return times | {"bytes": moved, "gb_per_s": moved / times["median_ms"] / NS_PER_MS}


def utilisation(row: Row, ceilings: list[Row]) -> Row:
    """MFU and HFU of a measured phase: its FLOPs (HFU: those recomputed too) over time x peak.

    After Chowdhery et al. 2022, "PaLM", appendix B; peak is the fastest matrix product measured.
    Nothing is recomputed in this model (no activation checkpointing).
    """
    peak = max((ceiling.get("tflop_per_s", 0.0) for ceiling in ceilings), default=0.0)
    if row["measurement"] != "phase" or not peak or "median_ms" not in row:
        return {}
    recomputed = 0
    possible = row["median_ms"] * NS_PER_MS * 1e3 * peak
    return {
        "recomputed_flops": recomputed,
        "mfu": row["flops"] / possible,
        "hfu": (row["flops"] + recomputed) / possible,
    }
