"""Traces of several ranks in one file, whose processes are named by text."""

from pathlib import Path

import pytest

from tests.captures.building import event, launched, notes, tables_in, thread_name, trace_file
from tests.golden import DATA
from workflow_src.captures.reading import read
from workflow_src.placing.attributed import attributed
from workflow_src.tables.capture_tables import placed_tables


def test_ranks_that_sglang_merged_have_their_own_steps() -> None:
    """Five each of 1 ms, with 405 and 810 us of kernels, as the file was made."""
    steps = tables_in(DATA / "strangers" / "merged_by_sglang.json")["steps"].groupby("process")
    us = {
        number: (own[["wall_ns", "busy_ns"]] // 1000).to_numpy().tolist() for number, own in steps
    }
    assert us == {0: [[1000, 405]] * 5, 1: [[1000, 810]] * 5}


@pytest.mark.parametrize("name", ["[TP0{rank}] {number}", "[TP0{rank} {number}]"])
def test_ranks_merged_under_names_are_processes(tmp_path: Path, name: str) -> None:
    """Process 9 of both, each on its container's device 0, whose launches have the same numbers.

    Autograd's thread launches half; a kernel's launch lies before the trace of the second rank.
    """
    events = []
    for rank in (0, 1):
        of = [
            *(event("user_annotation", "step", 100 * n, 90, pid=9, tid=9) for n in range(3)),
            *(e for n in range(3) for e in launched(2 * n + 2, 100 * n + 5, 3 + rank, tid=9)),
            *(e for n in range(3) for e in launched(2 * n + 3, 100 * n + 50, 6, tid="autograd")),
            thread_name(9, "main"),
            launched(1, 1)[rank],
        ]
        for each in of:
            number = 0 if each.get("cat") == "kernel" else 9
            events.append(each | {"pid": name.format(rank=rank, number=number)})
    found = read(trace_file(tmp_path, events))
    assert found.work.groupby("process")["duration_ns"].sum().to_dict() == {0: 27_000, 1: 31_000}
    tables = placed_tables(attributed(found, None))
    steps = tables["steps"].groupby("process")["busy_ns"].agg(list).to_dict()
    assert steps == {0: [9_000] * 3, 1: [10_000] * 3}
    unplaced = tables["kernels"][tables["kernels"]["path"].str.startswith("(")]
    assert unplaced["process"].tolist() == [1] and notes(tables)["named processes"] == 2
    by_process = found.work.groupby("process")[["device", "thread"]].nunique()
    assert by_process.to_numpy().tolist() == [[1, 2], [1, 3]]
