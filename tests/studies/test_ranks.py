"""The study ranks: what two processes measure, what their traces tell, and ranks that fail."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.captures.building import event, trace_file
from tests.studies import faulty_rank
from tests.studies.trained_ranks import forked
from tests.workflow import ROOT, served_stage
from workflow_src.common.errors import StageError
from workflow_src.studies.points import points
from workflow_src.studies.ranks import measure
from workflow_src.studies.ranks.chapter import GRADIENTS_EQUAL, PARAMETERS_EQUAL
from workflow_src.studies.ranks.measure import of_all, of_ranks, run_ranks, tasks
from workflow_src.studies.ranks.read_traces import read_way

TINY = {"d_model": 16, "d_ff": 32, "layers": 1, "heads": 2}
SETTINGS = {"sizes": {"tiny": TINY, "2.7B": TINY}, "vocabulary": 50}


def test_every_way_trains_as_one_process_does_on_the_whole_batch(tmp_path: Path) -> None:
    """AdamW's step hides a sum in place of a mean; gradients tell."""
    _, point = points("ranks", "cpu", "small", SETTINGS)
    names = [*point["ways"], "summed"]
    point |= {"device": "cpu", "context": 8, "steps": 1, "ways": names}
    words = "tests.studies.trained_ranks", json.dumps(point), str(tmp_path)
    status, said = served_stage(ROOT, *words)
    assert status == 0, said
    found = {row["way"]: row for row in of_ranks(point, tmp_path)}
    assert list(found) == names and {row["status"] for row in found.values()} == {"ok"}
    assert all(len(row["samples_ns"]) == 1 for row in found.values())
    summed = found.pop("summed")
    assert found.pop("alone").keys().isdisjoint(("gradient_error", "parameter_error"))
    for row in found.values():
        assert row["gradient_error"] < GRADIENTS_EQUAL
        assert row["parameter_error"] < PARAMETERS_EQUAL
    assert summed["gradient_error"] == pytest.approx(1)
    assert summed["parameter_error"] < PARAMETERS_EQUAL


def test_fewer_gpus_than_ranks_skip_the_point(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    full = points("ranks", "cuda", "full", SETTINGS)
    reason = "needs 2 GPUs, and 1 can be used"
    for point in full:
        (row,) = tasks(point | {"device": "cuda"})
        assert (row["status"], row["reason"]) == ("skipped", reason)
        assert (row["measurement"], row.get("size")) == (point["measurement"], point.get("size"))


def test_a_row_of_all_ranks_has_the_most_of_any() -> None:
    ranks: list[dict[str, Any]] = [
        {"status": "ok", "samples_ns": [5], "optimizer_mib": 3.0, "gradient_error": 1e-7},
        {"status": "ok", "samples_ns": [6], "optimizer_mib": 4.0, "gradient_error": 1e-8},
    ]
    most = {"optimizer_mib": 4.0, "gradient_error": 1e-7}
    assert of_all(ranks) == {"status": "ok", "samples_ns": [5]} | most
    out = {"status": "oom", "reason": "CUDA out of memory"}
    assert of_all([ranks[0], out]) == out


@pytest.mark.parametrize(
    ("fault", "limit_s", "said"),
    [
        ("dies", 60, "rank 1 of 2 ended with status 7; .* the others were ended"),
        ("is killed", 60, r"rank 1 of 2 was killed \(signal 9\); .* the others were ended"),
        ("hangs", 2, "of 2 ranks, 0, 1 had not ended after 2 s and were killed; .*"),
    ],
)
def test_a_faulty_rank_ends_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, limit_s: int, said: str
) -> None:
    if fault != "dies":
        monkeypatch.setattr(measure, "start_processes", forked)
    with pytest.raises(StageError, match=f"^{said}$"):
        run_ranks(faulty_rank.run, {"ranks": 2, "limit_s": limit_s, "fault": fault}, tmp_path)
    for path in tmp_path.glob("pid*"):
        with pytest.raises(ProcessLookupError):
            os.kill(int(path.read_text()), 0)


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
