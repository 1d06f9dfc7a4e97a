"""How often a comparison of two runs raises a false alarm, and how often it finds a slowdown.

Pairs of runs are drawn from the processes of one real benchmark: all processes measure the same
code, so that any difference found between the two runs of a pair is a false alarm (A/A). To find
slowdowns, all times of the second run are multiplied.

This is about the test of plain times alone: warnings, device time and replays are left out.

    python -m benchmarks.compare --measure 48 --benchmark aa.json    # measure, keep and evaluate
    python -m benchmarks.compare --benchmark aa.json --per-run 20    # evaluate again
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_src.common.atomic_write import write_json
from workflow_src.common.case import Case
from workflow_src.compare.change import PLAIN_BEYOND, Verdict
from workflow_src.compare.plain import judged
from workflow_src.compare.runs import read_samples, timed
from workflow_src.measure.processes import in_fresh_processes, merged

CASE = Case(
    "tiny-ctx64-fp32", "tiny", 128, 512, 2, 4, 10000, 4, 64, "fp32", "naive", "adamw", "cpu"
)
PAIRS = 200
SLOWDOWNS = (0.03, 0.1, 0.3, 0.5, 0.6, 0.8, 1.0)
SPREADS = (0.005, 0.01, 0.015, 0.02, 0.03, 0.05)

Processes = Mapping[str, Sequence[Sequence[float]]]
"""The times (ms) of each process's steps, by phase."""

Runs = tuple[Processes, Processes]


def measure(path: Path, processes: int) -> None:
    """Benchmark CASE on one thread in fresh processes, as the setting `processes` does."""
    row = CASE.as_dict() | {"warmup_steps": 5, "steps": 10, "processes": 1, "cpu_threads": 1}
    write_json(path, merged(in_fresh_processes("workflow_src.measure.benchmark", row, processes)))


def compared(before: Processes, after: Processes) -> list[Verdict]:
    """The verdicts on the plain times of two runs."""
    runs = [
        timed({CASE.case: run}).add_prefix(f"{n}_")
        for n, run in zip("ab", (before, after), strict=True)
    ]
    pairs = pd.concat(runs, axis=1).assign(trusted=False, doubt="")
    return [Verdict(verdict) for verdict in judged(pairs, PLAIN_BEYOND)["verdict"]]


def chosen(pool: Processes, numbers: np.ndarray) -> Processes:
    """Some processes of a pool."""
    return {phase: [groups[number] for number in numbers] for phase, groups in pool.items()}


def random_pairs(pool: Processes, per_run: int) -> Iterator[Runs]:
    """PAIRS of runs, each of `per_run` processes; no process is in both runs of a pair."""
    random = np.random.default_rng(0)
    total = len(next(iter(pool.values())))
    for _ in range(PAIRS):
        order = random.permutation(total)
        yield chosen(pool, order[:per_run]), chosen(pool, order[per_run : 2 * per_run])


def successive_pairs(pool: Processes, per_run: int) -> Iterator[Runs]:
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


def outcome(pairs: Iterable[Runs], slowdown: float = 0.0) -> str:
    """The verdicts on pairs of runs, the second of which is slowed down, in words."""
    found = [compared(before, slowed(after, slowdown)) for before, after in pairs]
    alarmed = sum(bool({Verdict.SLOWER, Verdict.FASTER} & set(each)) for each in found)
    counts = Counter(verdict for each in found for verdict in each)
    phases = counts.total()
    told = ", ".join(f"{counts[verdict] / phases:.1%} {verdict}" for verdict in Verdict)
    return f"a difference in {alarmed} of {len(found)} pairs; of {phases} phases {told}"


def describe(pool: Processes) -> None:
    """Print how much the processes differ."""
    for phase, groups in pool.items():
        medians = np.array([np.median(group) for group in groups])
        low, middle, high = np.percentile(medians, [0, 50, 100])
        cv = medians.std(ddof=1) / medians.mean()
        print(f"{phase}: medians of {len(medians)} processes {low:.1f} to {high:.1f} ms, "
              f"median {middle:.1f}, coefficient of variation {cv:.1%}")  # fmt: skip


def evaluate(pool: Processes, per_run: int) -> None:
    """Print false alarms and slowdowns found, as measured and with less spread."""
    print(f"{per_run} processes in each run, {PAIRS} pairs")
    print("A/A, random:", outcome(random_pairs(pool, per_run)))
    print("A/A, successive:", outcome(successive_pairs(pool, per_run)))
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
    pool, _ = read_samples(arguments.benchmark)
    describe(pool)
    for per_run in arguments.per_run:
        evaluate(pool, per_run)


if __name__ == "__main__":
    main()
