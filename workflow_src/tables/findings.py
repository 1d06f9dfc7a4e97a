"""The findings of one case's capture, a phase at a time, with its unprofiled time.

That the measuring loop waits for the device at the end of each step is none: so a step is timed.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pandas as pd

from workflow_src.common.arguments import existing_file, existing_folder, new_file, stage_arguments
from workflow_src.common.atomic_write import write_csv
from workflow_src.common.case import PHASES
from workflow_src.common.errors import StageError, TraceError, one_sentence, remake
from workflow_src.common.reading import reading
from workflow_src.common.table_schema import own_columns
from workflow_src.common.units import NS_PER_MS
from workflow_src.diagnosis.recording import OTHER, SYNCHRONIZE
from workflow_src.diagnosis.subject import Subject
from workflow_src.placing.attributed import Attributed
from workflow_src.placing.case_capture import read_case, require_complete
from workflow_src.placing.step_rules import Rule, StepRanges
from workflow_src.tables.diagnosis_tables import findings_of


def case_findings(export: Path, timings: pd.DataFrame) -> pd.DataFrame:
    """A row per finding; none on a CPU, whose steps have no launches.

    timings: the case's table. Raises TraceError if the export's capture can't be read.
    """
    case = read_case(export)
    require_complete(case)
    plain = timings[timings["status"] == "ok"].set_index("phase")["median_ms"]
    plain_ns = (plain.astype(float) * NS_PER_MS).to_dict()
    found = [
        findings_of(measured(each), plain_ns.get(phase)).assign(phase=phase)
        for phase in PHASES
        for each in subjects(case.placed, phase)
    ]
    table = pd.concat(found or [pd.DataFrame()]).reindex(columns=[*own_columns("findings")])
    rank = table.groupby("phase").cumcount() + 1
    return table.assign(rank=rank, saves_share=table["saves_ms"] / table["step_ms"])


def subjects(found: Attributed, phase: str) -> Iterator[Subject]:
    """The steps of a phase of each process that has any with API calls."""
    steps = StepRanges(Rule.NAMED, found.paths.text[found.paths.of_range] == phase)
    for process in found.capture.processes:
        with suppress(TraceError):
            yield Subject.of(replace(found, steps=steps), process)


def measured(subject: Subject) -> Subject:
    """Steps without the wait for the device at their end that times them."""
    recording = subject.recording
    ends, calls = recording.steps["last_call"].to_numpy(copy=True), recording.calls
    ends[-1] -= 1  # The very last call only marks the end: see subject.ended.
    own = calls.loc[ends, "kind"] == SYNCHRONIZE
    kind = calls["kind"].mask(calls.index.isin(own.index[own]), OTHER)
    return replace(subject, recording=replace(recording, calls=calls.assign(kind=kind)))


@one_sentence()
def main() -> None:
    """Write the findings of one case."""
    files = {"export": existing_folder, "timings": existing_file, "output": new_file}
    given = stage_arguments(__doc__, **files)
    with reading(given.timings, "a case's times", remake(given.timings), StageError):
        timings = pd.read_csv(given.timings)[["phase", "status", "median_ms"]]
    found = case_findings(given.export, timings)
    write_csv(given.output, found)
    print(*found["headline"], sep="\n")


if __name__ == "__main__":
    main()
