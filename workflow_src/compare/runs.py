"""Reads what two runs published: their tables, and the raw samples that lie beside them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_src.answers.tables import Tables, read_table
from workflow_src.common.case import PHASES
from workflow_src.common.errors import StageError, remake
from workflow_src.common.reading import reading
from workflow_src.common.units import NS_PER_MS

NEEDED = ("timings", "ranges", "kernels")
OPTIONAL = ("environments", "ledger", "captures")


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


Phases = Mapping[str, Samples]
"""Samples by phase."""


@dataclass(frozen=True)
class Run:
    """One run: its name, its tables, its plan if it has one, and its benchmarks' raw samples.

    `samples` and `replays` have the cases whose benchmarks lie beside the tables.
    """

    name: str
    tables: Tables
    plan: pd.DataFrame | None = None
    samples: Mapping[str, Phases] = field(default_factory=dict)
    replays: Mapping[str, Phases] = field(default_factory=dict)


def read_run(folder: Path) -> Run:
    """The run in `folder`. Raises StageError if it holds no tables, or one is damaged or cut."""
    tables = folder / "tables"
    if not (tables / "timings.csv").exists():
        raise StageError(
            f"{folder} has no tables/timings.csv; give a run's folder, such as results/quickstart"
        )
    plan, found = folder / "plan.csv", Tables.read(tables, NEEDED, OPTIONAL)
    _require_all_time(found, tables / "kernels.csv")
    read = {path.stem: read_samples(path) for path in sorted(folder.glob("benchmark/*.json"))}
    return Run(
        str(folder),
        found,
        read_table(plan, "plan") if plan.exists() else None,
        {case: plain for case, (plain, _) in read.items()},
        {case: replays for case, (_, replays) in read.items()},
    )


def _require_all_time(tables: Tables, path: Path) -> None:
    """Raise StageError if the kernels in `path` don't add up to the device time of captures.csv."""
    ours = tables["kernels"].groupby("case")["busy_ns"].sum()
    for case, ns in tables["captures"].set_index("case")["total_ns"].items():
        if ours.get(case, 0) != ns:
            raise StageError(
                f"{path}: kernels of {case} take {ours.get(case, 0):.0f} ns, and its capture in "
                f"captures.csv {ns:.0f}; {remake(path)}"
            )


def read_samples(path: Path) -> tuple[Phases, Phases]:
    """The raw samples in a benchmark's JSON: of each phase, and of each phase's replay."""
    with reading(path, "a benchmark's result", remake(path), StageError):
        phases = json.loads(path.read_text(encoding="utf-8"))["phases"]
        if unknown := phases.keys() - set(PHASES):
            raise ValueError(f"{sorted(unknown)[0]!r} is not a phase")
        replays = {phase: row["replay"] for phase, row in phases.items() if "replay" in row}
        return _samples(phases), _samples(replays)


def _samples(phases: Mapping[str, Mapping[str, object]]) -> Phases:
    return {name: _samples_of(row) for name, row in phases.items() if row["status"] == "ok"}


def _samples_of(row: Mapping[str, object]) -> Samples:
    ms = np.asarray(row["samples_ns"], dtype=np.float64) / NS_PER_MS
    if not len(ms) or ms.ndim != 1 or not (np.isfinite(ms) & (ms > 0)).all():
        raise ValueError("samples_ns must be a list of times above 0")
    process = np.asarray(row.get("process", [0] * len(ms)), dtype=np.int64)
    if len(process) != len(ms):
        raise ValueError(f"{len(process)} processes for {len(ms)} samples")
    return Samples(tuple(ms.tolist()), tuple(process.tolist()))


def status_of(run: Run, case: str, phase: str) -> str:
    """The status of a phase in timings.csv; "" if it has no row."""
    rows = run.tables.of("timings", case, phase)
    return "" if rows.empty else str(rows["status"].iloc[0])
