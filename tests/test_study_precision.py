import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import torch

from tests.studies import ON_GPU
from workflow_src.measure import phases
from workflow_src.plan.config import load
from workflow_src.studies.join_points import prepared, table_rows
from workflow_src.studies.precision import analyze as precision
from workflow_src.studies.precision.layer_norm import added_up, exactly, layer_norms, normalized
from workflow_src.studies.precision.measure import measure
from workflow_src.studies.precision.numerics import accumulation, dtypes
from workflow_src.studies.precision.points import LAYER_NORM, points
from workflow_src.studies.precision.section import SECTION
from workflow_src.studies.section import read_table
from workflow_src.traces.families import load_rules

ROOT = Path(__file__).parent.parent
SETTINGS = load(ROOT / "config.yaml")
SUM = {"device": "cpu", "addend": 0.01, "additions": 1000}
OK = {"status": "ok", "reason": "", "device": "cuda"}


def derived(point, raw) -> list[dict[str, object]]:
    rules = load_rules()
    return precision.derive(point, [prepared(row, rules) for row in raw])


@pytest.fixture(scope="module")
def sums() -> dict[str, dict[str, object]]:
    return {row["variant"]: row for row in derived(SUM, accumulation(SUM))}


def speed_row(size: str, name: str, kind: str, ms: float, **other: object) -> dict[str, object]:
    work = {"busy_ms": ms / 2, "busy_share": 0.5, "copies": 10, "copy_share": 0.1}
    times = {"median_ms": ms, "p20_ms": ms, "p80_ms": ms}
    about = {"part": "speed", "size": size, "measurement": name, "precision": kind}
    return about | OK | times | work | other


def text(tmp_path, *rows: dict[str, object]) -> str:
    pd.DataFrame(rows).to_csv(tmp_path / "t.csv", index=False)
    table = read_table(tmp_path / "t.csv")
    assert "<svg" in SECTION.svg(table)
    templates = ROOT / "report_templates"
    return SECTION.markdown(table, templates) + SECTION.appendix(table, templates)


NORMS = {"device": "cpu", "layer_norm": LAYER_NORM}


def test_each_addition_is_rounded():
    assert added_up(torch.tensor([2048.0, 1.0, 1.0, 1.0])) == 2051
    assert added_up(torch.tensor([2048.0, 1.0, 1.0, 1.0], dtype=torch.float16)) == 2050


def test_a_layer_norm_in_double_precision_is_exact():
    x = torch.randn(4, 16, dtype=torch.float64) * 7 + 3
    assert torch.allclose(normalized(x, torch.float64)[0].double(), exactly(x), atol=1e-6)


def test_narrow_statistics_round_and_fp16_overflows():
    rows = {(r["variant"], r["statistics"], r["deviation"]): r for r in layer_norms(NORMS)}
    assert len(rows) == 8
    assert all(row["largest_error"] < 1e-5 for key, row in rows.items() if key[1] == "fp32")
    overflowing = {key for key, row in rows.items() if row["variance"] == "overflows"}
    assert overflowing == {("fp16", "fp16", 300.0)}
    fine = [row for key, row in rows.items() if key[1] != "fp32" and key not in overflowing]
    assert all(0.2 < row["largest_error"] / row["stored_error"] < 5 for row in fine)


def test_what_layer_norm_needs_is_told(tmp_path):
    said = " ".join(text(tmp_path, *layer_norms(NORMS)).split())
    assert "Would LayerNorm do without float32? Its output, of standard deviation 1, is" in said
    assert "; but an input of standard deviation 300 overflows the variance, and the output" in said
    assert "In bf16 it is off by" in said and said.count("times what storing the output in") == 2
    assert "whether LayerNorm would do" not in said


@pytest.mark.parametrize(
    ("variant", "value"),
    [
        ("fp32 into fp32", 10.000133514404297),
        ("fp16 into fp16", 9.953125),
        ("fp16 into fp32", 10.00213623046875),
        ("fp16 cast to fp32 into fp32", 10.00213623046875),
    ],
)
def test_sums_of_ieee_arithmetic(sums, variant, value):
    assert sums[variant]["value"] == value


def test_the_two_parts_make_up_the_error(sums):
    for row in sums.values():
        assert row["representation_error"] + row["rounding_error"] == row["error"]
    assert sums["fp16 into fp16"]["representation_error"] == 0.00213623046875
    assert sums["fp16 into fp32"]["rounding_error"] == 0
    assert sums["fp16 into fp16"]["spacing"] == 2**-7
    assert sums["fp32 into fp32"]["spacing"] == 2**-20


def test_errors_of_known_sums():
    row = {"part": "accumulation", "value": 4.5, "addend": 1.25, "sum_dtype": "float16"}
    (found,) = derived({"addend": 1.0, "additions": 4}, [row])
    assert found == row | {
        "error": 0.5,
        "representation_error": 1.0,
        "rounding_error": -0.5,
        "spacing": 2**-8,
    }


def test_each_error_is_put_down_to_its_larger_part(sums):
    causes = [precision.cause(row) for row in sums.values()]
    assert causes == ["rounding", "rounding", "representation", "representation"]


def test_the_sums_are_told(tmp_path, sums):
    said = text(tmp_path, *sums.values())
    assert "comes out as 9.953125 at worst (fp16 into fp16) and 10.000134 at best" in said
    assert "The error of fp32 into fp32 and fp16 into fp16 comes mostly from rounding" in said
    assert "in fp16 into fp16, neighboring values are 7.81e-03 apart where the sum ends." in said
    assert "That of fp16 into fp32 and fp16 cast to fp32 into fp32 comes mostly from 0.01" in said
    assert "No size was timed" in said


LOW = ("autocast_fp16", "autocast_bf16")


def test_types_are_observed(tmp_path):
    rows = derived(SUM, dtypes("cpu"))
    types = {row["tensor"]: (row["autocast_fp16"], row["autocast_bf16"]) for row in rows}
    assert len(types) == 18
    assert types["fc1.weight (parameter)"] == ("float32", "float32")
    assert types["fc1.weight (gradient)"] == ("float32", "float32")
    assert types["fc1 (output)"] == ("float16", "bfloat16")
    assert types["logits"] == types["fc2 (output)"]
    assert types["loss"] == ("float32", "float32")
    said = text(tmp_path, *rows)
    assert "of 18 tensors of a small network 5 are 16-bit under fp16 or bf16 (fc1" in said
    assert "; parameters and gradients stay float32." in said
    full = dict.fromkeys(LOW, "float32")
    on_gpu = [row | full if row["tensor"] == "norm (output)" else row for row in rows]
    found = text(tmp_path, *on_gpu)
    assert "; parameters, gradients and LayerNorm's output stay float32." in found


@pytest.mark.parametrize(
    ("speedup", "expected"),
    [(1.03, "gains"), (1.02, "same"), (1.0, "same"), (0.99, "same"), (0.97, "loses")],
)
def test_verdicts(speedup, expected):
    assert precision.verdict(speedup) == expected


def test_pairs_of_known_rows():
    rows = [
        speed_row("s", "forward", "fp32", 9.0, copies=4),
        speed_row("s", "forward", "tf32", 4.5, copies=None, copy_share=None),
        speed_row("s", "forward", "bf16", 3.0, copies=10),
        speed_row("m", "forward", "bf16", 3.0),
        speed_row("m", "forward", "fp32", 3.0, status="oom"),
    ]
    pairs = precision.compare(rows)
    assert [(p["against"], p["speedup"], p["conversions"]) for p in pairs] == [
        ("fp32", 3.0, 6),
        ("tf32", 1.5, 6),
    ]


@pytest.mark.parametrize(
    ("device", "busy", "conversions", "expected"),
    [
        ("cuda", 0.5, 6, "both"),
        ("cuda", 0.5, 0, "launching"),
        ("cuda", 0.9, 6, "conversions"),
        ("cuda", 0.8, 0, "neither"),
        ("cuda", 0.9, None, "neither"),
        ("cpu", 0.5, 6, "conversions"),
        ("cpu", 0.5, 0, "neither"),
    ],
)
def test_a_loss_has_its_reason(device, busy, conversions, expected):
    pair = {"device": device, "busy_share": busy, "conversions": conversions}
    assert precision.reason_of(pair) == expected


def test_gains_and_losses_are_told(tmp_path):
    said = text(
        tmp_path,
        speed_row("small", "forward", "fp32", 3.0, copies=4),
        speed_row("small", "forward", "bf16", 4.0, copies=40, copy_share=0.25, busy_share=0.4),
        speed_row("xl", "forward", "fp32", 90.0),
        speed_row("xl", "forward", "bf16", 15.0),
    )
    assert "- forward, bf16 against fp32: it gains in 1, loses in 1 of 2 sizes" in said
    assert "a speed-up of 0.750 to 6.00" in said
    assert "bf16 autocast makes forward 0.750 (small) to 6.00 times (xl) as fast, rising" in said
    assert "Of the 2 comparisons of models in the table, bf16 loses by more than 2 % in 1" in said
    assert "(forward of small over fp32); in that one the device is busy for less" in said
    assert (
        "busy for 40.0 % of the bf16 step, so that launching probably bounds it; 36 more copies"
        in said
    )
    assert "copies take 25.0 % of the busy time." in said


def test_a_loss_that_nothing_explains(tmp_path):
    said = text(
        tmp_path,
        speed_row("small", "scores", "fp32", 3.0, copies=0, busy_share=0.9),
        speed_row("small", "scores", "bf16", 4.0, copies=0, copy_share=0.0, busy_share=0.9),
    )
    assert "attention scores alone, against fp32 (0.750)" in said
    assert "launching doesn't bound it; 0 more copies than fp32" in said
    assert "neither launching nor conversions explain it" in said


def test_on_a_cpu_nothing_is_said_about_launching(tmp_path):
    rows = [
        speed_row("tiny", "forward", kind, ms, device="cpu")
        for kind, ms in (("fp32", 3.0), ("bf16", 4.0))
    ]
    said = text(tmp_path, *rows)
    assert "so that conversions don't explain it" in said
    assert "launching" not in said
    assert "Conversions don't explain: tiny, forward, against fp32 (0.750)." in said


def test_running_out_of_memory_is_shown(tmp_path):
    oom = {"status": "oom", "reason": "CUDA out of memory", "device": "cuda"}
    about = {"part": "speed", "size": "2.7B", "measurement": "forward", "precision": "fp32"}
    said = text(tmp_path, about | oom)
    assert "No size was timed both" in said
    assert "OOM" in said
    assert "CUDA out of memory" in said


def activity(name: str, kind: str, busy_ns: int, calls: int = 1) -> dict[str, object]:
    about = {"range": "", "operator": "", "kind": kind, "name": name}
    return about | {"calls": calls, "busy_ns": busy_ns}


def speed_of(activities, **other: object) -> dict[str, object]:
    row = {"part": "speed", "samples_ns": [2000], "activities": activities} | OK
    (found,) = derived({}, [row | other])
    return found


def test_copies_are_counted_once():
    kernels = [
        activity("gemm", "kernel", 600, calls=2),
        activity("bfloat16_copy_kernel_cuda", "kernel", 300, calls=3),
        activity("Memcpy HtoD", "copy", 100, calls=4),
    ]
    on_device = speed_of(kernels)
    assert (on_device["activities"], on_device["copies"]) == (9, 3)
    assert (on_device["copy_ms"], on_device["copy_share"]) == (0.0003, 0.3)
    assert (on_device["busy_ms"], on_device["busy_share"]) == (0.001, 0.5)
    operators = [
        activity("aten::copy_", "operator", 500),
        activity("aten::to", "operator", 500),
    ]
    on_cpu = speed_of(operators)
    assert (on_cpu["copies"], on_cpu["copy_share"]) == (1, 0.5)


def test_what_was_not_profiled_has_its_times_alone():
    (timed,) = derived({}, [{"part": "speed", "samples_ns": [2000, 4000]} | OK])
    assert (timed["median_ms"], timed["samples"]) == (0.003, 2)
    assert {"busy_ms", "activities", "copies"}.isdisjoint(timed)
    oom = {"part": "speed", "status": "oom", "reason": "CUDA out of memory"}
    assert derived({}, [oom]) == [oom]


def test_points_split_the_sizes():
    first, second = points("cuda", "full", SETTINGS)
    groups = [["small", "medium", "large"], ["xl", "2.7B"]]
    assert [list(first["sizes"]), list(second["sizes"])] == groups
    assert [first["point"], second["point"]] == ["small-medium-large", "xl-2.7B"]
    assert (first["numerics"], second["numerics"]) == (True, False)
    assert first["precisions"] == ["fp32", "tf32", "bf16"]
    assert first["profiled"] == ["fp32", "bf16"]


def test_points_take_the_sizes_from_the_configuration():
    xl = {"d_model": 32, "d_ff": 64, "layers": 1, "heads": 2}
    first, second = points("cuda", "full", {"sizes": {"xl": xl}, "vocabulary": 9})
    assert (first["point"], first["sizes"], first["numerics"]) == ("numerics", {}, True)
    assert (second["point"], second["sizes"], second["vocabulary"]) == ("xl", {"xl": xl}, 9)
    (alone,) = points("cpu", "small", {"sizes": {}, "vocabulary": 9})
    assert alone["numerics"]


def small_point() -> dict[str, object]:
    (point,) = points("cpu", "small", SETTINGS)
    steps = dict.fromkeys(point["steps"], 2)
    return point | {"device": "cpu", "context": 16, "steps": steps}


DERIVED = {
    "error", "representation_error", "rounding_error", "spacing", "median_ms", "busy_ms",
    "busy_share", "copies", "copy_ms", "copy_share", "speedup", "verdict",
}  # fmt: skip


def test_a_small_point_is_measured_whole():
    point = small_point()
    raw = measure(point)
    assert all(DERIVED.isdisjoint(row) for row in raw)
    kinds = {key for row in raw for kind in row.get("activities", []) for key in kind}
    assert kinds == {"range", "kind", "operator", "name", "calls", "busy_ns"}
    result = ON_GPU | {"point": point, "rows": raw}
    table = pd.DataFrame(table_rows(result, precision.derive, load_rules()))
    assert set(table["status"]) == {"ok"}
    assert set(table["part"]) == {"accumulation", "dtypes", "layer_norm", "speed"}
    published = ROOT / "examples/h200/tables/studies/precision.csv"
    assert set(pd.read_csv(published, nrows=0).columns) <= set(table.columns)
    pairs = precision.compare(precision.part(table, "speed"))
    assert [pair["measurement"] for pair in pairs] == ["forward", "forward_backward", "scores"]
    assert pairs[0]["conversions"] > 0
    assert pairs[2]["conversions"] == 0
    assert pairs[0]["d_model"] == SETTINGS["sizes"]["tiny"]["d_model"]


def test_only_the_named_precisions_are_profiled():
    point = small_point() | {"numerics": False, "profiled": ["bf16"]}
    rows = measure(point)
    assert {row["precision"] for row in rows if "activities" in row} == {"bf16"}
    assert {row["precision"] for row in rows if "samples_ns" in row} == {"fp32", "bf16"}


def test_a_model_that_does_not_fit_leaves_the_scores(monkeypatch):
    def full(*_: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate")

    monkeypatch.setattr(phases, "Workload", full)
    rows = measure(small_point() | {"numerics": False, "precisions": ["fp32"]})
    found = [(row["measurement"], row["status"]) for row in rows]
    assert found == [("forward", "oom"), ("forward_backward", "skipped"), ("scores", "ok")]
    assert rows[0]["reason"] == "CUDA out of memory"


def imported_by(module: str) -> set[str]:
    """The modules that a fresh Python has imported after `module`."""
    code = f"import sys, {module}; print(*sys.modules)"
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(ended.stdout.split())


def test_measuring_and_deriving_keep_apart():
    measuring = imported_by("workflow_src.studies.precision.measure")
    assert measuring.isdisjoint({"pandas", "workflow_src.traces.families"})
    assert "torch" not in imported_by("workflow_src.studies.precision.analyze")
