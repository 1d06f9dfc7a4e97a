"""Phases, statistics, the benchmark and the profiled run on small cases."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from workflow_src.common.atomic_write import write_json
from workflow_src.common.case import PHASES, Case
from workflow_src.common.summary import summarize
from workflow_src.measure import benchmark, profiled_run
from workflow_src.measure.oom import Row, in_turn
from workflow_src.measure.workload import Workload
from workflow_src.tables.case_tables import case_tables
from workflow_src.traces.export import export

CASE = Case("t", "tiny", 16, 32, 2, 2, 50, 2, 8, "fp32", "naive", "adamw", "cpu")


def out_of_memory() -> None:
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB. GPU 0 has ...")


class Fake:
    def __init__(self) -> None:
        self.released = 0

    def release(self) -> None:
        self.released += 1


def test_out_of_memory_is_a_result_and_larger_phases_are_skipped() -> None:
    fake = Fake()

    def run(phase: str) -> Row:
        if phase == "forward_backward":
            out_of_memory()
        return {}

    rows = in_turn(PHASES, run, fake.release)
    found = [(phase, row["status"], row["reason"]) for phase, row in rows]
    assert found == [
        ("forward", "ok", ""),
        ("forward_backward", "oom", "CUDA out of memory"),
        ("train_step", "skipped", "needs more memory than forward_backward, which ran out"),
    ]
    assert fake.released == 1


def test_a_phase_that_fits_only_once_is_not_captured() -> None:
    """Seen on an H200 under a 32 GiB cap: by then the allocator's memory was fragmented."""
    calls: list[str] = []

    class Tight(Fake):
        def phase(self, name: str) -> Any:
            def step() -> None:
                calls.append(name)
                if name == "train_step" or calls.count("forward_backward") > 2:
                    out_of_memory()

            return step

        def synchronize(self) -> None:
            pass

    workload: Any = Tight()
    assert profiled_run.warm_up(workload, 2) == ["forward"]
    assert workload.released == 2


@pytest.mark.parametrize("error", [RuntimeError("CUDA out of memory"), MemoryError(), ValueError()])
def test_any_other_error_fails_the_job(error: Exception) -> None:
    def run(phase: str) -> Row:
        raise error

    with pytest.raises(type(error)):
        list(in_turn(PHASES, run, Fake().release))


def test_known_samples_give_exact_numbers() -> None:
    found = summarize([1_000_000, 2_000_000, 3_000_000, 4_000_000, 10_000_000])
    assert (found["samples"], found["mean_ms"], found["median_ms"]) == (5, 4.0, 3.0)
    assert found["std_ms"] == pytest.approx(math.sqrt(12.5))
    assert (found["p20_ms"], found["p80_ms"]) == pytest.approx((1.8, 5.2))
    assert found["cv"] == pytest.approx(math.sqrt(12.5) / 4)


def test_one_sample_has_no_spread_and_none_is_an_error() -> None:
    assert math.isnan(summarize([5])["std_ms"])
    with pytest.raises(ValueError, match="no samples"):
        summarize([])


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
@pytest.mark.parametrize("optimizer", ["adamw", "foreach", "fused"])
def test_each_phase_runs_in_each_precision(precision: str, optimizer: str) -> None:
    workload = Workload(replace(CASE, precision=precision, optimizer=optimizer))
    before = workload.model.state_dict()["embedding.weight"].clone()
    for phase in PHASES:
        workload.phase(phase)()
    after = workload.model.state_dict()["embedding.weight"]
    assert torch.isfinite(after).all() and not torch.equal(before, after)


def test_training_lowers_the_loss() -> None:
    workload = Workload(CASE)

    def loss() -> float:
        with torch.no_grad():
            logits = workload.model(workload.inputs).flatten(0, 1)
            return float(torch.nn.functional.cross_entropy(logits, workload.targets.flatten()))

    before = loss()
    for _ in range(20):
        workload.train_step()
    assert loss() < before


def test_only_tf32_enables_tf32() -> None:
    for precision, allowed in (("tf32", True), ("fp32", False), ("bf16", False)):
        Workload(replace(CASE, precision=precision))
        assert torch.backends.cuda.matmul.allow_tf32 is allowed


def test_release_frees_gradients_and_optimizer_state() -> None:
    workload = Workload(CASE)
    workload.train_step()
    workload.release()
    assert not workload.optimizer.state
    assert all(p.grad is None for p in workload.model.parameters())


def test_a_benchmark_keeps_every_raw_sample_after_the_warm_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: dict[str, int] = dict.fromkeys(PHASES, 0)
    original = Workload.phase

    def counted(self: Workload, name: str) -> Any:
        step = original(self, name)

        def run() -> None:
            calls[name] += 1
            step()

        return run

    monkeypatch.setattr(Workload, "phase", counted)
    found = benchmark.measure(CASE, warmup_steps=2, steps=3)
    assert calls == dict.fromkeys(PHASES, 5)
    for phase in PHASES:
        assert found[phase]["status"] == "ok" and len(found[phase]["samples_ns"]) == 3
        assert found[phase]["peak_memory_mib"] > 0


def test_a_model_that_does_not_fit_is_oom_in_the_first_phase(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Workload, "__init__", lambda self, case: out_of_memory())
    found = benchmark.measure(CASE, 1, 1)
    assert [found[phase]["status"] for phase in PHASES] == ["oom", "skipped", "skipped"]


def recorded(tmp_path: Path, row: dict[str, Any]) -> dict[str, Any]:
    capture, folder = tmp_path / "c.kineto.json.gz", tmp_path / "export"
    profiled_run.profiled_run(CASE, row["warmup_steps"], row["capture_steps"], capture)
    export(capture, folder, os_tracing=False)
    result = tmp_path / "benchmark.json"
    write_json(result, benchmark.benchmark(CASE, 1, 3))
    return case_tables(folder, result)


def test_the_tables_of_a_real_case_account_for_every_nanosecond(tmp_path: Path) -> None:
    tables = recorded(tmp_path, {"warmup_steps": 3, "capture_steps": 2})
    capture = tables["captures"].iloc[0]
    assert capture["attributed_ns"] + capture["outside_ns"] == capture["total_ns"] > 0
    assert capture["family_coverage"] == 1.0
    ranges, kernels = tables["ranges"], tables["kernels"]
    steps = ranges[ranges["path"] == ranges["phase"]]
    assert steps.groupby("phase")["step"].count().to_dict() == dict.fromkeys(PHASES, 2)
    busy = steps.groupby("phase")["busy_ms"].sum()
    by_kernel = kernels.groupby("phase")["busy_ns"].sum() / 1e6
    assert busy.to_dict() == pytest.approx(by_kernel.drop("", errors="ignore").to_dict())
    softmax = ranges[ranges["path"] == "train_step/forward/block/attention/softmax"]
    assert softmax["instances"].tolist() == [CASE.layers] * 2
    assert (ranges["span_ms"] >= ranges["busy_ms"] - 1e-9).all()


def test_calls_per_step_are_integers_after_warm_up(tmp_path: Path) -> None:
    """The capture window opens after warm-up, so every step makes the same calls."""
    kernels = recorded(tmp_path, {"warmup_steps": 3, "capture_steps": 3})["kernels"]
    assert (kernels["calls_per_step"] % 1 == 0).all()


def test_a_case_that_does_not_fit_still_has_a_complete_capture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Workload, "__init__", lambda self, case: out_of_memory())
    tables = recorded(tmp_path, {"warmup_steps": 1, "capture_steps": 2})
    assert tables["timings"]["status"].tolist() == ["oom", "skipped", "skipped"]
    assert len(tables["ranges"]) == 0 and "path" in tables["ranges"].columns
