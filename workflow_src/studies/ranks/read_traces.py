"""Reads the ranks' traces of each way: its communication, and what of it nothing hides.

A program of its own: measuring runs it, and has no pandas.
"""

from pathlib import Path

from workflow_src.common.arguments import Parser, existing_folder, new_file
from workflow_src.common.atomic_write import write_json
from workflow_src.common.errors import TraceError, one_sentence
from workflow_src.common.intervals import Union
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.mechanisms.ranks import communication
from workflow_src.diagnosis.subject import Subject
from workflow_src.placing.attributed import attributed
from workflow_src.placing.ranks import COLLECTIVE, read_all
from workflow_src.studies.study import Row

STEP = "train_step"
"""See training.py."""


def read_way(traces: list[Path]) -> Row:
    """What the traces of all ranks of one way tell: of each number of `per_rank` the most of any
    rank, or {"trace_reason": why not}."""
    try:
        found = attributed(read_all(traces), None, step=STEP)
        ranks = [per_rank(Subject.of(found, each)) for each in found.capture.processes]
    except TraceError as error:
        return {"trace_reason": str(error)}
    most: Row = {name: max(each[name] for each in ranks) for name in ranks[0]}
    if most["communication_ms"] and not found.waits_known:
        return {"trace_reason": "what ranks wait for each other can't be told from their traces"}
    return most


def per_rank(subject: Subject) -> dict[str, float]:
    """One rank's times, in ms of a step.

    compute_ms: in which the device does anything but collectives; recorded_ms: the step itself.
    """
    moving, others = communication(subject), subject.work[subject.work["family"] != COLLECTIVE]
    busy = Union.of(others["start_ns"].to_numpy(), others["end_ns"].to_numpy())
    total_ns = {
        "communication_ms": (moving["device_ns"] - moving["wait_ns"]).sum(),
        "wait_ms": moving["wait_ns"].sum(),
        "exposed_ms": moving["exposed_ns"].sum(),
        "compute_ms": busy.total(),
    }
    in_steps = {name: float(ns) / subject.step_count / NS_PER_MS for name, ns in total_ns.items()}
    recorded_ns = float(subject.recording.steps["time_ns"].median())
    return in_steps | {"recorded_ms": recorded_ns / NS_PER_MS}


@one_sentence()
def main() -> None:
    """Read the traces in a folder, WAY.rankN.json.gz, and write what each way's tell as JSON."""
    parser = Parser(description=__doc__)
    parser.add_argument("--folder", type=existing_folder, required=True)
    parser.add_argument("--output", type=new_file, required=True)
    given = parser.parse_args()
    traces: dict[str, list[Path]] = {}
    for path in sorted(given.folder.glob("*.rank*.json.gz")):
        traces.setdefault(path.name.split(".rank")[0], []).append(path)
    write_json(given.output, {way: read_way(found) for way, found in traces.items()})


if __name__ == "__main__":
    main()
