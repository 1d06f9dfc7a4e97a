import io
import json
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
import torch

from workflow_src.common.devices import cuda_devices
from workflow_src.render.markdown import DASH
from workflow_src.studies.attention import analyze as attention
from workflow_src.studies.attention import measure as attention_measure
from workflow_src.studies.attention import nsys_summary as attention_nsys
from workflow_src.studies.attention.module import SingleHeadBlock, kernel_rows, measure_module
from workflow_src.studies.join_points import join
from workflow_src.studies.section import read_table, section
from workflow_src.traces.trace import TraceError

DATA = Path(__file__).parent / "data"
TEMPLATES = Path(__file__).parent.parent / "report_templates"
OOM = {"status": "oom", "reason": "CUDA out of memory", "median_ms": None, "peak_mib": None}


def pair(name: str, context: int, ms: float, mib: float, head_size: int = 64, **more) -> list[dict]:
    """Rows of both phases, the backward pass with twice the time and twice the peak memory."""
    about = {"sweep": "core", "implementation": name, "precision": "bf16", "batch": 8, "heads": 1}
    about |= {"context": context, "head_size": head_size, "status": "ok", "reason": ""}
    rows = [("forward", ms, mib), ("backward", 2 * ms, 2 * mib)]
    return [
        about
        | {"phase": phase, "median_ms": t, "p20_ms": 0.9 * t, "p80_ms": 1.1 * t, "peak_mib": m}
        | {"kept_mib": mib, "kernels": 3}
        | more
        for phase, t, m in rows
    ]


def kernel(name: str, operator: str, implementation: str, share: float) -> dict:
    found = {"sweep": "kernel", "implementation": implementation, "context": 100, "status": "ok"}
    found |= {"operator": operator, "kernel": name, "family": "gemm", "calls": 2, "reason": ""}
    return found | {"busy_ms": share * 10, "share": share}


def written(rows: list[dict], gpu: str = "NVIDIA H200") -> pd.DataFrame:
    """The table of `rows` as a section reads it."""
    result = {"point": {"point": "p"}, "rows": rows, "environment": {"gpu": gpu}}
    return read_table(io.StringIO(join([result], False).to_csv(index=False)))  # type: ignore[arg-type]


def text(rows: list[dict], gpu: str = "NVIDIA H200") -> str:
    return section("attention", written(rows, gpu), TEMPLATES)


CROSSING = [
    *pair("naive", 128, 1.0, 4.0),
    *pair("naive", 256, 4.0, 16.0),
    *pair("naive", 512, 16.0, 64.0),
    *pair("sdpa_flash", 128, 2.0, 4.0),
    *pair("sdpa_flash", 256, 3.0, 8.0),
    *pair("sdpa_flash", 512, 4.0, 16.0),
]


def test_the_fastest_by_runs_of_contexts():
    summary = attention.summarize(written(CROSSING))
    assert summary["runs"] == [
        {"words": ["naive"], "first": 128, "last": 128},
        {"words": ["SDPA flash"], "first": 256, "last": 512},
    ]
    said = text(CROSSING)
    assert "fastest with naive at context 128, SDPA flash from context 256 on." in said
    assert "SDPA flash takes 12.0 ms where naive takes 48.0 ms: 4.00 times faster" in said


def test_those_within_the_fastest_ones_spread_are_named_with_it():
    """Short calls are launch-bound: the order of their medians is the host's luck."""
    rows = [*pair("naive", 128, 1.0, 1.0), *pair("fused_softmax", 128, 1.2, 1.0)]
    rows += [*pair("sdpa_math", 128, 1.3, 1.0)]
    assert attention.summarize(written(rows))["runs"][0]["words"] == ["naive", "fused softmax"]
    said = text(rows)
    assert "fastest with naive or fused softmax at all contexts (128 to 128) (named" in said
    assert "(named together" not in text(CROSSING)


def test_one_that_is_fastest_everywhere():
    rows = [*pair("naive", 128, 1.0, 4.0), *pair("naive", 256, 4.0, 16.0)]
    said = text(rows)
    assert "fastest with naive at all contexts (128 to 256)." in said
    assert "nothing measured is faster than the naive one's 12.0 ms" in said


def test_memory_grows_with_measured_exponents():
    summary = attention.summarize(written(CROSSING))
    assert [r["words"] for r in summary["square"]] == ["naive"]
    assert [r["words"] for r in summary["slower_growth"]] == ["SDPA flash"]
    assert [r["exponent"] for r in summary["grown"]] == pytest.approx([2.0, 1.0])
    said = text(CROSSING)
    assert "near the square with naive (exponent 2.00); more slowly with SDPA flash" in said


def test_an_exponent_over_contexts_that_are_four_times_apart():
    rows = [*pair("compiled", 128, 1.0, 1.0), *pair("compiled", 512, 1.0, 8.0)]
    (grown,) = attention.growth(attention.totals(attention.sweep(written(rows), "core")))
    assert grown["exponent"] == pytest.approx(1.5)


def test_without_peaks_the_kept_memory_counts():
    rows = [r | {"peak_mib": None} for r in CROSSING]
    said = text(rows, gpu="")
    assert "The memory that autograd keeps for the backward pass grows" in said
    assert "Peak memory" not in said
    assert "Operators in one call" in said
    assert "| 512 | 64.0 | 16.0 |" in " ".join(said.split())


def test_what_ran_out_of_memory_is_named_and_left_out_of_totals():
    forward, backward = pair("naive", 1024, 9.0, 99.0)
    rows = [*CROSSING, forward, backward | OOM]
    summary = attention.summarize(written(rows))
    assert summary["oom"] == ["naive, backward, context 1024, head 64"]
    assert summary["against_naive"]["context"] == 512
    assert "9.00 + OOM" in text(rows)


def test_a_backend_that_refuses_is_said_once():
    gone = {"status": "skipped", "reason": "no such kernel", "median_ms": None}
    rows = [*CROSSING, *pair("sdpa_cudnn", 128, 1.0, 1.0, **gone)]
    rows += pair("sdpa_cudnn", 256, 1.0, 1.0, **gone)
    said = text(rows)
    assert "Skipped: SDPA cuDNN at 2 shapes (no such kernel)." in said
    assert "SDPA cuDNN" not in str(attention.summarize(written(rows))["runs"])


def test_the_shown_head_size_is_one_that_was_measured():
    rows = pair("naive", 128, 1.0, 1.0, head_size=16) + pair("naive", 128, 1.0, 1.0, head_size=32)
    assert attention.summarize(written(rows))["head_size"] == 32
    assert attention.summarize(written(rows + CROSSING))["head_size"] == 64


@pytest.mark.parametrize(
    ("after", "said"), [(1.0, "(3.00 times as fast)"), (6.0, "(0.500 times the speed, slower)")]
)
def test_the_module_before_and_after(after, said):
    rows = pair("naive", 100, 3.0, 1.0, sweep="module", kernels=20)
    rows += pair("sdpa", 100, after, 1.0, sweep="module", kernels=5)
    found = text([*CROSSING, *rows])
    assert said in found
    assert "from 40 to 10 kernels" in found


def test_kernels_stand_side_by_side_and_small_ones_are_summed_up():
    rows = [
        kernel("gemm_a", "aten::mm", "naive", 0.6),
        kernel("gemm_a", "aten::mm", "sdpa", 0.9),
        kernel("flash", "aten::_flash", "sdpa", 0.1),
        kernel("tiny_a", "aten::x", "naive", 0.004),
        kernel("tiny_b", "aten::y", "naive", 0.003),
    ]
    lines = [line for line in text([*CROSSING, *rows]).splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert ["aten::mm", "gemm_a", "2", "6.00", "60.0 %", "2", "9.00", "90.0 %"] in cells
    assert ["aten::\\_flash", "flash", DASH, DASH, DASH, "2", "1.00", "10.0 %"] in cells
    assert ["2 more", "each below 0.5 %", "4", "0.0700", "0.7 %", DASH, DASH, DASH] in cells


def summarized(name: str, implementation: str, calls: int, share: float) -> dict:
    row = kernel(name, "", implementation, share)
    return row | {"sweep": "nsys", "calls": calls, "passes": 10, "operator": None}


def test_nsys_summaries_stand_side_by_side_and_name_what_launched():
    rows = [
        kernel("gemm_a", "aten::mm", "naive", 0.6),
        kernel("gemm_a", "aten::addmm", "naive", 0.4),
        kernel("flash", "aten::_flash", "sdpa", 1.0),
        kernel("gemm_a", "aten::bmm", "naive", 1.0) | {"context": 1000},
        summarized("gemm_a", "naive", 40, 1.0),
        summarized("flash", "sdpa", 20, 1.0),
    ]
    said = text([*CROSSING, *rows])
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in said.splitlines()]
    assert ["aten::mm, aten::addmm", "gemm_a", "40", "10.0", "100.0 %", DASH, DASH, DASH] in cells
    assert "cuda_gpu_kern_sum summarizes them, 10 passes" in said
    assert "count the same calls of every kernel in a pass." in said
    differing = text([*CROSSING, *rows[:-1], summarized("flash", "sdpa", 30, 1.0)])
    assert "torch.profiler count different calls of flash in a pass." in differing
    unseen = text([*CROSSING, *rows, kernel("lost", "aten::exp", "sdpa", 0.1)])
    assert "torch.profiler count different calls of lost in a pass." in unseen
    copied = text([*CROSSING, *rows, kernel("Memset (Device)", "aten::zero_", "sdpa", 0.1)])
    assert "count the same calls of every kernel in a pass." in copied
    assert "nsys" not in text(CROSSING)


def test_rows_of_what_nsys_printed():
    printed = (DATA / "nsys" / "tiny-ctx64-fp32" / "cuda_gpu_kern_sum.csv").read_text()
    rows = attention_nsys.summary_rows(printed)
    assert sum(row["busy_ms"] for row in rows) == pytest.approx(5.736596, abs=1e-9)
    assert sum(row["share"] for row in rows) == pytest.approx(1.0)
    assert rows[0]["busy_ms"] == max(row["busy_ms"] for row in rows)
    assert json.loads(json.dumps(rows)) == rows
    with pytest.raises(TraceError, match="no kernel"):
        attention_nsys.summary_rows("")


def test_without_nsys_the_study_says_why(monkeypatch):
    def missing(*_, **__):
        raise TraceError("nsys is not on the PATH")

    monkeypatch.setattr(attention_nsys.nsys, "profile", missing)
    point = {"device": "cuda", "precision": "bf16", "batch": 2, "width": 16, "contexts": [10]}
    rows = attention_nsys.measure_summaries(point)
    assert [(r["implementation"], r["status"]) for r in rows] == [
        ("naive", "skipped"),
        ("sdpa", "skipped"),
    ]
    said = text([*CROSSING, *rows])
    assert "- Without a summary by nsys: nsys is not on the PATH." in said
    assert not attention_nsys.measure_summaries(point | {"device": "cpu"})


@pytest.mark.gpu
@pytest.mark.skipif(not cuda_devices(), reason="needs a CUDA device")
def test_nsys_and_torch_profiler_count_the_same_kernels_of_the_module():
    point = {"device": "cuda", "precision": "bf16", "batch": 32, "width": 256, "contexts": [100]}
    kernels = [row for row in measure_module(point) if row["sweep"] == "kernel"]
    found = attention.counted(attention_nsys.measure_summaries(point), kernels)
    assert found["kernels"] > 20 and not found["skipped"]
    assert found["differing"] == []


def test_nothing_measured_is_said(tmp_path):
    rows = pair("naive", 128, 1.0, 1.0, **OOM)
    assert "No implementation of attention was measured in both phases." in text(rows)
    attention.draw(written(rows), tmp_path / "a.svg")
    assert "no attention was measured" in (tmp_path / "a.svg").read_text()


def test_the_figure_names_each_implementation(tmp_path):
    attention.draw(written(CROSSING), tmp_path / "a.svg")
    drawn = (tmp_path / "a.svg").read_text()
    assert all(words in drawn for words in ("naive", "SDPA flash", "peak memory (head size 64)"))


@pytest.mark.parametrize("name", [*attention.EAGER, "compiled"])
def test_every_implementation_has_a_name(name):
    assert name in attention.WORDS


def qkv() -> list[torch.Tensor]:
    return [torch.randn(2, 1, 12, 8, requires_grad=True) for _ in range(3)]


@pytest.mark.parametrize("name", ["fused_softmax", "sdpa_math", "sdpa_flash"])
def test_implementations_agree(name):
    torch.manual_seed(0)
    inputs = qkv()
    ours = attention_measure.core_of(name, 12, "cpu")(*inputs)
    naive = attention_measure.core_of("naive", 12, "cpu")(*inputs)
    torch.testing.assert_close(ours, naive)


def test_a_backend_that_is_not_there_refuses_with_a_reason():
    call = partial(attention_measure.core_of("sdpa_cudnn", 12, "cpu"), *qkv())
    assert attention_measure.refusal(call)
    assert not attention_measure.refusal(
        partial(attention_measure.core_of("naive", 12, "cpu"), *qkv())
    )


@pytest.mark.parametrize("error", [RuntimeError("shape mismatch"), torch.OutOfMemoryError("full")])
def test_other_errors_are_no_refusal(error):
    def fail() -> None:
        raise error

    with pytest.raises(type(error)):
        attention_measure.refusal(fail)


def test_a_missing_compiler_is_a_refusal():
    class InvalidCxxCompiler(RuntimeError):
        pass

    def fail() -> None:
        error = RuntimeError("backend failed")
        error.inner_exception = InvalidCxxCompiler("No working C++ compiler found in x. More")
        raise error

    assert attention_measure.refusal(fail) == "No working C++ compiler found in x"


def test_the_reason_is_what_torch_warned_of():
    said = [
        "Flash attention kernel not used because: (Triggered internally at a.cpp:1.)",
        "Expected query to be half (Triggered internally\n at b.cpp:2.)",
        "Memory Efficient attention has been runtime disabled. (Triggered internally)",
    ]
    found = attention_measure.reason_of("No available kernel. Aborting execution.", said)
    assert found == "Expected query to be half"
    assert (
        attention_measure.reason_of("No available kernel. Aborting.", []) == "No available kernel"
    )


def test_out_of_memory_comes_out_per_phase(monkeypatch):
    def fail(task):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 1 GiB")

    inputs = qkv()
    core = attention_measure.core_of("naive", 12, "cpu")
    forward = partial(core, *inputs)
    task = attention_measure.Task(forward, inputs, torch.ones(2, 1, 12, 8), "cpu", 0)
    monkeypatch.setattr(attention_measure, "time_backward", fail)
    first, second = attention_measure.measure_phases(task, profiled=False, keeps=True)
    assert (first["phase"], first["status"]) == ("forward", "ok")
    assert (second["status"], second["reason"]) == ("oom", "CUDA out of memory")
    monkeypatch.setattr(attention_measure, "time_within", lambda *_: fail(task))
    first, second = attention_measure.measure_phases(task, profiled=False, keeps=True)
    assert (first["status"], second["status"]) == ("oom", "skipped")


def test_kernels_of_a_module_by_operator():
    columns = {"operator": ["mm", "mm", "exp", "view"], "short_name": ["g", "g", "e", "v"]}
    families = ["gemm", "gemm", "elementwise", "bookkeeping"]
    times = {"family": families, "duration_ns": [1_000_000, 2_000_000, 1_000_000, 7]}
    rows = kernel_rows(pd.DataFrame(columns | times))
    found = [(r["operator"], r["kernel"], r["calls"], r["busy_ms"], r["share"]) for r in rows]
    assert found == [("mm", "g", 2, 3.0, 0.75), ("exp", "e", 1, 1.0, 0.25)]


def test_the_module_keeps_its_shape_and_cores_agree_in_it():
    torch.manual_seed(0)
    naive = SingleHeadBlock(8, attention_measure.core_of("naive", 5, "cpu"))
    fused = SingleHeadBlock(8, attention_measure.attention_core("sdpa", 5))
    fused.load_state_dict(naive.state_dict())
    x = torch.randn(2, 5, 8)
    assert naive(x).shape == x.shape
    torch.testing.assert_close(naive(x), fused(x))


@pytest.mark.parametrize(("device", "scale"), attention.CONTEXTS)
def test_points_have_ids_of_their_own(device, scale):
    ids = [point["point"] for point in attention.points(device, scale)]
    assert ids == ["cores", "compiled", "module"]


def test_measuring_on_a_cpu(monkeypatch):
    monkeypatch.setattr(attention_measure, "BUDGET_MS", 1.0)
    cores, compiled, module = [p | {"device": "cpu"} for p in attention.points("cpu", "small")]
    small = {"contexts": [16, 64], "head_sizes": [64], "profiled_contexts": [64]}
    rows = attention.measure(cores | small) + attention.measure(compiled)
    rows += attention.measure(module | {"batch": 2, "width": 16, "contexts": [10]})
    status = {(r["implementation"], r["status"]) for r in rows if r["sweep"] == "core"}
    ran = {"naive", "fused_softmax", "sdpa_math", "sdpa_flash"}
    gone = {"sdpa_efficient", "sdpa_cudnn", "compiled"}
    assert status == {(n, "ok") for n in ran} | {(n, "skipped") for n in gone}
    shares = [r["share"] for r in rows if r["sweep"] == "kernel" and r["implementation"] == "sdpa"]
    assert sum(shares) == pytest.approx(1.0)
    naive = [r for r in rows if r["implementation"] == "naive" and r["sweep"] == "core"]
    assert [r.get("kernels", 0) > 0 for r in naive] == [False, False, True, True]
    assert "at context 10, SDPA takes" in text(rows, gpu="")
