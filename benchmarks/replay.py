"""How well recorded steps are replayed: of each process of some captures, the time of each step as
recorded and as replayed without changes, and how many are within the tolerance."""

import argparse
import gzip
import shutil
import tempfile
import time
from pathlib import Path

import pandas as pd

from workflow_src.captures.reading import read
from workflow_src.common.errors import TraceError
from workflow_src.common.thresholds import REPLAYED_WITHIN, in_percent
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.replay import check, replay
from workflow_src.diagnosis.step import recorded
from workflow_src.placing.attributed import Attributed, attributed

COLUMNS = ("capture", "process", "step", "recorded_ms", "replayed_ms", "error")


def placed(path: Path, step: str) -> Attributed:
    """A capture, also an export that is compressed, with its work placed."""
    if not path.name.endswith(".sqlite.gz"):
        return attributed(read(path), None, step=step)
    with tempfile.TemporaryDirectory() as folder:
        export = Path(folder) / path.stem
        with gzip.open(path) as packed, export.open("wb") as unpacked:
            shutil.copyfileobj(packed, unpacked)
        return attributed(read(export), None, step=step)


def steps_of(path: Path, step: str) -> pd.DataFrame:
    """A row per step of each process with COLUMNS; says why a process has none."""
    capture = placed(path, step)
    parts = [pd.DataFrame(columns=list(COLUMNS))]
    for process in capture.capture.processes:
        try:
            recording = recorded(capture, process)
        except TraceError as error:
            print(f"{path.name}: {error}")
            continue
        began = time.perf_counter()
        times = replay(recording).times_ns
        took, whole = time.perf_counter() - began, check(recording)
        print(
            f"{path.name}, process {process}: {len(times)} steps, {len(recording.calls):,} calls, "
            f"{len(recording.work):,} activities, replayed in {took * 1e3:.0f} ms; "
            f"step {whole.recorded_ns / NS_PER_MS:.2f} ms, replayed {100 * whole.error:+.2f} %"
        )
        rows = {
            "capture": path.name,
            "process": process,
            "step": range(len(times)),
            "recorded_ms": recording.steps["time_ns"] / NS_PER_MS,
            "replayed_ms": times / NS_PER_MS,
        }
        parts.append(pd.DataFrame(rows).assign(error=lambda t: t.replayed_ms / t.recorded_ms - 1))
    return pd.concat(parts, ignore_index=True)


def main() -> None:
    """Print the table and its summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("captures", nargs="+", type=Path)
    parser.add_argument("--step", default="", help="the name of the range that is a step")
    parser.add_argument("--each", action="store_true", help="print each step")
    parser.add_argument("--output", type=Path, help="a CSV of the steps")
    arguments = parser.parse_args()
    table = pd.concat([steps_of(path, arguments.step) for path in arguments.captures])
    if arguments.each:
        print(table.to_string(index=False, float_format="{:.4f}".format))
    if arguments.output:
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        table.to_csv(arguments.output, index=False)
    error = table["error"].astype(float).abs()
    print(
        f"{len(table)} steps of {table['capture'].nunique()} captures: median error "
        f"{100 * error.median():.3f} %, largest {100 * error.max():.2f} %, within "
        f"{in_percent(REPLAYED_WITHIN)}: {(error <= REPLAYED_WITHIN).sum()}"
    )


if __name__ == "__main__":
    main()
