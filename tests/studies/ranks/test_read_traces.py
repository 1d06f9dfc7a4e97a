"""What two ranks' traces tell of communication, in steps made by hand."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.captures.building import event, trace_file
from workflow_src.studies.ranks.read_traces import read_way

STEP_US = 1000
REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def launch(number: int, at: int, name: str, start: int, end: int, stream: int) -> list[Any]:
    about = {"correlation": number}
    of_kernel = {"args": about | {"device": 0, "stream": stream}, "pid": 0, "tid": stream}
    return [
        event("cuda_runtime", "cudaLaunchKernel", at, 1, args=about),
        event("kernel", name, start, end - start, **of_kernel),
    ]


def trace(folder: Path, rank: int, reduced: int) -> Path:
    """Two steps: products until 150 us, an all-reduce until 220 us, AdamW's kernel of 50 us."""
    events = []
    for begin in (0, STEP_US):
        events += [
            event("user_annotation", "train_step", begin, 900),
            event("user_annotation", "optimizer", begin + 500, 100),
        ]
        kernels = [
            (10, "gemm", 20, 120, 7),
            (30, REDUCE, reduced, 220, 9),
            (40, "gemm", 120, 150, 7),
            (510, "fused_adam", 520, 570, 7),
        ]
        for at, name, start, end, stream in kernels:
            number = len(events)
            events += launch(number, begin + at, name, begin + start, begin + end, stream)
        done = {"args": {"correlation": 10**6 + begin}}
        events += [event("cuda_runtime", "cudaDeviceSynchronize", begin + 600, 10, **done)]
    about = {"backend": "nccl", "rank": rank, "world_size": 2}
    content = json.dumps({"distributedInfo": about, "traceEvents": events})
    return trace_file(folder, content, f"overlapped.rank{rank}.json.gz")


def test_what_nothing_hides_leaves_out_what_ranks_wait_for_each_other(tmp_path: Path) -> None:
    found = read_way([trace(tmp_path, 0, 60), trace(tmp_path, 1, 80)])
    assert found.pop("recorded_ms") == pytest.approx(STEP_US / 1000, rel=0.3)
    assert found == pytest.approx(
        {
            "communication_ms": 0.140,
            "wait_ms": 0.020,
            "exposed_ms": 0.070,
            "compute_ms": 0.180,
        }
    )


def test_traces_that_cannot_be_matched_or_read_say_so(tmp_path: Path) -> None:
    files = [trace(tmp_path, 0, 60), trace(tmp_path, 1, 80)]
    files[1].write_text("{")
    assert "overlapped.rank1.json.gz" in read_way(files)["trace_reason"]
    # Rank 1's ends before rank 0's begins: they are not the same call.
    other = json.dumps({"distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2}})
    assert "trace_reason" in read_way([files[0], trace_file(tmp_path, other, "o.json")])
