"""Reads what two runs published: their tables, and the raw samples that lie beside them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_src.common.case import CASE_COLUMNS, PHASES
from workflow_src.common.errors import StageError, remake
from workflow_src.common.reading import reading
from workflow_src.common.units import NS_PER_MS
from workflow_src.paper.run import Run

NEEDED = ("timings", "ranges", "kernels")
PLACE = ["case", "phase"]

Processes = Sequence[Sequence[float]]
"""Raw times (ms) of the steps of one phase, by the process that took them."""

SAMPLES = ("ms", "least", "most", "processes", "samples")
"""Columns of a phase's times: the median, the fastest and the slowest process, how many there are,
and what is ranked: the processes' medians, or the steps of the only one."""


@dataclass(frozen=True)
class Measured:
    """A run: its name, its tables and its plan, and what its benchmarks' raw samples say.

    plain, replays: a row per case and phase whose benchmark lies beside the tables; see SAMPLES.
    """

    name: str
    tables: Run
    plain: pd.DataFrame
    replays: pd.DataFrame

    @property
    def cases(self) -> pd.DataFrame:
        """A row per case, indexed by it, with the columns that tell cases apart."""
        every = pd.concat([self.tables[name] for name in ("timings", "captures")])
        found = every.drop_duplicates("case").set_index("case", drop=False)[[*CASE_COLUMNS]]
        return found.rename_axis(None)

    @property
    def on_gpu(self) -> pd.Index:
        """The cases that were timed on a GPU."""
        rows = self.tables["timings"]
        found: pd.Index = pd.Index(rows.loc[rows["device"] != "cpu", "case"].unique())
        return found


def read_run(folder: Path) -> Measured:
    """The run in `folder`. Raises StageError if it holds no tables, or one is damaged or cut."""
    tables = folder / "tables"
    if not (tables / "timings.csv").exists():
        raise StageError(
            f"{folder} has no tables/timings.csv; give a run's folder, such as results/quickstart"
        )
    run = Run([*tables.glob("*.csv"), folder / "plan.csv"])
    for name in NEEDED:
        if name not in run.files:
            raise StageError(f"{tables}/{name}.csv does not exist; {remake(tables)}")
    _require_all_time(run)
    read = {path.stem: read_samples(path) for path in sorted(folder.glob("benchmark/*.json"))}
    plain, replays = ({case: both[n] for case, both in read.items()} for n in (0, 1))
    return Measured(str(folder), run, timed(plain), timed(replays))


def _require_all_time(run: Run) -> None:
    """Raise StageError if kernels don't add up to the device time of captures.csv."""
    total = run["captures"].set_index("case")["total_ns"]
    found = run["kernels"].groupby("case")["busy_ns"].sum().reindex(total.index, fill_value=0.0)
    for case in total.index[total != found][:1]:
        path = run.files["kernels"]
        raise StageError(
            f"{path}: kernels of {case} take {found[case]:.0f} ns, and its capture in "
            f"captures.csv {total[case]:.0f}; {remake(path)}"
        )


def timed(samples: Mapping[str, Mapping[str, Processes]]) -> pd.DataFrame:
    """A row of SAMPLES per case and phase."""
    rows, keys = [], []
    for case, phases in samples.items():
        for phase, groups in phases.items():
            medians = [float(np.median(group)) for group in groups]
            ranked = tuple(medians if len(groups) > 1 else groups[0])
            ends = float(np.median(medians)), min(medians), max(medians)
            rows.append((*ends, len(groups), ranked))
            keys.append((case, phase))
    index = pd.MultiIndex.from_tuples(keys, names=PLACE) if keys else None
    return pd.DataFrame(rows, index, [*SAMPLES]).astype({"samples": object})


def read_samples(path: Path) -> tuple[dict[str, Processes], dict[str, Processes]]:
    """The raw samples in a benchmark's JSON: of each phase, and of each phase's replay."""
    with reading(path, "a benchmark's result", remake(path), StageError):
        phases = json.loads(path.read_text(encoding="utf-8"))["phases"]
        if unknown := phases.keys() - set(PHASES):
            raise ValueError(f"{sorted(unknown)[0]!r} is not a phase")
        replays = {phase: row["replay"] for phase, row in phases.items() if "replay" in row}
        plain, again = (
            {name: _by_process(row) for name, row in rows.items() if row["status"] == "ok"}
            for rows in (phases, replays)
        )
        return plain, again


def _by_process(row: Mapping[str, Any]) -> Processes:
    ms = np.asarray(row["samples_ns"], dtype=np.float64) / NS_PER_MS
    if not len(ms) or ms.ndim != 1 or not (np.isfinite(ms) & (ms > 0)).all():
        raise ValueError("samples_ns must be a list of times above 0")
    process = np.asarray(row.get("process", [0] * len(ms)), dtype=np.int64)
    if len(process) != len(ms):
        raise ValueError(f"{len(process)} processes for {len(ms)} samples")
    return tuple(tuple(ms[process == each].tolist()) for each in pd.unique(process))
