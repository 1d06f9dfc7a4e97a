"""Reads what a run published: its tables, and the raw samples beside them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_src.common.case import CASE_COLUMNS
from workflow_src.common.errors import StageError, remake
from workflow_src.common.reading import reading
from workflow_src.common.units import NS_PER_MS
from workflow_src.paper.run import Run

PLACE = ["case", "phase"]

SAMPLES = ("ms", "least", "most", "processes", "samples")
"""Columns of a phase's times: the median, the fastest and the slowest process, the number of these,
and what is ranked: the processes' medians, or the steps of the only one."""


@dataclass(frozen=True)
class Measured:
    """A run. plain, replays: by case and phase SAMPLES of benchmarks that lie beside the tables."""

    name: str
    tables: Run
    plain: pd.DataFrame
    replays: pd.DataFrame

    @property
    def cases(self) -> pd.DataFrame:
        """By case the columns that tell cases apart."""
        every = pd.concat([self.tables[name] for name in ("timings", "captures")])
        found = every.drop_duplicates("case").set_index("case", drop=False)[[*CASE_COLUMNS]]
        return found.rename_axis(None)

    @property
    def on_gpu(self) -> pd.Index:
        """Cases timed on a GPU."""
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
    for name in ("timings", "ranges", "kernels"):
        if name not in run.files:
            raise StageError(f"{tables}/{name}.csv does not exist; {remake(tables)}")
    _require_all_time(run)
    return Measured(str(folder), run, *read_samples(sorted(folder.glob("benchmark/*.json"))))


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


def read_samples(paths: Iterable[Path]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """SAMPLES by case and phase of some benchmarks: of each phase, and of its replay."""
    found: tuple[list[Sequence[object]], ...] = ([], [])
    for path in paths:
        with reading(path, "a benchmark's result", remake(path), StageError):
            phases = json.loads(path.read_text(encoding="utf-8"))["phases"]
            for phase, row in phases.items():
                for rows, timed in zip(found, (row, row.get("replay")), strict=True):
                    if timed and timed["status"] == "ok":
                        rows.append((path.stem, phase, *_samples(timed)))
    plain, replays = (
        pd.DataFrame(rows, columns=[*PLACE, *SAMPLES]).set_index(PLACE).astype({"samples": object})
        for rows in found
    )
    return plain, replays


def _samples(row: Mapping[str, Any]) -> Sequence[object]:
    ms = pd.Series(row["samples_ns"], dtype=float) / NS_PER_MS
    medians = ms.groupby(row.get("process", [0] * len(ms)), sort=False).median()
    ranked = tuple(medians if len(medians) > 1 else ms)
    return medians.median(), medians.min(), medians.max(), len(medians), ranked
