import io
import json
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest
import torch

from workflow_src.cli import check_numbers
from workflow_src.common.devices import cuda_devices
from workflow_src.common.errors import TraceError
from workflow_src.plan.config import load
from workflow_src.render.markdown import DASH
from workflow_src.studies import refusals
from workflow_src.studies.attention import analyze as attention
from workflow_src.studies.attention import cores, kernels, nsys_summary, points, task
from workflow_src.studies.attention.measure import measure
from workflow_src.studies.attention.module import (
    SingleHeadBlock,
    attention_core,
    measure_module,
    module_task,
)
from workflow_src.studies.attention.plain import PackedAttention, PlainAttention, shapes
from workflow_src.studies.attention.section import SECTION
from workflow_src.studies.attention.waiting import launching
from workflow_src.studies.join_points import table_rows
from workflow_src.studies.section import read_table
from workflow_src.traces.families import load_rules

ROOT = Path(__file__).parent.parent
DATA = ROOT / "tests" / "data"
SETTINGS = load(ROOT / "config.yaml")
RULES = load_rules(ROOT / "workflow_src" / "traces" / "families.csv")
OOM = {"status": "oom", "reason": "CUDA out of memory", "median_ms": None, "peak_mib": None}


CORES, COMPILED, MODULE, PLAIN = (
    point | {"device": "cpu", "budget_ms": 1.0} for point in points.points("cpu", "small", SETTINGS)
)
SMALL_CORES = CORES | {"contexts": [16, 64], "head_sizes": [64], "profiled_contexts": [64]}
SMALL_PLAIN = PLAIN | {"batches": [2, 3], "contexts": [8, 16], "width": 16}
SMALL_MODULE = MODULE | {"batch": 2, "width": 16, "contexts": [10], "passes": 3}


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
    around = {"point": "p", "gpu": gpu}
    return read_table(io.StringIO(pd.DataFrame([around | row for row in rows]).to_csv(index=False)))


def derived(raw: list[dict]) -> list[dict]:
    """The table's rows of a measured point."""
    result = {"point": {"point": "p"}, "rows": raw, "environment": {"gpu": ""}}
    return table_rows(json.loads(json.dumps(result)), attention.derive, RULES)


def text(rows: list[dict], gpu: str = "NVIDIA H200") -> str:
    table, templates = written(rows, gpu), ROOT / "report_templates"
    return SECTION.markdown(table, templates) + SECTION.appendix(table, templates)


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
        {"words": ["written out"], "first": 128, "last": 128},
        {"words": ["SDPA flash"], "first": 256, "last": 512},
    ]
    said = text(CROSSING)
    assert (
        "fastest with written out at context 128, and with SDPA flash from context 256 on." in said
    )
    assert "SDPA flash takes 12.0 ms for forward and backward where" in said
    assert "the written-out one takes 48.0 ms: 4.00 times as fast, with 32.0 MiB of peak" in said
    assert "memory where it takes 128 MiB." in said
    assert "| written out (naive)" in said and "naive" not in said.replace("(naive)", "")


def test_those_within_the_fastest_ones_spread_are_named_with_it():
    """Short calls are launch-bound: the order of their medians is the host's luck."""
    rows = [*pair("naive", 128, 1.0, 1.0), *pair("fused_softmax", 128, 1.2, 1.0)]
    rows += [*pair("sdpa_math", 128, 1.3, 1.0)]
    assert attention.summarize(written(rows))["runs"][0]["words"] == [
        "written out",
        "fused softmax",
    ]
    said = text(rows)
    assert "fastest with written out or fused softmax at all contexts (128 to 128) (named" in said
    assert "(named together" not in text(CROSSING)


def busy(rows: list[dict], share: float) -> list[dict]:
    return [row | {"busy_ms": share * row["median_ms"]} for row in rows]


def test_times_that_wait_for_launches_are_told_from_those_that_do_not():
    rows = [*busy(CROSSING[:2], 0.1), *busy(CROSSING[6:8], 0.2), *CROSSING[2:4], *CROSSING[8:10]]
    rows += [*busy(CROSSING[4:6], 1.0), *busy(CROSSING[10:], 0.9)]
    said = text(rows)
    assert (
        "Of those profiled at context 128, none keeps the device busy for more than 20.0 % of its "
        "time, so that their times there compare how long the host takes to launch the kernels.\n"
        "Beyond context 128, forward and backward are fastest with SDPA flash from context 256 on"
    ) in said
    assert "| 3.00 (10 %)" in said and "| 12.0 (90 %)" in said
    late = text([*rows[:-2], *busy(CROSSING[10:], 0.5)])
    assert "Even at context 512 the fastest, SDPA flash, keeps the device busy for only" in late
    assert "are fastest with" not in late
    assert "Of those profiled" not in text(rows, gpu="")
    assert "A share over 100 %" not in said
    over = text([*rows[:-2], *busy(CROSSING[10:], 1.02)])
    assert "(102 %)" in over and "A share over 100 % is of two different calls" in over
    waits = [*busy(CROSSING, 0.9), *busy(pair("naive", 1024, 9.0, 9.0), 0.9)]
    waits += [*busy(pair("sdpa_flash", 1024, 1.0, 1.0), 0.5), *pair("sdpa_flash", 2048, 2.0, 2.0)]
    between = text(waits)
    assert "At context 1024 even the fastest, SDPA flash, keeps the device busy for" in between
    assert "50.0 %. Beyond that, forward and backward are fastest with SDPA flash" in between
    assert "the device's busy time is not in this table" in text(CROSSING)


def test_only_what_was_profiled_is_said_to_wait_for_launches():
    """A profile that recorded nothing leaves an implementation without a busy share."""
    forward, backward = pair("sdpa_efficient", 512, 1.0, 1.0)
    rows = [*busy(CROSSING[:2], 0.1), *CROSSING[2:4], *busy(CROSSING[4:6], 0.25)]
    rows += [*CROSSING[6:10], *busy(CROSSING[10:], 0.2), *busy([forward], 0.7), backward]
    rows += busy(pair("naive", 1024, 9.0, 9.0), 1.0)
    said = text(rows)
    assert (
        "Of those profiled at contexts 128 and 512, none keeps the device busy for more than "
        "25.0 % of its time, so that their times there compare how long the host takes to launch "
        "the kernels. SDPA flash at context 128 and SDPA memory-efficient at context 512 have no "
        "profile of both passes.\n"
    ) in said
    assert "Up to context" not in said
    assert "Beyond context 512, forward and backward are fastest with written out from" in said


def test_a_context_that_waits_beyond_one_that_does_not_is_not_counted():
    rows = [*busy(pair("naive", 128, 1.0, 1.0), 0.1), *busy(pair("naive", 512, 2.0, 2.0), 0.9)]
    found = launching(attention.totals(attention.sweep(written(rows), "core")))
    assert found is not None and found["waits"] == [128]
    rows += busy(pair("naive", 1024, 3.0, 3.0), 0.2)
    found = launching(attention.totals(attention.sweep(written(rows), "core")))
    assert found is not None and found["waits"] == [128]
    assert [row["context"] for row in found["fastest"]] == [1024]


def test_the_fastest_is_not_said_to_wait_if_it_was_not_profiled():
    rows = [*busy(pair("naive", 128, 9.0, 1.0), 0.9), *busy(pair("sdpa_math", 128, 5.0, 1.0), 0.2)]
    assert "the fastest, SDPA math, keeps the device busy for only 20.0 %" in text(rows)
    assert "the fastest, SDPA" not in text([*rows, *pair("sdpa_flash", 128, 1.0, 1.0)])


def test_one_that_is_fastest_everywhere():
    rows = [*pair("naive", 128, 1.0, 4.0), *pair("naive", 256, 4.0, 16.0)]
    said = text(rows)
    assert "fastest with written out at all contexts (128 to 256)." in said
    assert "nothing measured is faster than the written-out version's 12.0 ms" in said


def test_memory_grows_with_measured_exponents():
    summary = attention.summarize(written(CROSSING))
    assert [r["words"] for r in summary["square"]] == ["written out"]
    assert [r["words"] for r in summary["slower_growth"]] == ["SDPA flash"]
    grown = [r["exponent"] for r in (*summary["square"], *summary["slower_growth"])]
    assert grown == pytest.approx([2.0, 1.0])
    said = text(CROSSING)
    assert "as the matrix of scores does, in written out (exponent 2.00" in said
    assert ", but more slowly in SDPA flash (1.00)." in said


def test_an_exponent_over_contexts_that_are_four_times_apart():
    rows = [*pair("compiled", 128, 1.0, 1.0), *pair("compiled", 512, 1.0, 8.0)]
    (grown,) = attention.growth(attention.totals(attention.sweep(written(rows), "core")))
    assert grown["exponent"] == pytest.approx(1.5)


def test_without_peaks_the_kept_memory_counts():
    rows = [r | {"peak_mib": None} for r in CROSSING]
    said = text(rows, gpu="")
    assert "The memory that autograd keeps for the backward pass grows" in said
    assert "Peak memory" not in said
    assert "of memory kept for backward" in said
    assert "Operators in one call" in said
    assert "| 512 | 64.0 | 16.0 |" in " ".join(said.split())


def test_what_ran_out_of_memory_is_named_and_left_out_of_totals():
    forward, backward = pair("naive", 1024, 9.0, 99.0)
    rows = [*CROSSING, forward, backward | OOM]
    summary = attention.summarize(written(rows))
    assert summary["oom"] == ["written out, backward, context 1024, head 64"]
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
    said = text([*CROSSING, *rows])
    assert "- Without a summary by nsys: nsys is not on the PATH." in said
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
    found = kernels.counted(derived(nsys_summary.measure_summaries(point)), ours)
    assert found["kernels"] > 20 and not found["skipped"]
    assert found["differing"] == []


def test_nothing_measured_is_said():
    rows = pair("naive", 128, 1.0, 1.0, **OOM)
    assert "No implementation of attention was measured in both phases." in text(rows)
    assert "no attention was measured" in SECTION.svg(written(rows))


def test_the_figure_names_each_implementation():
    drawn = SECTION.svg(written(CROSSING))
    assert all(
        words in drawn for words in ("written out", "SDPA flash", "peak memory (head size 64)")
    )


@pytest.mark.parametrize("name", [*points.EAGER, *points.VERSIONS, "compiled"])
def test_every_implementation_has_a_name(name):
    assert name in attention.WORDS


def qkv() -> list[torch.Tensor]:
    return [torch.randn(2, 1, 12, 8, requires_grad=True) for _ in range(3)]


@pytest.mark.parametrize("name", ["fused_softmax", "sdpa_math", "sdpa_flash"])
def test_implementations_agree(name):
    torch.manual_seed(0)
    inputs = qkv()
    ours = cores.core_of(name, 12, "cpu")(*inputs)
    naive = cores.core_of("naive", 12, "cpu")(*inputs)
    torch.testing.assert_close(ours, naive)


def test_a_backend_that_is_not_there_refuses_with_a_reason():
    call = partial(cores.core_of("sdpa_cudnn", 12, "cpu"), *qkv())
    assert refusals.refusal(call)
    assert not refusals.refusal(partial(cores.core_of("naive", 12, "cpu"), *qkv()))


@pytest.mark.parametrize("error", [RuntimeError("shape mismatch"), torch.OutOfMemoryError("full")])
def test_other_errors_are_no_refusal(error):
    def fail() -> None:
        raise error

    with pytest.raises(type(error)):
        refusals.refusal(fail)


def test_a_missing_compiler_is_a_refusal():
    class InvalidCxxCompiler(RuntimeError):
        pass

    def fail() -> None:
        error = RuntimeError("backend failed")
        error.inner_exception = InvalidCxxCompiler("No working C++ compiler found in x. More")
        raise error

    assert refusals.refusal(fail) == "No working C++ compiler found in x"


def test_the_reason_is_what_torch_warned_of():
    said = [
        "Flash attention kernel not used because: (Triggered internally at a.cpp:1.)",
        "Expected query to be half (Triggered internally\n at b.cpp:2.)",
        "Memory Efficient attention has been runtime disabled. (Triggered internally)",
    ]
    found = refusals.reason_of("No available kernel. Aborting execution.", said)
    assert found == "Expected query to be half"
    assert refusals.reason_of("No available kernel. Aborting.", []) == "No available kernel"


def out_of_memory(*_, **__) -> None:
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 1 GiB")


def test_out_of_memory_comes_out_per_phase(monkeypatch):
    inputs = qkv()
    forward = partial(cores.core_of("naive", 12, "cpu"), *inputs)
    mine = task.Task(forward, inputs, torch.ones(2, 1, 12, 8), "cpu", 0)
    phases = partial(task.measure_phases, mine, 1.0, profiled=False, keeps=True)
    monkeypatch.setattr(task, "time_backward", out_of_memory)
    first, second = phases()
    assert (first["phase"], first["status"]) == ("forward", "ok")
    assert (second["status"], second["reason"]) == ("oom", "CUDA out of memory")
    monkeypatch.setattr(task, "time_within", out_of_memory)
    first, second = phases()
    assert (first["status"], second["status"]) == ("oom", "skipped")


def forwards_of_a_core(monkeypatch, another: bool) -> tuple[task.Row, list[int]]:
    """The row of forward passes of 1000 bytes on a cache of 1000, and whose inputs each took."""
    taken: list[int] = []
    made = iter(range(1, 100))

    def forward(number: int) -> torch.Tensor:
        taken.append(number)
        return torch.ones(1)

    monkeypatch.setattr(task, "l2_bytes", lambda device: 1000)
    more = (lambda: partial(forward, next(made))) if another else None
    mine = task.Task(partial(forward, 0), [], torch.ones(1), "cpu", 0, more)
    return task.time_forward(mine, 1e-6, 1000), taken


def test_forward_passes_take_inputs_in_turn_that_no_cache_holds(monkeypatch):
    row, taken = forwards_of_a_core(monkeypatch, another=True)
    assert row["sets"] == 3 and set(taken) == {0, 1, 2}
    assert all(before != after for before, after in pairwise(taken))
    row, taken = forwards_of_a_core(monkeypatch, another=False)
    assert "sets" not in row and set(taken) == {0}


def test_another_forward_pass_of_a_core_has_inputs_of_its_own():
    mine = cores.core_task(SMALL_CORES, "naive", 16, 8)
    assert mine.another is not None
    assert not torch.equal(mine.forward(), mine.another()())
    assert torch.equal(mine.forward(), mine.forward())


def test_inputs_that_do_not_fit_are_out_of_memory(monkeypatch):
    """The rows are those of a forward pass that ran out: backward needs more and is skipped."""
    monkeypatch.setattr(torch, "randn", out_of_memory)
    expected = [
        ("forward", "oom", "CUDA out of memory"),
        ("backward", "skipped", "needs more memory than forward, which ran out"),
    ]
    rows = cores.measure_core(SMALL_CORES, "naive", 64, 16)
    assert [(r["phase"], r["status"], r["reason"]) for r in derived(rows)] == expected
    rows = measure_module(SMALL_MODULE)
    assert [(r["phase"], r["status"], r["reason"]) for r in derived(rows)] == 2 * expected
    assert {r["sweep"] for r in rows} == {"module"}


def activity(name: str, calls: int, busy_ns: int, operator: str | None = None) -> dict:
    operator = name if operator is None else operator
    about = {"range": "", "kind": "operator", "operator": operator, "name": name}
    return about | {"calls": calls, "busy_ns": busy_ns}


ALL = [
    activity("aten::mm", 2, 3_000_000),
    activity("aten::exp", 1, 1_000_000),
    activity("aten::view", 5, 7),
]
FORWARD = [activity("aten::mm", 1, 1_000_000), activity("aten::view", 3, 5)]


def test_kernels_of_a_module_by_operator():
    kernel_row = {"sweep": "kernel", "implementation": "naive", "status": "ok", "activities": ALL}
    names = ("operator", "kernel", "family", "calls", "busy_ms", "share")
    rows = derived([kernel_row])
    assert [tuple(row[name] for name in names) for row in rows] == [
        ("aten::mm", "aten::mm", "gemm", 2, 3.0, 0.75),
        ("aten::exp", "aten::exp", "elementwise", 1, 1.0, 0.25),
    ]
    assert {row["implementation"] for row in rows} == {"naive"}


def test_kernels_of_one_short_name_and_family_are_one_row():
    mul = "void at::native::vectorized_elementwise_kernel<{}, at::native::MulFunctor<float> >(int)"
    found = [
        activity(mul.format(4), 2, 500_000, ""),
        activity("a_gemm", 1, 3_000_000, ""),
        activity(mul.format(8), 1, 500_000, ""),
    ]
    rows = derived([NSYS | {"passes": 10, "activities": found}])
    assert [(r["kernel"], r["family"], r["calls"], r["busy_ms"], r["share"]) for r in rows] == [
        ("a_gemm", "gemm", 1, 3.0, 0.75),
        ("vectorized_elementwise(mul)", "elementwise", 3, 1.0, 0.25),
    ]


def test_calls_of_one_kernel_in_two_families_are_added_before_nsys_is_compared():
    rows = [summarized("softmax", "naive", 10, 0.5), summarized("softmax", "naive", 20, 0.5)]
    rows[1]["family"] = "loss"
    ours = kernel("softmax", "aten::_softmax", "naive", 1.0) | {"calls": 3}
    assert kernels.counted(rows, [ours])["differing"] == []
    assert kernels.counted(rows[:1], [ours])["differing"] == ["softmax"]


@pytest.mark.parametrize("sweep", ["core", "module"])
def test_kernels_of_backward_are_those_of_both_less_those_of_forward(sweep):
    about = {"sweep": sweep, "status": "ok", "samples_ns": [1_000_000, 2_000_000, 6_000_000]}
    forward, backward, plain = derived(
        [
            about | {"phase": "forward", "activities": FORWARD},
            about | {"phase": "backward", "both_activities": ALL, "forward_activities": FORWARD},
            about | {"phase": "forward"},
        ]
    )
    assert (forward["kernels"], backward["kernels"]) == (1, 2)
    assert "kernels" not in plain
    assert (plain["samples"], plain["median_ms"], plain["mean_ms"]) == (3, 2.0, 3.0)
    assert "samples_ns" not in plain and "activities" not in forward


def test_a_profile_that_recorded_nothing_counts_no_kernels():
    about = {"sweep": "core", "status": "ok", "samples_ns": [1_000_000] * 3}
    forward, backward = derived(
        [
            about | {"phase": "forward", "activities": []},
            about | {"phase": "backward", "both_activities": ALL, "forward_activities": []},
        ]
    )
    assert "kernels" not in forward and "kernels" not in backward


def test_what_was_not_measured_stays_as_it_is():
    rows = [
        {"sweep": sweep, "status": "oom", "reason": "CUDA out of memory"}
        for sweep in ("core", "module", "nsys")
    ]
    assert attention.derive({}, rows) == rows


def test_the_module_keeps_its_shape_and_cores_agree_in_it():
    torch.manual_seed(0)
    naive = SingleHeadBlock(8, cores.core_of("naive", 5, "cpu"))
    fused = SingleHeadBlock(8, attention_core("sdpa", 5))
    fused.load_state_dict(naive.state_dict())
    x = torch.randn(2, 5, 8)
    assert naive(x).shape == x.shape
    torch.testing.assert_close(naive(x), fused(x))


@pytest.mark.parametrize(("device", "scale"), points.CONTEXTS)
def test_points_have_ids_of_their_own(device, scale):
    found = points.points(device, scale, SETTINGS)
    assert [point["point"] for point in found] == ["cores", "compiled", "module", "plain"]
    assert json.loads(json.dumps(found)) == found


@pytest.fixture(scope="module")
def measured() -> list[dict]:
    """The raw rows of all three points, on a CPU."""
    return [*measure(SMALL_CORES), *measure(COMPILED), *measure(SMALL_MODULE)]


def test_measuring_on_a_cpu(measured):
    rows = derived(measured)
    status = {(r["implementation"], r["status"]) for r in rows if r["sweep"] == "core"}
    ran = {"naive", "fused_softmax", "sdpa_math", "sdpa_flash"}
    gone = {"sdpa_efficient", "sdpa_cudnn", "compiled"}
    assert status == {(n, "ok") for n in ran} | {(n, "skipped") for n in gone}
    shares = [r["share"] for r in rows if r["sweep"] == "kernel" and r["implementation"] == "sdpa"]
    assert sum(shares) == pytest.approx(1.0)
    naive = [r for r in rows if r["implementation"] == "naive" and r["sweep"] == "core"]
    assert [r.get("kernels", 0) > 0 for r in naive] == [False, False, True, True]
    module = [r for r in rows if r["sweep"] == "module"]
    assert [(r["implementation"], r["phase"]) for r in module] == [
        (version, phase) for version in points.VERSIONS for phase in task.PHASES
    ]
    assert all(row["kernels"] > 0 and row["samples"] >= 5 for row in module)
    assert [row["kept_mib"] > 0 for row in module[::2]] == [True, True]
    assert "SDPA brings forward and backward at context 10 from" in text(rows, gpu="")


ACTIVITY = {"range", "kind", "operator", "name", "calls", "busy_ns"}
ABOUT = {"sweep", "implementation", "precision", "batch", "heads", "context", "head_size"}
MEASURED = {"phase", "status", "reason", "samples_ns", "calls_per_sample", "peak_mib", "kept_mib"}
PROFILED = {"activities", "both_activities", "forward_activities"}


def activities(rows: list[dict]) -> Iterator[dict]:
    for row in rows:
        for key in PROFILED & set(row):
            yield from row[key]


def test_a_measured_point_holds_nothing_that_is_worked_out(measured):
    assert {key for row in measured for key in row} == ABOUT | MEASURED | PROFILED
    assert {frozenset(found) for found in activities(measured)} == {frozenset(ACTIVITY)}
    samples = [ns for row in measured for ns in row.get("samples_ns", [])]
    assert samples and all(type(ns) is int for ns in samples)
    once = [row for row in measured if row["sweep"] == "kernel"]
    assert [row["implementation"] for row in once] == list(points.VERSIONS)
    profiled = {(r["phase"], *sorted(PROFILED & set(r))) for r in measured if r.get("kept_mib")}
    assert profiled == {("forward",), ("forward", "activities")}
    assert json.loads(json.dumps(measured)) == measured


def test_the_budget_of_a_point_sets_how_many_samples_are_taken():
    mine = module_task(SMALL_MODULE, "naive", 10)
    few, many = (task.time_backward(mine, budget)["samples_ns"] for budget in (1e-6, 1e6))
    assert (len(few), len(many)) == (5, 50)


def test_the_plain_module_is_attention_without_a_mask() -> None:
    torch.manual_seed(0)
    block, x = PlainAttention(16), torch.randn(2, 8, 16)
    q, k, v = block.q(x), block.k(x), block.v(x)
    expected = block.output(torch.nn.functional.scaled_dot_product_attention(q, k, v))
    torch.testing.assert_close(block(x), expected)
    assert block.q.bias is not None


def test_the_packed_module_is_causal_attention_with_the_same_weights() -> None:
    torch.manual_seed(0)
    block, x = PackedAttention(16, 8), torch.randn(2, 8, 16)
    q, k, v = (x @ part.t() for part in block.qkv.weight.chunk(3))
    mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.testing.assert_close(block(x), block.output(mixed))


def test_the_plain_module_beside_ours_on_a_cpu() -> None:
    assert list(shapes(SMALL_PLAIN)) == [(2, 8), (2, 16), (3, 8)]
    rows = derived(measure(SMALL_PLAIN))
    times = [row for row in rows if row["sweep"] == "plain"]
    assert [(row["implementation"], row["batch"], row["context"]) for row in times] == [
        (name, *shape) for shape in shapes(SMALL_PLAIN) for name in ("plain", "packed")
    ]
    products = {
        name: {
            row["product"]
            for row in rows
            if (row["sweep"], row["implementation"], row.get("family"))
            == ("plain_kernel", name, "gemm")
        }
        for name in ("plain", "packed")
    }
    assert products["plain"] >= {"q", "k", "v", "scores", "values", "output"}
    assert products["packed"] >= {"qkv", "scores", "values", "output"}
    said = text([*rows, *pair("naive", 128, 1.0, 10.0)], gpu="")
    assert "Attention as it is often first written" in said
    assert "At batch 2 and context 16 the plain module spends most on" in said
    assert "forward at batch 2 and context 16 (profiled times)" in said


def plain_rows(
    implementation: str, shape: tuple[int, int], ms: float, busy: float = 1.0
) -> list[dict]:
    batch, context = shape
    about = {"implementation": implementation, "batch": batch, "context": context, "heads": 1}
    about |= {"precision": "fp32", "head_size": 256, "status": "ok", "reason": "", "median_ms": ms}
    parts = {"scores": 0.5, "softmax": 0.3, "values": 0.2}
    return [about | {"sweep": "plain", "phase": "forward"}] + [
        about
        | {"sweep": "plain_kernel", "product": product, "kernel": f"{product}_kernel"}
        | {"family": "gemm", "calls": 1, "busy_ms": busy * share * ms}
        for product, share in parts.items()
    ]


def test_what_the_section_says_of_the_plain_module() -> None:
    rows = [
        *(plain_rows("plain", (8, 128), 1.0) + plain_rows("packed", (8, 128), 2.0)),
        *(plain_rows("plain", (8, 512), 9.0) + plain_rows("packed", (8, 512), 6.0)),
        *plain_rows("plain", (32, 128), 3.0),
    ]
    said = text([*pair("naive", 128, 1.0, 10.0), *rows])
    assert "takes 0.500 (batch 8, context 128) to 1.50 times (batch 8, context 512) as long" in said
    assert "spends most on QK^T and its scaling: 4.50 ms, 50.0 % of its kernels' time" in said
    assert "scores_kernel" in said
    rows[0] |= {"status": "oom", "reason": "full", "median_ms": None}
    assert "Out of memory: plain, forward, context 128" in text(
        [*pair("naive", 128, 1.0, 1.0), *rows]
    )
    assert "first written" not in text(pair("naive", 128, 1.0, 10.0))


def test_the_plain_module_s_ratio_is_of_launching_where_the_device_is_idle() -> None:
    rows = [
        *(plain_rows("plain", (8, 128), 1.0, 0.9) + plain_rows("packed", (8, 128), 2.0, 0.5)),
        *(plain_rows("plain", (8, 512), 9.0, 0.95) + plain_rows("packed", (8, 512), 6.0, 0.99)),
        *pair("naive", 128, 1.0, 10.0),
    ]
    said = text(rows)
    assert (
        "In 1 of the 2 shapes profiled the device is busy for less than 80 % of the time of one "
        "module or both, so that those ratios compare launching, too; in the other the ratio is "
        "1.50.\n"
    ) in said
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in said.splitlines()]
    assert ["8", "128", "1.00", "2.00", "0.500", "90.0 %", "50.0 %"] in cells
    assert ["8", "512", "9.00", "6.00", "1.50", "95.0 %", "99.0 %"] in cells
    on_cpu = text(rows, gpu="")
    assert "shapes profiled" not in on_cpu and "busy |" not in on_cpu


def test_where_both_modules_keep_the_device_busy_nothing_is_said_of_launching() -> None:
    rows = [*plain_rows("plain", (8, 128), 1.0), *plain_rows("packed", (8, 128), 2.0)]
    assert "shapes profiled" not in text([*pair("naive", 128, 1.0, 10.0), *rows])


def test_a_module_without_a_profile_has_no_busy_share() -> None:
    rows = [*plain_rows("plain", (8, 128), 1.0, 0.2), plain_rows("packed", (8, 128), 2.0)[0]]
    rows += plain_rows("plain", (8, 512), 1.0, 0.2) + plain_rows("packed", (8, 512), 2.0, 0.1)
    said = text([*pair("naive", 128, 1.0, 10.0), *rows])
    assert "In 1 of the 1 shape profiled the device is busy for less than 80 %" in said
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in said.splitlines()]
    assert ["8", "128", "1.00", "2.00", "0.500", "20.0 %", "not measured"] in cells


def test_the_published_section_shows_only_numbers_of_its_table() -> None:
    table = read_table(ROOT / "examples" / "h200" / "tables" / "studies" / "attention.csv")
    said = SECTION.markdown(table, ROOT / "report_templates")
    found = check_numbers.section(said, table, "attention")
    assert [number for number in found if not number.sources] == []
