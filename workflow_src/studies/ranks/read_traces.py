"""Reads the ranks' traces of each way: its communication, and what of it nothing hides.

A program of its own: measuring runs it, and has no pandas.
"""

from pathlib import Path

import pandas as pd

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
"""The range of a step: see training.py."""

KIND = r"(?i)(all_?reduce|all_?gather|reduce_?scatter|broadcast|send_?recv)"
"""What a kernel that communicates does, in its name."""

LATE = 0.1
"""A collective is late if nothing hides so much of the time that it takes without waits."""


OWN = ("compute_ms", "optimizer_ms", "recorded_ms")
"""What of `per_rank` doesn't depend on the other ranks."""


def read_way(traces: list[Path]) -> Row:
    """What the traces of all ranks of one way tell, in ms of a step; {"trace_reason": why} if none.

    See `per_rank`; of each number the most of any rank, and of the calls of `collectives`, too.
    """
    try:
        found = attributed(read_all(traces), None, step=STEP)
        ranks = [per_rank(Subject.of(found, each)) for each in found.capture.processes]
    except TraceError as error:
        return {"trace_reason": str(error)}
    several = [each.pop("collectives") for each in ranks]
    most = {name: max(each[name] for each in ranks) for name in ranks[0]}
    rows = most_of_any(several)
    if rows and not found.waits_known:
        reason = "what ranks wait for each other can't be told from their traces"
        return {name: most[name] for name in OWN} | {"trace_reason": reason}
    return most | {"collectives": rows}


def per_rank(subject: Subject) -> Row:
    """One rank's times, in ms of a step, and a row for each kind of collective.

    communication_ms: what collectives take without waits; wait_ms: these, for the other ranks;
    exposed_ms: what of communication_ms runs while the device does nothing else; compute_ms: in
    which it does anything else, of which optimizer_ms in that range; recorded_ms: the step itself.
    """
    moving, others = communication(subject), subject.work[subject.work["family"] != COLLECTIVE]
    busy = Union.of(others["start_ns"].to_numpy(), others["end_ns"].to_numpy())
    optimizing = others["path_text"].str.startswith(f"{STEP}/optimizer")
    own_ns = moving["device_ns"] - moving["wait_ns"]
    return {
        "communication_ms": subject.ms_a_step(own_ns.sum()),
        "wait_ms": subject.ms_a_step(moving["wait_ns"].sum()),
        "exposed_ms": subject.ms_a_step(moving["exposed_ns"].sum()),
        "compute_ms": subject.ms_a_step(busy.total()),
        "optimizer_ms": subject.ms_a_step(others["device_ns"][optimizing].sum()),
        "recorded_ms": float(subject.recording.steps["time_ns"].median()) / NS_PER_MS,
        "collectives": collectives(moving.assign(own_ns=own_ns), subject.step_count),
    }


def collectives(moving: pd.DataFrame, steps: int) -> pd.DataFrame:
    """A row per kind of collective: calls, late ones, communication_ms and exposed_ms of a step."""
    named = moving["name"].astype(str).str.extract(KIND)[0].str.lower().str.replace("_", "")
    late = moving["exposed_ns"] > LATE * moving["own_ns"]
    rows = pd.DataFrame(
        {
            "collective": named.fillna("other"),
            "calls": 1 / steps,
            "late_calls": late / steps,
            "communication_ms": moving["own_ns"] / NS_PER_MS / steps,
            "exposed_ms": moving["exposed_ns"] / NS_PER_MS / steps,
        }
    )
    return rows.groupby("collective").sum().round(9)


def most_of_any(ranks: list[pd.DataFrame]) -> list[Row]:
    """A row per kind of collective, of each number the most of any rank."""
    rows = pd.concat(ranks).groupby(level=0, sort=False).max().reset_index()
    return [{str(name): cell for name, cell in row.items()} for row in rows.to_dict("records")]


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
