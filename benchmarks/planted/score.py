"""The first three findings of each planted capture beside what its fault was measured to cost."""

import argparse
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from benchmarks.replay import placed
from workflow_src.common.errors import TraceError
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.diagnose import Diagnosis, diagnose
from workflow_src.diagnosis.finding import Subject

SHOWN = 3
"""Findings printed of a capture."""

UNCOVERED = 0.03
"""The share of a step that a finding in a clean program may save."""


def times(measured: Path) -> pd.DataFrame:
    """plain_ms and cost_ms of each program, by fault and pace; a clean one costs 0."""
    table = pd.read_csv(measured)
    clean = table["name"].str.startswith("clean_")
    plain = table["faulty_ms"].where(~clean, table["clean_ms"])
    cost = table["cost_ms"].where(~clean, 0.0)
    return pd.DataFrame({"plain_ms": plain, "cost_ms": cost}).set_index(table["name"])


def name_of(path: Path) -> str:
    """The program that a capture is of."""
    return path.name.split(".")[0]


def diagnoses(
    paths: list[Path], known: pd.DataFrame, recorded_pace: bool
) -> Iterator[tuple[Path, Diagnosis | TraceError]]:
    """The diagnosis of each capture, at the plain step's time unless at the recorded one."""
    for path in paths:
        capture = placed(path, "")
        process = int(capture.work["process"].value_counts().index[0])
        plain_ms = known["plain_ms"].get(name_of(path))
        plain_ns = None if recorded_pace or plain_ms is None else plain_ms * NS_PER_MS
        try:
            yield path, diagnose(Subject.of(capture, process), plain_ns)
        except TraceError as error:
            yield path, error


def main() -> None:
    """Print a line per capture and one per finding."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("measured", type=Path)
    parser.add_argument("--only", default="", help="part of a name")
    parser.add_argument("--recorded", action="store_true", help="savings of the profiled step")
    given = parser.parse_args()
    known = times(given.measured)
    paths = sorted(path for path in given.folder.glob("*.gz") if given.only in path.name)
    for path, diagnosis in diagnoses(paths, known, given.recorded):
        if isinstance(diagnosis, TraceError):
            print(f"{name_of(path)}: {diagnosis}")
            continue
        cost, step_ms = known["cost_ms"].get(name_of(path), float("nan")), diagnosis.step_ms
        print(
            f"{name_of(path)}: a step {step_ms:.2f} ms, the fault {cost:.2f} ms "
            f"({100 * cost / step_ms:.1f} %), understood {diagnosis.understood}"
        )
        for finding in diagnosis.findings[:SHOWN]:
            off = 100 * (finding.saves_ms - cost) / step_ms
            print(
                f"    {finding.key:28} {finding.saves_ms:8.2f} ms ({off:+.1f} % of a step), with "
                f"above {finding.saves_with_above_ms:8.2f} ms; {finding.calls:.1f} a step in "
                f"{finding.where}",
                flush=True,
            )


if __name__ == "__main__":
    main()
