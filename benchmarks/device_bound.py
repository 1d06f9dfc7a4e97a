"""Whether `make compare` finds small slowdowns of work that keeps a GPU busy.

The processes are those of points of the study levers in which the device works nearly all the time,
such as replays of a CUDA graph. Each point measures something else, so that its times are taken
relative to the mean of its processes; as the mean is their own, deviations from it are too small by
((n - 1) / n) ** 0.5 in n processes, and are enlarged by as much. Pairs of runs are then drawn from
all of them, and the second of each pair is slowed down, as in `benchmarks.compare`.

    python -m benchmarks.device_bound examples/h200/studies/levers/*.json
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.compare import Processes, describe, outcome, random_pairs
from workflow_src.common.case import PHASES
from workflow_src.common.units import NS_PER_MS
from workflow_src.studies.levers.spread import by_process
from workflow_src.studies.rows import busy_ns
from workflow_src.studies.study import Row

BUSY = 0.9
"""The device works for at least this share of each phase."""

SLOWDOWNS = (0.01, 0.02, 0.03)


def times(row: Row, first: int) -> list[list[float]]:
    """The times (ms) of each process of a phase, from number `first` on."""
    groups = by_process(row).items()
    return [[ns / NS_PER_MS for ns in group] for number, group in groups if number >= first]


def device_bound(path: Path) -> Processes:
    """The processes of a point by phase; empty unless it has several, and is device-bound.

    Without the first one where it kept a profiler attached, which slows launches in it alone.
    """
    result = json.loads(path.read_text(encoding="utf-8"))
    rows, first = result["rows"], 0 if result.get("profiler_detaches") else 1
    phases = [row for row in rows if row["measurement"] == "phase" and row["status"] == "ok"]
    known = {row["phase"]: row for row in phases if row.get("process") and row.get("activities")}
    for row in known.values():
        if busy_ns(row["activities"]) < BUSY * np.median(row["samples_ns"]):
            return {}
    return {phase: times(known[phase], first) for phase in PHASES} if len(known) == 3 else {}


def relative(groups: Sequence[Sequence[float]]) -> Iterator[list[float]]:
    """Each process's times as shares of the mean process, with deviations of a sample's size."""
    medians = np.array([np.median(group) for group in groups])
    deviations = medians / medians.mean() - 1
    grown = 1 + deviations * (len(groups) / (len(groups) - 1)) ** 0.5
    for group, median, target in zip(groups, medians, grown, strict=True):
        yield [float(ms / median * target) for ms in group]


def main() -> None:
    """Pool the device-bound processes, and print false alarms and slowdowns found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("points", type=Path, nargs="+", help="points of the study levers")
    parser.add_argument("--per-run", type=int, nargs="*", default=[6, 8])
    given = parser.parse_args()
    found = {path: processes for path in given.points if (processes := device_bound(path))}
    print("device-bound:", ", ".join(path.stem for path in found))
    pool = {p: [g for each in found.values() for g in relative(each[p])] for p in PHASES}
    describe(pool)
    for per_run in given.per_run:
        print(f"{per_run} processes in each run")
        print("A/A:", outcome(random_pairs(pool, per_run)))
        for slowdown in SLOWDOWNS:
            print(f"slower by {slowdown:.0%}:", outcome(random_pairs(pool, per_run), slowdown))


if __name__ == "__main__":
    main()
