"""Compare the attribution of backward's kernels with single-threaded autograd, under nsys.

Single-threaded autograd launches backward's kernels on the main thread, so that no attribution
across threads is needed. Its times should agree with the ordinary capture of the same case.
"""

import argparse
import csv
import json
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_src.common import nsys_cli
from workflow_src.common.atomic_write import write_csv
from workflow_src.common.devices import hold
from workflow_src.measure.capture import recorder
from workflow_src.traces.attribution import attribute, device_times, number_steps
from workflow_src.traces.export import export, read_trace

PHASES_WITH_BACKWARD = ("forward_backward", "train_step")


def single_threaded_ms(row: dict[str, Any]) -> dict[str, float]:
    """Device time of backward per step (ms, median) by phase, captured under nsys.

    Raises TraceError if the capture fails.
    """
    program = [*recorder(row), "--single-threaded-autograd"]
    with tempfile.TemporaryDirectory() as folder:
        capture, exported = Path(folder, "c.nsys-rep"), Path(folder, "export")
        with hold(row["device"]):
            nsys_cli.profile(capture, program, row["device"], os_tracing=False)
        export(capture, exported, os_tracing=False)
        ranges = device_times(*_numbered(exported))
    return {
        phase: ranges[ranges["path"] == f"{phase}/backward"]
        .groupby("step")["busy_ns"]
        .sum()
        .median()
        / 1e6
        for phase in PHASES_WITH_BACKWARD
        if (ranges["path"] == f"{phase}/backward").any()
    }


def _numbered(exported: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    ranges, activities = attribute(read_trace(exported))
    return number_steps(ranges), activities


def compare(case: str, kernels: pd.DataFrame, single: dict[str, float]) -> pd.DataFrame:
    """A row per phase: backward_ms from the kernels table, single_threaded_ms, and their ratio."""
    rows = []
    for phase, expected in single.items():
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
    """The rows of plan.csv as a capture takes them, of the `chosen` cases or, if empty, of all."""
    with plan.open(encoding="utf-8", newline="") as file:
        rows = [{k: _value(v) for k, v in row.items()} for row in csv.DictReader(file)]
    return [row for row in rows if not chosen or row["case"] in chosen]


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return {"True": True, "False": False, "": None}.get(text, text)


def main() -> None:
    """Capture cases of a finished run again with single-threaded autograd, and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, required=True, help="results/{tag} of a run")
    parser.add_argument("--cases", nargs="*", default=[], help="case ids; default: all")
    parser.add_argument("--output", type=Path, required=True, help="CSV, a row per case and phase")
    given = parser.parse_args()
    kernels = pd.read_csv(given.results / "tables" / "kernels.csv", keep_default_na=False)
    found = []
    for row in plan_rows(given.results / "plan.csv", given.cases):
        found.append(compare(row["case"], kernels, single_threaded_ms(row)))
        print(found[-1].to_string(index=False, header=len(found) == 1), flush=True)
        # Written after each case: one takes 15 seconds, and a long run may be interrupted.
        write_csv(given.output, pd.concat(found, ignore_index=True))


if __name__ == "__main__":
    main()
