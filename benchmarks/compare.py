"""How often a comparison of two runs raises a false alarm, and how often it finds a slowdown.

Pairs of runs are drawn from the processes of one real benchmark: all processes measure the same
code, so that any difference found between the two runs of a pair is a false alarm (A/A). To find
slowdowns, all times of the second run are multiplied.

Warnings (of a busy machine) are left out, so that this is about the test alone. Only "with
warnings" gives each run those that the workflow would give it.

    python -m benchmarks.compare --measure 48 --benchmark aa.json    # measure, keep and evaluate
    python -m benchmarks.compare --benchmark aa.json --per-run 20    # evaluate again
"""

import argparse
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_src.common.atomic_write import write_json
from workflow_src.common.case import CASE_COLUMNS, Case
from workflow_src.compare.rows import Row
from workflow_src.compare.runs import Run, Samples, read_samples
from workflow_src.compare.times import FASTER, SAME, SLOWER, THRESHOLD, UNKNOWN, compared
from workflow_src.measure.processes import in_fresh_processes, merged
from workflow_src.tables.case_tables import warnings

CASE = Case(
    "tiny-ctx64-fp32", "tiny", 128, 512, 2, 4, 10000, 4, 64, "fp32", "naive", "adamw", "cpu"
)
PAIRS = 200
SLOWDOWNS = (0.03, 0.1, 0.3, 0.5, 0.6, 0.8, 1.0)
SPREADS = (0.005, 0.01, 0.015, 0.02, 0.03, 0.05)

Processes = dict[str, list[list[float]]]
"""The times (ms) of each process's steps, by phase."""

Pair = tuple[Processes, Processes]
WarnedPair = tuple[Processes, Processes, tuple[str, str]]


def measure(path: Path, processes: int) -> None:
    """Benchmark CASE on one thread in fresh processes, as the setting `processes` does."""
    row = CASE.as_dict() | {"warmup_steps": 5, "steps": 10, "processes": 1, "cpu_threads": 1}
    write_json(path, merged(in_fresh_processes("workflow_src.measure.benchmark", row, processes)))


def run_of(name: str, processes: Processes, warning: str = "") -> Run:
    """A run whose only benchmark has these processes."""
    front = {column: CASE.as_dict()[column] for column in CASE_COLUMNS}
    rows = [front | {"phase": phase, "status": "ok"} for phase in processes]
    samples = {
        phase: Samples(
            tuple(ms for group in groups for ms in group),
            tuple(number for number, group in enumerate(groups) for _ in group),
        )
        for phase, groups in processes.items()
    }
    tables = {
        "timings": pd.DataFrame(rows),
        "environments": pd.DataFrame([front | {"warning": warning}]),
    }
    return Run(name, tables, None, {CASE.case: samples})


def chosen(pool: Processes, numbers: np.ndarray) -> Processes:
    """Some processes of a pool."""
    return {phase: [groups[number] for number in numbers] for phase, groups in pool.items()}


def random_pairs(pool: Processes, per_run: int) -> Iterator[Pair]:
    """PAIRS of runs, each of `per_run` processes; no process is in both runs of a pair."""
    random = np.random.default_rng(0)
    total = len(next(iter(pool.values())))
    for _ in range(PAIRS):
        order = random.permutation(total)
        yield chosen(pool, order[:per_run]), chosen(pool, order[per_run : 2 * per_run])


def warned_pairs(pool: Processes, result: dict[str, Any], per_run: int) -> Iterator[WarnedPair]:
    """Successive pairs, each run with the warning that the workflow would give it."""
    for start, pair in enumerate(successive_pairs(pool, per_run)):
        parts = (result["processes"][i : i + per_run] for i in (start, start + per_run))
        said = [
            warnings(result | {"processes": part, "before": part[0]["before"]}) for part in parts
        ]
        yield *pair, (said[0], said[1])


def successive_pairs(pool: Processes, per_run: int) -> Iterator[Pair]:
    """All pairs of runs that were measured one after the other, wherever they begin."""
    total = len(next(iter(pool.values())))
    for start in range(total - 2 * per_run + 1):
        order = np.arange(start, start + 2 * per_run)
        yield chosen(pool, order[:per_run]), chosen(pool, order[per_run:])


def scaled(pool: Processes, factor: Callable[[int, int], float]) -> Processes:
    """The pool with each process's times multiplied by factor(phase's number, process's number)."""
    return {
        phase: [[ms * factor(p, n) for ms in group] for n, group in enumerate(groups)]
        for p, (phase, groups) in enumerate(pool.items())
    }


def slowed(pool: Processes, slowdown: float) -> Processes:
    """The pool with all times longer by a share."""
    return scaled(pool, lambda _phase, _number: 1 + slowdown)


def steadied(pool: Processes, spread: float) -> Processes:
    """The pool as it would be if the coefficient of variation between processes were `spread`.

    Each process's deviation from the median process shrinks in proportion (of logarithms).
    """
    logs = [np.log([np.median(group) for group in groups]) for groups in pool.values()]
    deviations = [values - np.median(values) for values in logs]
    now = [float(np.std(values, ddof=1)) for values in deviations]

    def factor(phase: int, number: int) -> float:
        return float(np.exp(deviations[phase][number] * (spread / now[phase] - 1)))

    return scaled(pool, factor)


@dataclass(frozen=True)
class Outcome:
    """How many of the pairs, and of their phases, had each verdict."""

    pairs: int = 0
    alarmed: int = 0
    phases: int = 0
    slower: int = 0
    faster: int = 0
    same: int = 0
    unknown: int = 0

    def counting(self, rows: list[Row]) -> "Outcome":
        """With one more pair."""
        verdicts = [row["verdict"] for row in rows]
        return replace(
            self,
            pairs=self.pairs + 1,
            alarmed=self.alarmed + bool({SLOWER, FASTER} & set(verdicts)),
            phases=self.phases + len(rows),
            slower=self.slower + verdicts.count(SLOWER),
            faster=self.faster + verdicts.count(FASTER),
            same=self.same + verdicts.count(SAME),
            unknown=self.unknown + verdicts.count(UNKNOWN),
        )

    def __str__(self) -> str:
        """The counts in words."""
        found = f"a difference in {self.alarmed} of {self.pairs} pairs"
        shares = {"slower": self.slower, "faster": self.faster, "same": self.same}
        told = ", ".join(f"{n / self.phases:.1%} {word}" for word, n in shares.items())
        return (
            f"{found}; of {self.phases} phases {told}, {self.unknown / self.phases:.1%} can't tell"
        )


def outcome(pairs: Iterable[Pair | WarnedPair], slowdown: float = 0.0) -> Outcome:
    """The verdicts on pairs of runs, the second of which is slowed down."""
    found = Outcome()
    case = {column: CASE.as_dict()[column] for column in CASE_COLUMNS}
    for before, after, *said in pairs:
        warned = said[0] if said else ("", "")
        runs = run_of("A", before, warned[0]), run_of("B", slowed(after, slowdown), warned[1])
        found = found.counting(compared(*runs, [case], THRESHOLD))
    return found


def describe(pool: Processes) -> None:
    """Print how much the processes differ."""
    for phase, groups in pool.items():
        medians = np.array([np.median(group) for group in groups])
        low, middle, high = np.percentile(medians, [0, 50, 100])
        cv = medians.std(ddof=1) / medians.mean()
        print(f"{phase}: medians of {len(medians)} processes {low:.1f} to {high:.1f} ms, "
              f"median {middle:.1f}, coefficient of variation {cv:.1%}")  # fmt: skip


def evaluate(pool: Processes, result: dict[str, Any], per_run: int) -> None:
    """Print false alarms and slowdowns found, as measured and with less spread."""
    print(f"{per_run} processes in each run, {PAIRS} pairs")
    print("A/A, random:", outcome(random_pairs(pool, per_run)))
    print("A/A, successive:", outcome(successive_pairs(pool, per_run)))
    print("A/A, successive, with warnings:", outcome(warned_pairs(pool, result, per_run)))
    for slowdown in SLOWDOWNS:
        print(f"slower by {slowdown:.0%}:", outcome(random_pairs(pool, per_run), slowdown))
    for spread in SPREADS:
        steady = steadied(pool, spread)
        print(f"spread scaled to {spread:.1%}")
        print("  A/A, random:", outcome(random_pairs(steady, per_run)))
        print("  slower by 3%:", outcome(random_pairs(steady, per_run), 0.03))


def main() -> None:
    """Measure if asked, then evaluate."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--benchmark", type=Path, required=True, help="JSON with many processes")
    parser.add_argument("--measure", type=int, metavar="PROCESSES", help="measure it first")
    parser.add_argument("--per-run", type=int, nargs="*", default=[10, 20])
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.benchmark, arguments.measure)
    pool = {phase: s.by_process for phase, s in read_samples(arguments.benchmark).items()}
    result = json.loads(arguments.benchmark.read_text(encoding="utf-8"))
    describe(pool)
    for per_run in arguments.per_run:
        evaluate(pool, result, per_run)


if __name__ == "__main__":
    main()
