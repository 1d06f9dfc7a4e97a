"""Reads what two runs published: their tables, and the raw samples that lie beside them."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_src.answers.tables import read_table
from workflow_src.common.case import PHASES
from workflow_src.common.errors import StageError, remake
from workflow_src.common.reading import reading
from workflow_src.common.units import NS_PER_MS
from workflow_src.compare.rows import Row, of
from workflow_src.render.markdown import records

NEEDED = ("timings", "ranges", "kernels", "environments")


@dataclass(frozen=True)
class Run:
    """One run: its name, its tables by name, its plan, and the raw samples of its benchmarks.

    `ledger` is missing from older runs' tables, `plan` is None where there is no plan.csv, and
    `samples` has the cases whose benchmarks lie beside the tables.
    """

    name: str
    tables: dict[str, pd.DataFrame]
    plan: pd.DataFrame | None
    samples: dict[str, dict[str, "Samples"]]


@dataclass(frozen=True)
class Samples:
    """Raw times (ms) of the steps of one phase, and the process that took each."""

    steps_ms: tuple[float, ...]
    process: tuple[int, ...]

    @property
    def by_process(self) -> list[list[float]]:
        """The times of each process."""
        found: dict[int, list[float]] = {}
        for ms, process in zip(self.steps_ms, self.process, strict=True):
            found.setdefault(process, []).append(ms)
        return list(found.values())


@dataclass(frozen=True)
class Timed:
    """The unprofiled time of one phase in one run.

    `medians_ms` are those of its processes, or the steps of its only process; empty where only
    tables are published. `fastest_ms` and `slowest_ms` are the extremes of the processes' medians.
    """

    median_ms: float
    processes: int
    fastest_ms: float
    slowest_ms: float
    medians_ms: tuple[float, ...] = ()


def read_run(folder: Path) -> Run:
    """The run in `folder`. Raises StageError if it holds no tables or one is damaged."""
    tables = folder / "tables"
    if not (tables / "timings.csv").exists():
        raise StageError(
            f"{folder} has no tables/timings.csv; give a run's folder, such as results/quickstart"
        )
    names = [*NEEDED, *(["ledger"] if (tables / "ledger.csv").exists() else [])]
    found = {name: read_table(tables / f"{name}.csv", name) for name in names}
    plan = folder / "plan.csv"
    samples = {path.stem: read_samples(path) for path in sorted(folder.glob("benchmark/*.json"))}
    return Run(str(folder), found, read_table(plan, "plan") if plan.exists() else None, samples)


def read_samples(path: Path) -> dict[str, Samples]:
    """The raw samples of each phase in a benchmark's JSON that has any."""
    with reading(path, "a benchmark's result", remake(path), StageError):
        phases = json.loads(path.read_text(encoding="utf-8"))["phases"]
        found = {phase: _samples(row) for phase, row in phases.items() if row["status"] == "ok"}
        unknown = found.keys() - set(PHASES)
        if unknown:
            raise ValueError(f"{sorted(unknown)[0]!r} is not a phase")
        return found


def _samples(row: dict[str, Any]) -> Samples:
    ms = np.asarray(row["samples_ns"], dtype=np.float64) / NS_PER_MS
    process = row.get("process", [0] * len(ms))
    if not len(ms) or ms.ndim != 1 or not (np.isfinite(ms) & (ms > 0)).all():
        raise ValueError("samples_ns must be a list of times above 0")
    if len(process) != len(ms):
        raise ValueError(f"{len(process)} processes for {len(ms)} samples")
    return Samples(tuple(ms.tolist()), tuple(int(number) for number in process))


def status_of(run: Run, case: str, phase: str) -> str:
    """The status of a phase in timings.csv; "" if it has no row."""
    rows = of(run.tables["timings"], case, phase)
    return "" if rows.empty else str(rows["status"].iloc[0])


def timed(run: Run, case: str, phase: str) -> Timed | None:
    """The unprofiled time of a phase; None where it has none."""
    if status_of(run, case, phase) != "ok":
        return None
    raw = run.samples.get(case, {}).get(phase)
    if raw is None:
        return _from_table(records(of(run.tables["timings"], case, phase))[0])
    groups = raw.by_process
    medians = [float(np.median(group)) for group in groups]
    several = len(groups) > 1
    samples = medians if several else groups[0]
    return Timed(float(np.median(samples)), len(groups), min(medians), max(medians), tuple(samples))


def _from_table(row: Row) -> Timed | None:
    """From a row of timings.csv. Older tables lack `processes`: all were measured in one."""
    median = float(row["median_ms"])
    if not median > 0:
        return None
    processes = row.get("processes", 1)
    count = 1 if math.isnan(float(processes)) else int(processes)
    fastest, slowest = (float(row.get(name, math.nan)) for name in ("fastest_ms", "slowest_ms"))
    return Timed(median, count, fastest, slowest)
