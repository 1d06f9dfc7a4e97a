"""Phases, statistics, the benchmark and the profiled run on small cases."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.workflow import ROOT, served_stage
from workflow_src.captures.export_case import export
from workflow_src.common.atomic_write import write_json
from workflow_src.common.case import PHASES, Case
from workflow_src.common.errors import StageError
from workflow_src.common.own_memory import available_bytes
from workflow_src.common.summary import summarize
from workflow_src.measure import benchmark, profiled_run
from workflow_src.measure.memory import limited_memory
from workflow_src.measure.rows import Row, in_turn
from workflow_src.measure.workload import Workload
from workflow_src.tables.case_tables import case_tables

CASE = Case("t", "tiny", 16, 32, 2, 2, 50, 2, 8, "fp32", "naive", "adamw", "cpu")


def out_of_memory() -> None:
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB. GPU 0 has ...")


class Fake:
    phases, case, compiles = PHASES, CASE, False

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


def test_any_other_error_fails_the_job() -> None:
    def run(phase: str) -> Row:
        raise RuntimeError("CUDA out of memory")

    with pytest.raises(RuntimeError):
        list(in_turn(PHASES, run, Fake().release))


def test_known_samples_give_exact_numbers() -> None:
    found = summarize([1_000_000, 2_000_000, 3_000_000, 4_000_000, 10_000_000])
    assert (found["samples"], found["mean_ms"], found["median_ms"]) == (5, 4.0, 3.0)
    assert found["std_ms"] == pytest.approx(math.sqrt(12.5))
    assert (found["p20_ms"], found["p80_ms"]) == pytest.approx((1.8, 5.2))
    assert found["cv"] == pytest.approx(math.sqrt(12.5) / 4)

    assert math.isnan(summarize([5])["std_ms"]), "one has no spread"


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
@pytest.mark.parametrize("optimizer", ["adamw", "foreach", "fused"])
def test_each_phase_runs_in_each_precision(precision: str, optimizer: str) -> None:
    workload = Workload(replace(CASE, precision=precision, optimizer=optimizer))
    before = workload.model.state_dict()["embedding.weight"].clone()
    for phase in PHASES:
        workload.phase(phase)()
    after = workload.model.state_dict()["embedding.weight"]
    assert torch.isfinite(after).all() and not torch.equal(before, after)


def test_only_tf32_enables_tf32() -> None:
    for precision, allowed in (("tf32", True), ("fp32", False), ("bf16", False)):
        Workload(replace(CASE, precision=precision))
        assert torch.backends.cuda.matmul.allow_tf32 is allowed


def test_a_benchmark_keeps_every_raw_sample_after_the_warm_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[str] = []
    original = Workload.phase

    def counted(self: Workload, name: str) -> Any:
        step = original(self, name)
        return lambda: (calls.append(name), step())

    monkeypatch.setattr(Workload, "phase", counted)
    found = benchmark.measure(CASE, warmup_steps=2, steps=3)
    assert sorted(calls) == sorted(5 * PHASES)
    for phase in PHASES:
        assert found[phase]["status"] == "ok" and len(found[phase]["samples_ns"]) == 3
        assert found[phase]["peak_memory_mib"] > 0


def test_a_case_that_does_not_fit_still_has_a_complete_capture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Workload, "__init__", lambda self, case: out_of_memory())
    capture, result = tmp_path / "c.kineto.json.gz", tmp_path / "b.json"
    profiled_run.profiled_run(CASE, 3, 2, capture)
    export(capture, tmp_path / "export")
    write_json(result, benchmark.benchmark(CASE, 1, 3))
    tables = case_tables(tmp_path / "export", result)
    assert tables["timings"]["status"].tolist() == ["oom", "skipped", "skipped"]
    assert len(tables["ranges"]) == 0 and "path" in tables["ranges"].columns


LARGE = replace(CASE, context=1024, layers=4)
"""Its forward pass needs less than 200 MiB, its backward pass over 300 MiB."""


def test_without_a_limit_memory_runs_out_before_the_kernel_kills_anybody() -> None:
    """Nothing is written to what is allocated here, so it takes no memory."""
    with limited_memory("cpu", None), pytest.raises(RuntimeError, match="can't allocate memory"):
        torch.empty(int(available_bytes() * 0.98), dtype=torch.uint8)


def test_a_limit_beyond_what_is_available_is_refused_in_one_sentence() -> None:
    said = r"^memory_limit_gib: 1e\+06 is more than is available now \(\d+\.\d GiB\)$"
    with pytest.raises(StageError, match=said), limited_memory("cpu", 1e6):
        pass


def test_the_limit_of_every_control_group_counts(tmp_path: Path) -> None:
    inner, outer = "sys/fs/cgroup/slice/job", "sys/fs/cgroup/slice"
    first = "sys/fs/cgroup/memory/job"
    use = {"memory.current": "2000000", "memory.stat": "anon 5\ninactive_file 500000"}
    machine = {"proc/meminfo": "MemTotal: 9000 kB\nMemAvailable: 8000 kB"}
    machine["proc/self/cgroup"] = "4:cpu,cpuacct:/\n3:memory:/job/step\n0::/slice/job"
    second = {f"{at}/{name}": text for at in (inner, outer) for name, text in use.items()}
    second |= {f"{inner}/memory.max": "max", f"{outer}/memory.max": "6000000"}
    old = {f"{first}/memory.limit_in_bytes": "3000000", f"{first}/memory.usage_in_bytes": "1000000"}
    old[f"{first}/memory.stat"] = "inactive_file 1\ntotal_inactive_file 7"
    full = {f"{first}/memory.usage_in_bytes": "9000000"}
    steps = [(machine, 8000 * 1024), (second, 4_500_000), (old, 2_000_007), (full, 0)]
    for files, available in steps:
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(f"{text}\n")
        assert available_bytes(tmp_path) == available


def run_stage(module: str, case: Case, output: Path) -> list[str]:
    """Run a measuring stage on a case, and return the lines that it prints about it."""
    settings = {"warmup_steps": 0, "steps": 1, "capture_steps": 1, "processes": 1}
    row = json.dumps(case.as_dict() | settings)
    given = ["--case", row, "--output", str(output)]
    status, said = served_stage(ROOT, f"workflow_src.measure.{module}", *given)
    assert status == 0, said
    return [line for line in said.splitlines() if line.startswith(case.case)]


def test_a_benchmark_and_a_capture_keep_to_the_memory_limit_of_a_cpu(tmp_path: Path) -> None:
    case, output = replace(LARGE, memory_limit_gib=0.25), tmp_path / "b.json"
    said = run_stage("benchmark", case, output)
    phases = json.loads(output.read_text())["phases"]
    assert [phases[phase]["status"] for phase in PHASES] == ["ok", "oom", "skipped"]
    assert said[0].startswith("t forward: ") and said[0].endswith(" ms at best")
    assert said[1] == "t forward_backward: oom (CPU out of memory)"
    assert len(said) == 3
    said = run_stage("profiled_run", case, tmp_path / "c.kineto.json.gz")
    assert said[-2:] == ["t: capturing 1 steps of forward", "t: captured"]
    assert "t forward_backward: oom (CPU out of memory)" in said
    export(tmp_path / "c.kineto.json.gz", tmp_path / "export")
    timed = case_tables(tmp_path / "export", output)["timings"]
    assert timed["reason"].tolist()[1] == "CPU out of memory"
