"""What is derived of a measured MLP."""

from workflow_src.studies.mlp import analyze as mlp

OK = {"status": "ok", "reason": "", "device": "cuda"}

OOM = {"status": "oom", "reason": "CUDA out of memory", "device": "cuda"}


def activity(operator: str, name: str, calls: int, busy_ns: int) -> dict[str, object]:
    named = {"short_name": name, "family": "gemm", "precision_ran": ""}
    raw = {"range": "", "kind": "kernel", "operator": operator, "name": name}
    return raw | named | {"calls": calls, "busy_ns": busy_ns}


def test_rows_are_derived_from_what_was_measured():
    did = [activity("aten::mm", "k", 3, 6_000_000), activity("", "j", 1, 2_000_000)]
    measured = OK | {"median_ms": 16.0, "activities": did}
    rows = [{"part": "sweep"} | measured, {"part": "operators", "operation": "x"} | measured]
    swept, *found = mlp.derive({}, [*rows, {"part": "sweep"} | OOM])
    assert (swept["busy_ms"], swept["busy_share"]) == (8.0, 0.5)
    told = [(row["operator"], row["kernel"], row["calls"], row["share"]) for row in found[:2]]
    assert told == [("aten::mm", "k", 3, 0.75), ("(none)", "j", 1, 0.25)]
    assert found[2] == {"part": "sweep"} | OOM
