"""Compare the attribution of backward's kernels with single-threaded autograd, under nsys.

Single-threaded autograd launches backward's kernels on the main thread, so that no attribution
across threads is needed. Its times should agree with the ordinary capture of the same case.
"""

import csv
import json
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_src.captures.export_case import export
from workflow_src.common.arguments import Parser, existing_folder, new_file
from workflow_src.common.atomic_write import write_csv
from workflow_src.common.errors import StageError, TraceError, one_sentence, remake
from workflow_src.common.plan_row import COLUMNS
from workflow_src.common.reading import reading
from workflow_src.common.schema import TEXT, one_of
from workflow_src.measure import nsys_profile
from workflow_src.measure.capture import recorder
from workflow_src.placing.case_capture import read_case

PHASES_WITH_BACKWARD = ("forward_backward", "train_step")


def single_threaded_ms(row: dict[str, Any]) -> dict[str, float]:
    """Device time of backward per step (ms, median) by phase, captured under nsys.

    Raises TraceError if the capture fails.
    """
    program = [*recorder(row), "--single-threaded-autograd"]
    with tempfile.TemporaryDirectory() as folder:
        capture, exported = Path(folder, "c.nsys-rep"), Path(folder, "export")
        nsys_profile.profile(capture, program, row["device"], os_tracing=False)
        export(capture, exported, os_tracing=False)
        ranges = read_case(exported).ranges
    return {
        phase: ranges[ranges["path"] == f"{phase}/backward"]
        .groupby("step")["busy_ns"]
        .sum()
        .median()
        / 1e6
        for phase in PHASES_WITH_BACKWARD
        if (ranges["path"] == f"{phase}/backward").any()
    }


def compare(case: str, kernels: pd.DataFrame, single: dict[str, float]) -> pd.DataFrame:
    """A row per phase: backward_ms from the kernels table, single_threaded_ms, and their ratio.

    Raises TraceError if single-threaded autograd ran no kernel in a phase.
    """
    rows = []
    for phase, expected in single.items():
        if not expected > 0:
            raise TraceError(f"{case}: its single-threaded capture holds no kernel of {phase}")
        inside = kernels["path"].str.startswith(f"{phase}/backward") & (kernels["case"] == case)
        found = float(kernels.loc[inside, "busy_ms_per_step"].sum())
        rows.append(
            {
                "case": case,
                "phase": phase,
                "backward_ms": found,
                "single_threaded_ms": expected,
                "ratio": found / expected,
            }
        )
    return pd.DataFrame(rows)


def plan_rows(plan: Path, chosen: list[str]) -> list[dict[str, Any]]:
    """The rows of plan.csv as a capture takes them, of the `chosen` cases or, if empty, of all.

    Raises StageError if it isn't a plan or has no such case.
    """
    with reading(plan, "a plan", remake(plan), StageError):
        with plan.open(encoding="utf-8", newline="") as file:
            rows = [{k: _value(k, v) for k, v in row.items()} for row in csv.DictReader(file)]
        cases = [row["case"] for row in rows]
        if not cases:
            raise ValueError("it has no case")
    for case in chosen:
        if case not in cases:
            raise StageError(one_of("--cases", case, cases))
    return [row for row in rows if not chosen or row["case"] in chosen]


def kernels_of(results: Path) -> pd.DataFrame:
    """The joined kernels table of a run. Raises StageError if it is missing or damaged."""
    path = results / "tables" / "kernels.csv"
    with reading(path, "a readable table", remake(path), StageError):
        kernels = pd.read_csv(path, keep_default_na=False)
        kernels[["case", "path", "busy_ms_per_step"]]
    return kernels


def require_cuda(rows: list[dict[str, Any]]) -> None:
    """Raise StageError for a case that ran on a CPU, where backward launches no kernels."""
    for row in rows:
        if row["device"] != "cuda":
            raise StageError(
                f"--results: {row['case']} was measured on device {row['device']!r}, where no "
                "kernels are launched; give the results of a run on cuda"
            )


def _value(column: str, text: str) -> Any:
    if COLUMNS.get(column) == TEXT:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return {"True": True, "False": False, "": None}.get(text, text)


@one_sentence()
def main() -> None:
    """Capture cases of a finished run again with single-threaded autograd, and compare."""
    parser = Parser(description=__doc__)
    parser.add_argument(
        "--results", type=existing_folder, required=True, help="results/{tag} of a run"
    )
    parser.add_argument("--cases", nargs="*", default=[], help="case ids; default: all")
    parser.add_argument(
        "--output", type=new_file, required=True, help="CSV, a row per case and phase"
    )
    given = parser.parse_args()
    rows = plan_rows(given.results / "plan.csv", given.cases)
    require_cuda(rows)
    kernels = kernels_of(given.results)
    found = []
    for row in rows:
        found.append(compare(row["case"], kernels, single_threaded_ms(row)))
        print(found[-1].to_string(index=False, header=len(found) == 1), flush=True)
        # Written after each case: one takes 15 seconds, and a long run may be interrupted.
        write_csv(given.output, pd.concat(found, ignore_index=True))


if __name__ == "__main__":
    main()
