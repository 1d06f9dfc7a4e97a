"""The plan: cases and their ids, axes, resolving auto, and rejecting what can't be measured."""

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from workflow_src.common.case import (
    CASE_COLUMNS,
    COUNTS,
    LATER,
    OWN,
)
from workflow_src.common.errors import ConfigError
from workflow_src.common.read_table import read_table
from workflow_src.dag.paths import CASE_PATTERN
from workflow_src.dag.start import make_dag
from workflow_src.plan import suites as planning
from workflow_src.plan.suites import make_plan
from workflow_src.plan.write_plan import as_csv

CONFIG = yaml.safe_load((Path(__file__).parent.parent / "config.yaml").read_text())


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    has(monkeypatch, gpus=[], nsys=None)


def has(monkeypatch: pytest.MonkeyPatch, gpus: list[str], nsys: str | None) -> None:
    monkeypatch.setattr(planning, "cuda_devices", lambda: gpus)
    monkeypatch.setattr(planning.shutil, "which", lambda name: nsys)


def plan(tmp_path: Path, **changes: Any) -> planning.Plan:
    return make_plan(CONFIG | changes, tmp_path)


def test_the_assignment_is_five_sizes_by_four_contexts_by_three_precisions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    has(monkeypatch, gpus=["GPU-1"], nsys="/bin/nsys")
    made = plan(tmp_path, suite="assignment")
    assert (made.device, made.profiler, made.capture_suffix) == ("cuda", "nsys", ".nsys-rep")
    assert len(set(made.case_ids)) == 60
    assert made.case_ids[0] == "small-ctx128-fp32"
    assert "2.7B-ctx1024-bf16" in made.case_ids


def test_ids_contain_only_nondefault_values_and_match_the_constraint(tmp_path: Path) -> None:
    axes = {
        "sizes": ["tiny", "2.7B"],
        "contexts": [16],
        "batches": [4, 1],
        "precisions": ["fp32", "bf16"],
        "attentions": ["naive", "fused_softmax", "sdpa"],
        "optimizers": ["adamw", "foreach", "fused"],
        "executions": ["eager", "compiled"],
    }
    ids = plan(tmp_path, suite="s", suites={"s": axes}).case_ids
    assert "tiny-ctx16-fp32" in ids and "2.7B-ctx16-bf16-b1-fused_softmax-foreach-compiled" in ids
    assert len(set(ids)) == len(ids) == 144
    assert all(re.fullmatch(CASE_PATTERN, case_id) for case_id in ids)


def test_deep_models_are_captured_for_fewer_steps(tmp_path: Path) -> None:
    axes = {"sizes": ["tiny", "xl"], "contexts": [16]}
    made = plan(tmp_path, suite="s", suites={"s": axes}, capture_steps=3)
    assert [made.capture_row(name)["capture_steps"] for name in made.case_ids] == [3, 2]


def test_auto_is_resolved_once_and_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    has(monkeypatch, gpus=["GPU-1"], nsys="/bin/nsys")
    rows = plan(tmp_path).rows()
    (tmp_path / "quickstart").mkdir()
    (tmp_path / "quickstart" / "plan.csv").write_text(as_csv(rows))
    has(monkeypatch, gpus=[], nsys=None)
    made = plan(tmp_path)
    assert (made.device, made.profiler) == ("cuda", "nsys")
    assert made.rows() == rows
    assert plan(tmp_path, device="cpu", profiler="torch").device == "cpu"


def test_an_attention_that_needs_a_gpu_is_refused_on_a_cpu(tmp_path: Path) -> None:
    suite = {"sizes": ["tiny"], "contexts": [16], "attentions": ["naive", "triton_softmax"]}
    said = (
        "suites.s.attentions: 'triton_softmax' needs a CUDA device, and the device is cpu; "
        "allowed there: naive, fused_softmax, sdpa"
    )
    with pytest.raises(ConfigError, match=re.escape(said)):
        plan(tmp_path, suite="s", suites={"s": suite}, device="cpu", profiler="torch")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"device": "cuda"}, "device: 'cuda' asked for, but no CUDA device is here; allowed: cpu"),
        ({"profiler": "nsys"}, "profiler: 'nsys' asked for, but no nsys is on the PATH"),
        ({"suite": "assignment"}, "'tf32' needs a CUDA device"),
    ],
)
def test_a_missing_device_or_profiler_is_refused_before_measuring(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)):
        plan(tmp_path, **changes)


def test_a_case_that_is_not_in_the_joined_tables_gets_its_timeline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a report with a case added is made without it, and is stale at once."""
    dag = make_dag(CONFIG | {"suite": "smoke"})
    monkeypatch.chdir(tmp_path)
    first, *_, last = dag.plan.case_ids
    assert dag.measured.timelines() == [first, last]
    tables = Path("results/smoke/tables")
    tables.mkdir(parents=True)
    (tables / "kernels.csv").write_text(f"case,size\n{first},tiny\n")
    (tables / "captures.csv").write_text(f"case,size\n{first},tiny\n{last}-foreach,tiny\n")
    assert dag.measured.timelines() == [last]
    (tables / last).mkdir()
    assert dag.measured.timelines() == []
    Path("results/smoke/export", first).mkdir(parents=True)
    assert dag.measured.timelines() == [first]


def test_an_unknown_study_is_refused_with_the_known_ones() -> None:
    said = "config: studies: 'warmpu' is not one of warmup, precision"
    with pytest.raises(SystemExit, match=said):
        make_dag(CONFIG | {"suite": "smoke", "studies": ["warmpu"]})


def test_studies_take_their_sizes_from_the_configuration() -> None:
    """Including sizes given by --config: studies once read config.yaml and ignored them."""
    sizes = CONFIG["sizes"] | {"tiny": CONFIG["sizes"]["tiny"] | {"d_ff": 64}}
    for study in ("accounting", "precision", "warmup"):
        dag = make_dag(CONFIG | {"suite": "smoke", "sizes": sizes, "vocabulary": 77})
        points = [each for each in dag.studies.points(study).values() if "sizes" in each]
        assert {point["sizes"]["tiny"]["d_ff"] for point in points} == {64}
        assert {point["vocabulary"] for point in points} == {77}


def test_threads_of_a_cpu_are_chosen_once_and_are_no_concern_of_a_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning.os, "sched_getaffinity", lambda _: {0, 1, 2})
    made = plan(tmp_path)
    row = made.benchmark_row(made.case_ids[0])
    assert row["cpu_threads"] == made.capture_row(made.case_ids[0])["cpu_threads"] == 3
    (tmp_path / "quickstart").mkdir()
    (tmp_path / "quickstart" / "plan.csv").write_text(as_csv(made.rows()))
    monkeypatch.setattr(planning.os, "sched_getaffinity", lambda _: {0})
    assert plan(tmp_path).threads == {"cpu_threads": 3}
    assert plan(tmp_path, cpu_threads=2).threads == {"cpu_threads": 2}
    has(monkeypatch, gpus=["GPU-1"], nsys="/bin/nsys")
    on_gpu = plan(tmp_path, device="cuda", cpu_threads=2)
    assert "cpu_threads" not in on_gpu.benchmark_row(on_gpu.case_ids[0])


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({"device": "cpu", "profiler": "torch"}, "cpu_threads: None can't be resolved"),
        ({"device": "cuda"}, "profiler: 'auto' can't be resolved"),
    ],
)
def test_on_a_cluster_what_the_login_node_may_lack_is_named(
    tmp_path: Path, named: dict[str, str], said: str
) -> None:
    """A login node without a GPU must not choose the device for the compute nodes."""
    said += " on this machine where cluster is true"
    with pytest.raises(ConfigError, match=re.escape(said)):
        plan(tmp_path, cluster=True, **named)


def test_a_brought_model_takes_the_axis_of_execution(tmp_path: Path) -> None:
    size = {"d_model": 8, "d_ff": 8, "layers": 1, "heads": 2}
    suite = {"sizes": ["s"], "contexts": [16]}
    raw = {"suite": "c", "sizes": {"s": size}, "suites": {"c": suite}, "device": "cpu"}
    axes = {"execution": ["eager", "compiled"]}
    made = make_plan(raw | {"workload": "examples/my_model.py:make", "axes": axes}, tmp_path)
    assert made.case_ids == [f"my_model-execution={each}-fp32" for each in axes["execution"]]
    assert [case.execution for case in made.cases] == axes["execution"]
    assert {case.attention for case in made.cases} == {OWN}


def test_tables_of_older_runs_have_the_value_that_all_their_cases_had(tmp_path: Path) -> None:
    older = {name: 1 if name in COUNTS else "x" for name in CASE_COLUMNS if name not in LATER}
    row = older | {"precision": "fp32", "phase": "forward", "path": "forward", "step": 0}
    row |= dict.fromkeys(("instances", "host_ms", "busy_ms"), 1)
    pd.DataFrame([row]).to_csv(tmp_path / "ranges.csv", index=False)
    found = read_table(tmp_path / "ranges.csv", "ranges")
    assert found["execution"].tolist() == ["eager"]
