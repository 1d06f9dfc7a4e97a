"""The first findings of each planted capture beside what its fault was measured to cost, and how
many faults were named, how far off their costs were, and what was found in clean programs."""

import argparse
import gzip
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from workflow_src.captures.reading import read
from workflow_src.common.errors import TraceError
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.diagnose import Diagnosis, diagnose
from workflow_src.diagnosis.subject import Subject
from workflow_src.placing.attributed import Attributed, attributed

SHOWN = 3
"""Findings printed of a capture."""

NAMED = 2
"""A fault is named if it is among so many findings."""

COSTLY = 0.05
"""The share of a step that a fault costs at least, if it is to be named."""

MECHANISM_OF = {
    "synchronize": "synchronize",
    "norm_of_each_parameter": "number_of_each_tensor",
    "scalars_of_the_host": "host_scalars",
    "garbage_collection": "stall",
    "checks_for_nan": "number_of_each_tensor",
    "mask_by_index": "selection",
    "odd_vocabulary": "unaligned_products",
    "float32_head": "float32_products",
    "busy_thread": "other_thread",
    "copy_that_nothing_overlaps": "unhidden_copy",
    "float64_in_a_layer": "float64",
    "save_that_blocks": "blocking_save",
    "python_in_a_layer": "host_gap",
    "evaluation_with_gradients": "evaluation",
    "channels_first": "convolution_layout",
    "without_autocast": "float32_products",
    "loader_in_the_process": "slow_loader",
    "accuracy_on_the_host": "host_gap",
    "float64_loss": "float64",
    "stochastic_gradient_one_by_one": "parameter_by_parameter",
    "waits_in_hooks": "number_of_each_tensor",
    "parsing_thread": "other_thread",
    "unique_ids": "selection",
    "average_one_by_one": "parameter_by_parameter",
}
"""The mechanism of each planted fault whose name isn't its mechanism's key."""

COLUMNS = ("capture", "clean", "step_ms", "cost_ms", "rank", "saves_ms", "others_ms")
COSTS = ("cost_ms", "cost_least_ms", "cost_most_ms")
"""At the median, the least and the most of the pairs of blocks."""

Row = tuple[object, ...]


def placed(path: Path, step: str) -> Attributed:
    """A capture, also an export that is compressed, with its work placed."""
    if not path.name.endswith(".sqlite.gz"):
        return attributed(read(path), None, step=step)
    with tempfile.TemporaryDirectory() as folder:
        export = Path(folder) / path.stem
        with gzip.open(path) as packed, export.open("wb") as unpacked:
            shutil.copyfileobj(packed, unpacked)
        return attributed(read(export), None, step=step)


def times(measured: Path) -> pd.DataFrame:
    """plain_ms of each program, by fault and pace, and COSTS; a clean one costs 0."""
    table = pd.read_csv(measured)
    clean = table["name"].str.startswith("clean_")
    # A clean program's row has one time, in the third column.
    plain = table["faulty_ms"].where(~clean, table["clean_ms"])
    costs = table[list(COSTS)].where(~clean, 0.0)
    return costs.assign(plain_ms=plain).set_index(table["name"])


def name_of(path: Path) -> str:
    """The program that a capture is of."""
    return path.name.split(".")[0]


def diagnoses(
    paths: list[Path], known: pd.DataFrame, recorded_pace: bool
) -> Iterator[tuple[str, Diagnosis]]:
    """The diagnosis of each capture, at the plain step's time unless at the recorded one."""
    for path in paths:
        capture = placed(path, "step")
        process = int(capture.work["process"].value_counts().index[0])
        plain_ms = known["plain_ms"].get(name_of(path))
        plain_ns = None if recorded_pace or plain_ms is None else plain_ms * NS_PER_MS
        try:
            yield name_of(path), diagnose(Subject.of(capture, process), plain_ns)
        except TraceError as error:
            print(f"{name_of(path)}: {error}")


def scored(name: str, diagnosis: Diagnosis, cost_ms: float) -> Row:
    """One row of COLUMNS.

    rank: of the fault's own mechanism, from 1, or missing; others_ms: the most that any other one
    saves which isn't true of whole programs.
    """
    fault = name.rsplit("-", 1)[0]
    key = MECHANISM_OF.get(fault, fault)
    keys = [finding.key for finding in diagnosis.findings]
    rank = keys.index(key) + 1 if key in keys else None
    saves = None if rank is None else diagnosis.findings[rank - 1].saves_ms
    others = [each.saves_ms for each in diagnosis.findings if each.key != key and not each.general]
    clean = name.startswith("clean_")
    return name, clean, diagnosis.step_ms, cost_ms, rank, saves, max(others, default=0.0)


def undiagnosed(paths: list[Path], rows: Sequence[Row], known: pd.DataFrame) -> list[Row]:
    """A row for each measured program whose capture has none: nothing is named in it."""
    without = {name_of(path) for path in paths} - {row[0] for row in rows}
    return [
        (name, name.startswith("clean_"), plain_ms, cost_ms, None, None, 0.0)
        for name, plain_ms, cost_ms in known[["plain_ms", "cost_ms"]].itertuples()
        if name in without
    ]


def print_findings(name: str, diagnosis: Diagnosis, cost_ms: float) -> None:
    """A line about a capture and one per finding."""
    step_ms = diagnosis.step_ms
    print(
        f"{name}: a step {step_ms:.2f} ms, the fault {cost_ms:.2f} ms "
        f"({100 * cost_ms / step_ms:.1f} %), understood {diagnosis.understood}"
    )
    for finding in diagnosis.findings[:SHOWN]:
        off = 100 * (finding.saves_ms - cost_ms) / step_ms
        print(
            f"    {finding.key:28} {finding.saves_ms:8.2f} ms ({off:+.1f} % of a step), with "
            f"above {finding.saves_with_above_ms:8.2f} ms; {finding.told['calls']} a step in "
            f"{finding.where}",
            flush=True,
        )


def print_summary(table: pd.DataFrame) -> None:
    """How many of the costly faults were named, how far off, and what clean programs have."""
    costly = table[~table["clean"] & (table["cost_ms"] >= COSTLY * table["step_ms"])]
    named = costly[costly["rank"].astype(float) <= NAMED]
    error = (named["saves_ms"].astype(float) - named["cost_ms"]).abs() / named["step_ms"]
    unnamed = sorted(set(costly["capture"]) - set(named["capture"]))
    print(
        f"named among the first {NAMED}: {len(named)} of {len(costly)} faults that cost "
        f"{100 * COSTLY:.0f} % of a step or more; not {', '.join(unnamed) or 'one'}\n"
        f"predicted minus measured, share of a step: median {100 * error.median():.1f} %, largest "
        f"{100 * error.max():.1f} %, within 10 %: {(error <= 0.1).sum()}"
    )
    for row in table[table["clean"] & (table["others_ms"] > 0)].itertuples():
        print(f"in the clean {row.capture}: {row.others_ms:.2f} ms of {row.step_ms:.2f} ms")


def main() -> None:
    """Print the findings of each capture, and the summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("measured", type=Path)
    parser.add_argument("--only", default="", help="part of a name")
    parser.add_argument("--recorded", action="store_true", help="savings of the profiled step")
    given = parser.parse_args()
    known = times(given.measured)
    paths = sorted(path for path in given.folder.glob("*.gz") if given.only in path.name)
    rows: list[Row] = []
    for name, diagnosis in diagnoses(paths, known, given.recorded):
        cost = known["cost_ms"].get(name, float("nan"))
        print_findings(name, diagnosis, cost)
        rows.append(scored(name, diagnosis, cost))
    rows += undiagnosed(paths, rows, known)
    print_summary(pd.DataFrame(rows, columns=list(COLUMNS)))


if __name__ == "__main__":
    main()
