"""Code that is compiled or loaded while steps run."""

from workflow_src.captures.call_kinds import OF_OTHERS, matching
from workflow_src.diagnosis.changes import DropCall, DropGap
from workflow_src.diagnosis.finding import Found, Subject, common_path, mechanism, rows_of


@mechanism("recompilation")
def find_recompilations(subject: Subject) -> list[Found]:
    """Modules are loaded in a later step, after the host has compiled them."""
    calls = subject.calls[~subject.calls["beside"]]
    loads = calls[matching(calls["name"], OF_OTHERS["load"])]
    loads = loads[loads["step"] > 0]
    if not len(loads):
        return []
    rows = rows_of(loads)
    spent = (loads["gap_ns"] + loads["end_ns"] - loads["start_ns"]).sum()
    where, count = common_path(loads["path_text"]), subject.a_step(len(loads))
    changes = (DropCall(rows), DropGap(rows))
    return [Found(where, count, subject.ms_a_step(spent), 0.0, changes, "gaps.csv: module loads")]
