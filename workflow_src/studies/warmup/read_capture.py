"""Reads nsys's export of first steps into what a point keeps: its steps and CUDA calls.

A program of its own: measuring runs it, and has no pandas. Nothing is derived here, so that a
change of the analysis measures nothing again.
"""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from workflow_src.captures.capture import KERNEL, OVERHEAD, UNKNOWN, Capture
from workflow_src.captures.domains import choose
from workflow_src.captures.reading import read
from workflow_src.common.arguments import Parser, existing_file, new_file, positive_integer
from workflow_src.common.atomic_write import write_json
from workflow_src.common.errors import TraceError, one_sentence
from workflow_src.placing.case_capture import require_whole
from workflow_src.placing.placing import place
from workflow_src.placing.range_times import number_steps, whole_steps
from workflow_src.studies.study import Row

THREAD = ["process", "thread"]
CALL = [*THREAD, "start_ns", "end_ns"]
LAUNCH = [*THREAD, "launch_ns", "launch_end_ns"]
"""What a call and the launch of a kernel are told by."""


def kept(export: Path, phases: Sequence[str], steps: int) -> Row:
    """`recorded`, or why a point can't keep it, such as other than `steps` steps of a phase."""
    try:
        found = recorded(export, phases)
        for phase, mine in found["steps"].items():
            if len(mine) != steps:
                raise TraceError(f"nsys recorded {len(mine)} of {steps} steps of {phase}")
    except TraceError as error:
        return {"status": "skipped", "reason": str(error)}
    return {"status": "ok", "reason": ""} | found


def recorded(export: Path, phases: Sequence[str]) -> Row:
    """The steps and all CUDA calls in an export of one process.

    Times are ns on the host's clock since the start of the first step. steps: by phase, start and
    end of each. calls: each different call, with its name and the names of the kernels that it
    launched. threads: of each thread, its calls in order of start, as equally long lists, because
    there are tens of thousands: call (an index in calls), later_ns (its start, since the start of
    the thread's call before; of the first, since the start of the first step) and took_ns.

    Raises TraceError unless all of it could be read.
    """
    capture = read(export)
    require_whole(capture)
    if any(note.code == "unclosed" for note in capture.notes):
        raise TraceError("nsys recorded a range without an end, so that a step may be cut short")
    ranges = place(capture, choose(capture.ranges, None).ranges).ranges
    found = whole_steps(number_steps(ranges))
    found = found[found["phase"].isin(phases)]
    origin = int(found["start_ns"].min()) if len(found) else 0
    since = found[["start_ns", "end_ns"]] - origin
    of_phase = {phase: since[found["phase"] == phase].to_numpy().tolist() for phase in phases}
    return {"steps": of_phase} | _compact(_calls(capture), origin)


def _calls(capture: Capture) -> pd.DataFrame:
    """All calls with their `kernels`, by thread in order of start; of one start the longest first.

    of_call: a number for each different name and kernels, in order of appearance.
    """
    work, calls = capture.work, capture.calls
    kernels = work[(work["kind"] == KERNEL) & (work["launch_ns"] != UNKNOWN)]
    launched = kernels.groupby(LAUNCH)["name"].agg(tuple).rename("kernels").rename_axis(CALL)
    made = calls[calls["kind"] != OVERHEAD].merge(launched, how="left", on=CALL)
    made["kernels"] = [each if isinstance(each, tuple) else () for each in made["kernels"]]
    return made.sort_values(CALL, ascending=[True, True, True, False], kind="stable")


def _compact(made: pd.DataFrame, origin: int) -> Row:
    """`calls` and `threads` of `recorded`."""
    pairs = list(zip(made["name"].astype(str), made["kernels"], strict=True))
    places = {pair: number for number, pair in enumerate(dict.fromkeys(pairs))}
    made = made.assign(call=[places[pair] for pair in pairs])
    different = [{"name": name, "kernels": list(kernels)} for name, kernels in places]
    threads = [_columns(mine, origin) for _, mine in made.groupby(THREAD)]
    return {"calls": different, "threads": threads}


def _columns(mine: pd.DataFrame, origin: int) -> dict[str, list[int]]:
    """One thread's calls."""
    start = mine["start_ns"]
    return {
        "call": mine["call"].tolist(),
        "later_ns": start.diff().fillna(start - origin).astype("int64").tolist(),
        "took_ns": (mine["end_ns"] - start).tolist(),
    }


@one_sentence()
def main() -> None:
    """Read an export and write as JSON what a point keeps, or why it can't."""
    parser = Parser(description=__doc__)
    parser.add_argument("--export", type=existing_file, required=True)
    parser.add_argument("--phases", nargs="+", required=True)
    parser.add_argument("--steps", type=positive_integer, required=True, help="steps of each phase")
    parser.add_argument("--output", type=new_file, required=True)
    given = parser.parse_args()
    write_json(given.output, kept(given.export, given.phases, given.steps))


if __name__ == "__main__":
    main()
