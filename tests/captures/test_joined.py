"""Ranks: which traces are of one job, and what they are as one capture, or in one file."""

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.captures.building import event, launched, notes, thread_name, trace_file
from workflow_src.captures.reading import read
from workflow_src.cli.read_capture import main
from workflow_src.common.errors import TraceError
from workflow_src.dag.captures import captures_of
from workflow_src.placing.attributed import attributed
from workflow_src.placing.ranks import read_all
from workflow_src.tables.capture_tables import placed_tables

REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"


def rank_file(
    folder: Path,
    rank: int,
    world_size: int = 2,
    clock_us: int = 0,
    name: str = "",
    helper: int = 9,
) -> Path:
    """A trace of a rank with a gemm and 3 collectives, which end when the last rank has come.

    Its process is 7 in all ranks, and its work is launched by a thread without ranges.
    """
    begin = 100_000 + clock_us
    # What only names something may say that it is of the time 0.
    events = [{"ph": "M", "name": "process_name", "pid": 7, "tid": 0, "ts": 0}]
    events.append(event("user_annotation", "step", begin, 100, pid=7, tid=7))
    events += launched(1, begin + 1, 2 + rank, pid=7, tid=helper)
    for number, (start, end) in enumerate(((10, 20), (30, 40), (50, 60)), start=2):
        at = begin + start + rank - 0.5
        events += launched(number, at, end - start - rank, REDUCE, pid=7, tid=helper)
    about = {"backend": "nccl", "rank": rank, "world_size": world_size}
    content = json.dumps({"distributedInfo": about, "traceEvents": events})
    return trace_file(folder, content, name or f"job.rank{rank}.json.gz")


def paths_of(*files: Path) -> pd.DataFrame:
    return placed_tables(attributed(read_all(files), None))["paths"].set_index("process")


def test_ranks_are_processes_of_one_capture_whatever_their_clocks(tmp_path: Path) -> None:
    ahead_us = 5_000_000
    files = [
        rank_file(tmp_path, rank, clock_us=rank * ahead_us, helper=2 - rank) for rank in (0, 1)
    ]
    paths = paths_of(*reversed(files))
    assert paths["path"].to_dict() == {0: "step", 1: "step"}
    assert (paths["busy_ms"] * 1e6).round().to_dict() == {0: 32_000, 1: 30_000}
    # In each of 3 calls rank 0 came 1 us before rank 1.
    assert (paths["wait_ms"] * 1e6).round().to_dict() == {0: 3_000, 1: 0}
    found = read_all(files)
    assert notes(found) == {"ranks": 2} and found.notes[0].about == "of 2"
    assert found.work["device"].nunique() == 2 and found.total_ns == 62_000


def test_ranks_without_the_same_collectives_keep_their_clocks(tmp_path: Path) -> None:
    other = trace_file(tmp_path, rank_text(rank=1), "other.json")
    found = read_all([rank_file(tmp_path, 0), other])
    assert found.ranges["start_ns"].tolist() == [100_000_000, 100_005_000]


def rank_text(rank: int) -> str:
    events = [event("user_annotation", "step", 100_005, 9), *launched(1, 100_006)]
    about = {"rank": rank, "world_size": 2}
    return json.dumps({"schemaVersion": 1, "distributedInfo": about, "traceEvents": events})


def test_files_of_one_job_are_one_capture_and_others_stay_apart(tmp_path: Path) -> None:
    for rank, size, name in ((1, 2, "a1"), (0, 2, "a0"), (3, 8, "b3"), (0, 4, "c0"), (1, 4, "c1")):
        rank_file(tmp_path, rank, size, name=f"{name}.json")
    rank_file(tmp_path, 1, 4, name="c1-again.json")
    for name, text in (("d", "{}"), ("e", '{"distributedInfo": {"rank": 2'), ("f", "\x1f\x8bno")):
        (tmp_path / f"{name}.json").write_text(text, encoding="latin-1")
    found = captures_of([f"{tmp_path}/*.json"], {}).files
    names = {name: [Path(file).stem for file in files] for name, files in found.items()}
    joined = {"a0-and-1-more": ["a0", "a1"], "c0-and-1-more": ["c0", "c1-again"]}
    assert names == joined | {name: [name] for name in ("b3", "c1", "d", "e", "f")}


@pytest.mark.parametrize(
    ("files", "jobs"),
    [
        # Of each file its rank, and by how much its clock is ahead (s).
        ([(0, 0), (1, 5)], [[0, 1]]),
        ([(0, 0), (1, 60)], [[0], [1]]),
        ([(0, 0), (1, 0), (0, 5), (1, 5)], [[0, 1], [2, 3]]),
        ([(0, 0), (1, 0), (1, 0)], [[0, 1], [2]]),
    ],
    ids=["at a time", "not tied", "two windows", "one rank twice"],
)
def test_ranks_are_of_one_job_that_begin_at_a_time(
    tmp_path: Path, files: list[tuple[int, int]], jobs: list[list[int]]
) -> None:
    for number, (rank, clock_s) in enumerate(files):
        rank_file(tmp_path, rank, clock_us=clock_s * 10**6, name=f"{number}.json")
    found = captures_of([f"{tmp_path}/*.json"], {})
    stems = [[int(Path(file).stem) for file in each] for each in found.files.values()]
    assert sorted(stems) == jobs


def test_files_that_are_no_ranks_of_one_job_have_a_sentence(tmp_path: Path) -> None:
    one, again = rank_file(tmp_path, 0), rank_file(tmp_path, 0, name="again.json")
    files = ["--capture", str(one), str(again), "--output", str(tmp_path / "out")]
    with pytest.raises(SystemExit, match=r"these aren't traces of torch\.profiler of one job"):
        main(files)
    several = json.loads(rank_text(rank=1))
    several["traceEvents"].append(event("user_annotation", "step", 100_005, 9, pid=2))
    path = trace_file(tmp_path, json.dumps(several), "several.json")
    with pytest.raises(TraceError, match="the trace of rank 1 holds 2 processes: give it alone"):
        read_all([one, path])


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
