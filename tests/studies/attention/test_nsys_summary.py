import json

import pytest

from tests.studies.attention.small import MODULE, SMALL_MODULE, derived
from tests.studies.tables import table
from tests.workflow import ROOT
from workflow_src.common.devices import cuda_devices
from workflow_src.common.errors import TraceError
from workflow_src.studies.attention import nsys_summary, points, task
from workflow_src.studies.attention.module import measure_module
from workflow_src.studies.attention.modules import calls_compared
from workflow_src.studies.lines import lines

DATA = ROOT / "tests" / "data"


NSYS = {"sweep": "nsys", "implementation": "naive", "context": 64, "status": "ok", "reason": ""}


def test_rows_of_what_nsys_printed():
    printed = (DATA / "nsys" / "tiny-ctx64-fp32" / "cuda_gpu_kern_sum.csv").read_text()
    raw = nsys_summary.summarized(printed)
    assert len(raw) == len(printed.splitlines()) - 1
    assert raw[1] == {
        "range": "",
        "kind": "kernel",
        "operator": "",
        "name": "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma"
        "_aligna4_alignc4_execute_kernel__5x_cublas",
        "calls": 102,
        "busy_ns": 448_923,
    }
    assert sum(row["busy_ns"] for row in raw) == 5_736_596
    rows = derived([NSYS | {"passes": 10, "activities": raw}])
    assert sum(row["busy_ms"] for row in rows) == pytest.approx(5.736596, abs=1e-9)
    assert sum(row["share"] for row in rows) == pytest.approx(1.0)
    assert sum(row["calls"] for row in rows) == sum(row["calls"] for row in raw)
    assert rows[0]["busy_ms"] == max(row["busy_ms"] for row in rows)
    assert {row["passes"] for row in rows} == {10}
    assert json.loads(json.dumps(rows)) == rows
    for nothing in ("", printed.splitlines()[0] + "\n"):
        with pytest.raises(TraceError, match="no kernel"):
            nsys_summary.summarized(nothing)


def test_without_nsys_the_study_says_why(monkeypatch):
    def missing(*_, **__):
        raise TraceError("nsys is not on the PATH")

    monkeypatch.setattr(nsys_summary.nsys_cli, "profile", missing)
    raw = nsys_summary.measure_summaries(SMALL_MODULE | {"device": "cuda"})
    rows = derived(raw)
    assert [(r["implementation"], r["status"]) for r in rows] == [
        ("naive", "skipped"),
        ("sdpa", "skipped"),
    ]
    assert not nsys_summary.measure_summaries(SMALL_MODULE)


def test_nsys_runs_a_program_that_measures_the_same_module(monkeypatch):
    """What nsys profiles is this module's own command; run here without nsys, on a CPU."""
    ran: list[list[str]] = []
    passes: list[str] = []
    point = SMALL_MODULE | {"device": "cuda"}

    def profile(output, program, device, os_tracing):
        ran.append(program)

    printed = "Total Time (ns),Instances,Name\n12,4,one_kernel\n"
    monkeypatch.setattr(task.Task, "forward_and_backward", lambda mine: passes.append(mine.device))
    monkeypatch.setattr(nsys_summary.nsys_cli, "profile", profile)
    monkeypatch.setattr(nsys_summary.nsys_cli, "stats", lambda *_: printed)
    rows = nsys_summary.measure_summaries(point)
    assert [row["activities"][0]["calls"] for row in rows] == [4, 4]
    assert [row["passes"] for row in rows] == [3, 3]
    for program, implementation in zip(ran, ("naive", "sdpa"), strict=True):
        assert program[1:4] == ["-m", "workflow_src.studies.attention.nsys_summary", "--point"]
        assert json.loads(program[4]) == point
        assert program[5:] == ["--implementation", implementation, "--context", "10"]
        patched = ["", "--point", json.dumps(SMALL_MODULE), *program[5:]]
        monkeypatch.setattr("sys.argv", patched)
        nsys_summary.main()
    assert len(passes) == 2 * (SMALL_MODULE["warmup_passes"] + SMALL_MODULE["passes"])


@pytest.mark.gpu
@pytest.mark.skipif(not cuda_devices(), reason="needs a CUDA device")
def test_nsys_and_torch_profiler_count_the_same_kernels_of_the_module():
    point = MODULE | {"device": "cuda", "precision": "bf16", "contexts": [100]}
    ours = [row for row in derived(measure_module(point)) if row["sweep"] == "kernel"]
    assert {row["implementation"] for row in ours} == set(points.VERSIONS)
    by_nsys = table(*derived(nsys_summary.measure_summaries(point)))
    found = calls_compared(*(lines(made, "attention") for made in (by_nsys, table(*ours))))
    counted, differing = (value.number if value else None for value in found)
    assert counted is not None and counted > 20 and differing == 0
