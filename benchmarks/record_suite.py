"""Records cases of a published plan by torch.profiler, one after another in one process.

A case's capture holds what the workflow captures: three steps of each phase that fits. Beside the
next case's, each recording is replayed in a process of its own (benchmarks/replay.py): OUTPUT has
what that printed, a file per case.
"""

import argparse
import csv
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch

from benchmarks import stand_ins  # noqa: F401
from workflow_src.common.case import case_of
from workflow_src.measure.oom import free
from workflow_src.measure.profiled_run import profiled_run

WARMUP_STEPS, STEPS = 2, 3


def rows_of(plan: Path, contexts: list[str], precisions: list[str]) -> list[dict[str, Any]]:
    """The plan's cases with these contexts and precisions, the small ones first."""
    with plan.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["context"] in contexts]
    chosen = [row for row in rows if row["precision"] in precisions]
    typed = [
        {name: int(text) if text.isdigit() else text for name, text in row.items()}
        | {"memory_limit_gib": None}
        for row in chosen
    ]
    return sorted(typed, key=lambda row: row["layers"] * row["d_model"] * row["context"])


def replayed(trace: Path, output: Path) -> "subprocess.Popen[bytes]":
    """A process that replays a recording's training steps."""
    command = [sys.executable, "-m", "benchmarks.replay", "--each", "--step", "train_step"]
    with output.open("wb") as file:
        return subprocess.Popen([*command, str(trace)], stdout=file, stderr=subprocess.STDOUT)


def main() -> None:
    """Record the cases that time allows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", type=Path, required=True)
    parser.add_argument("--contexts", nargs="+", default=["128", "512"])
    parser.add_argument("--precisions", nargs="+", default=["fp32", "bf16"])
    parser.add_argument("--output", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--traces", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=200, help="after these nothing begins")
    given = parser.parse_args()
    end, running = time.monotonic() + given.seconds, []
    for folder in (given.output, given.traces):
        folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    for row in rows_of(given.plan, given.contexts, given.precisions):
        if time.monotonic() > end:
            break
        trace = given.traces / f"{row['case']}.json.gz"
        try:
            profiled_run(case_of(row | {"device": given.device}), WARMUP_STEPS, STEPS, trace)
        except RuntimeError as error:
            print(f"{row['case']}: {' '.join(str(error).split())[:200]}", flush=True)
        else:
            running.append(replayed(trace, given.output / f"{row['case']}.txt"))
        free(given.device)
    for process in running:
        process.wait()


if __name__ == "__main__":
    main()
