"""Measures remedies beside the plain model in one process, after what their prediction needs.

Of each case it first times and profiles the plain model as the study levers does, and writes that
to FOLDER/plain/CASE.json: predictions are made from this file alone. Then come the remedies, in
blocks of steps that alternate with blocks of the plain model, and a row of FOLDER/measured.csv for
each of both. All files are complete after each measurement, so that the program may be stopped.
It needs torch, numpy and pandas.
"""

import argparse
import csv
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from pathlib import Path

import numpy as np
import torch

from benchmarks import stand_ins  # noqa: F401
from workflow_src.common.units import MIB
from workflow_src.measure.cuda_graph import NotCapturableError
from workflow_src.measure.memory import peak_memory_mib, reset_peak
from workflow_src.measure.oom import free, out_of_memory
from workflow_src.measure.precision import use_precision
from workflow_src.measure.timing import Call, time_steps
from workflow_src.studies.levers.ceilings import ceilings
from workflow_src.studies.levers.measure import measure_phases
from workflow_src.studies.levers.points import Variant, parts_of, with_remedy
from workflow_src.studies.levers.trial import Trial, case_at, needs
from workflow_src.studies.study import Point, Row

CASES = (
    *("small-ctx128-fp32", "small-ctx512-bf16", "medium-ctx512-bf16"),
    *("large-ctx256-bf16", "large-ctx512-fp32", "2.7B-ctx512-bf16"),
)
"""From cheap to dear."""

REMEDIES = (
    *("sdpa", "fused", "graph", "bf16", "bf16+graph", "bf16+sdpa+fused"),
    *("bf16+sdpa+fused+graph", "compile"),
)
"""What is tried; bf16 is left out where the case is in it. What compiles takes longest: it is last.
"""

PLAN = Path(__file__).parents[1] / "examples/h200/plan.csv"
SIZE_COLUMNS = ("d_model", "d_ff", "layers", "heads")
TINY = {"d_model": 64, "d_ff": 256, "layers": 2, "heads": 4}

PHASES = ("train_step", "forward")
COLUMNS = (
    *("case", "remedies", "beside", "phase", "status", "reason"),
    *("median_ms", "p20_ms", "p80_ms", "blocks", "steps", "block_medians_ms"),
)

BLOCKS = 3
"""Blocks of each of two models, in turn."""

BLOCK_S, FEWEST, MOST = 0.4, 3, 12
"""About so long is a block, and so many steps has it."""

BOTH_FIT = 0.45
"""Two models stay in a device's memory if the plain one's peak is at most this share of it."""


@dataclass
class Budget:
    """Until when measurements may begin (seconds of time.monotonic)."""

    end: float

    @property
    def spent(self) -> bool:
        """Whether nothing more may begin."""
        return time.monotonic() > self.end


def sizes() -> dict[str, dict[str, int]]:
    """The sizes of the published run, and one for a CPU."""
    with PLAN.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {row["size"]: {key: int(row[key]) for key in SIZE_COLUMNS} for row in rows} | {
        "tiny": TINY
    }


def point_of(case: str, device: str) -> Point:
    """A point of the study levers, of one process."""
    size, context, precision = parts_of(case)
    return {
        "point": f"{case}.plain", "case": case, "size": size, "context": context,
        "precision": precision, "batch": 4, "vocabulary": 10_000, "sizes": {size: sizes()[size]},
        "device": device, "warmup_steps": 4, "steps": 20 if device == "cuda" else 3,
        "processes": 1, "other_processes": 1, "ceiling_steps": 10,
        "copy_elements": 2**28 if device == "cuda" else 2**20,
        "variant": asdict(Variant()) | {"remedies": []},
    }  # fmt: skip


def write_json(path: Path, value: object) -> None:
    """Write a file that is whole or isn't there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(json.dumps(value), encoding="utf-8")
    new.replace(path)


def append(path: Path, row: Row) -> None:
    """Add a row to a CSV, with its header if it is the first."""
    is_new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="")
        if is_new:
            writer.writeheader()
        writer.writerow(row)
        file.flush()
    print(", ".join(str(row.get(name, "")) for name in COLUMNS[:8]), flush=True)


def told(point: Point, rows: Sequence[Row]) -> Row:
    """What a study's point tells: its rows, and the machine."""
    gpu = torch.cuda.get_device_name() if point["device"] == "cuda" else ""
    return {
        "point": point,
        "environment": {"gpu": gpu, "torch": torch.__version__},
        "rows": list(rows),
    }


def measure_plain(point: Point, folder: Path) -> float:
    """Time and profile the plain model's phases, measure ceilings, and write it; its peak (MiB)."""
    trial = Trial(case_at(point), Variant.of(point))
    rows = measure_phases(trial, point, profiled=True)
    peak = peak_memory_mib(point["device"])
    path = folder / "plain" / f"{point['case']}.json"
    case = trial.workload.case
    trial.workload.release()
    del trial
    free(point["device"])
    for row in ceilings(case, point):  # type: ignore[arg-type]
        rows.append(row)
    write_json(path, told(point, rows))
    return peak


Maker = Callable[[], Trial]


def block(trial: Trial, call: Call, steps: int) -> list[int]:
    """Nanoseconds of so many steps, after one that doesn't count."""
    use_precision(trial.workload.case.precision)
    call()
    return time_steps(call, trial.workload.synchronize, steps)


def steps_for(trial: Trial, call: Call) -> int:
    """How many steps make a block of about BLOCK_S."""
    use_precision(trial.workload.case.precision)
    call()
    took = min(time_steps(call, trial.workload.synchronize, 2)) / 1e9
    return int(min(MOST, max(FEWEST, BLOCK_S / took)))


def made(maker: Maker, phase: str) -> tuple[Trial, Call, int]:
    """A model, what runs a step of it, and how many of these make a block."""
    trial = maker()
    call = trial.call(phase)
    return trial, call, steps_for(trial, call)


def alternate(makers: Sequence[Maker], phase: str, stay: bool) -> list[list[list[int]]]:
    """Of each model, the samples (ns) of its BLOCKS blocks, which take turns.

    Unless both stay, each is built anew for each of its blocks.
    """
    kept: dict[int, tuple[Trial, Call, int]] = {}
    samples: list[list[list[int]]] = [[] for _ in makers]
    for turn in range(BLOCKS * len(makers)):
        which = turn % len(makers)
        if which not in kept:
            if not stay:
                kept.clear()
                free("cuda" if torch.cuda.is_available() else "cpu")
            kept[which] = made(makers[which], phase)
        samples[which].append(block(*kept[which]))
    return samples


def row_of(samples: Sequence[Sequence[int]]) -> Row:
    """The median and the spread of all steps (ms), and each block's median."""
    every = np.concatenate(samples) / 1e6
    low, middle, high = np.percentile(every, (20, 50, 80))
    medians = " ".join(f"{np.median(each) / 1e6:.4f}" for each in samples)
    return {
        "status": "ok", "median_ms": middle, "p20_ms": low, "p80_ms": high,
        "blocks": len(samples), "steps": len(every), "block_medians_ms": medians,
    }  # fmt: skip


def maker(point: Point, variant: Variant) -> Maker:
    """What builds a variant of a point's case."""
    at = dict(point) | {"variant": asdict(variant) | {"remedies": list(variant.remedies)}}
    return lambda: Trial(case_at(at), variant)


def measure_variant(point: Point, remedies: str, stay: bool, path: Path) -> None:
    """Measure remedies beside the plain model in each phase, and append two rows for each."""
    variant = reduce(with_remedy, remedies.split("+"), Variant())
    makers = [maker(point, each) for each in (Variant(), variant)]
    about: Row = {"case": point["case"], "beside": remedies}
    for phase in PHASES:
        try:
            both = alternate(makers, phase, stay)
        except (RuntimeError, NotCapturableError) as error:
            why = out_of_memory(error) or f"{type(error).__name__}: {' '.join(str(error).split())}"
            failed = about | {"remedies": remedies, "phase": phase, "status": "not_measured"}
            append(path, failed | {"reason": why[:200]})
            continue
        finally:
            free(point["device"])
        for name, samples in zip(("plain", remedies), both, strict=True):
            named: Row = about | {"remedies": name, "phase": phase}
            append(path, named | row_of(samples))


def tried(point: Point, chosen: Sequence[str]) -> list[str]:
    """Those of the chosen remedies that change a case and that its device can run."""
    case = case_at(point)
    found = []
    for remedies in chosen:
        given = [each for each in remedies.split("+") if each != case.precision]
        if not given:
            continue
        variant = reduce(with_remedy, given, Variant())
        if not needs(case, variant) and "+".join(given) not in found:
            found.append("+".join(given))
    return found


def run(
    cases: Sequence[str], device: str, folder: Path, budget: Budget, chosen: Sequence[str]
) -> None:
    """All plain models and cheap remedies, case by case; then what compiles."""
    path = folder / "measured.csv"
    folder.mkdir(parents=True, exist_ok=True)
    total = torch.cuda.get_device_properties(0).total_memory / MIB if device == "cuda" else 1e9
    later: list[tuple[Point, str]] = []
    for case in cases:
        if budget.spent:
            break
        point = point_of(case, device)
        reset_peak(device)
        try:
            stay = measure_plain(point, folder) < BOTH_FIT * total
        except RuntimeError as error:
            print(f"{case}: {' '.join(str(error).split())[:200]}", flush=True)
            free(device)
            continue
        for remedies in tried(point, chosen):
            if "compile" in remedies:
                later.append((point, remedies))
            elif not budget.spent:
                measure_variant(point, remedies, stay, path)
    for point, remedies in later:
        if not budget.spent:
            measure_variant(point, remedies, True, path)
    print("ended within its time" if not budget.spent else "stopped: its time was over")


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=list(CASES))
    parser.add_argument("--output", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--seconds", type=float, default=330, help="after these nothing begins")
    parser.add_argument("--remedies", nargs="+", default=REMEDIES, help="joined by +, in order")
    given = parser.parse_args()
    budget = Budget(time.monotonic() + given.seconds)
    run(given.cases, given.device, given.output, budget, given.remedies)


if __name__ == "__main__":
    main()
