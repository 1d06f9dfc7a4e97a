from pathlib import Path

import pandas as pd
import pytest

from workflow_src.studies.precision import analyze as precision
from workflow_src.studies.section import read_table, section

ROOT = Path(__file__).parent.parent
OK = {"status": "ok", "reason": "", "device": "cuda"}


@pytest.fixture(scope="module")
def sums() -> dict[str, dict[str, object]]:
    from workflow_src.studies.precision.numerics import accumulation

    return {row["variant"]: row for row in accumulation("cpu")}


def speed_row(size: str, name: str, kind: str, ms: float, **other: object) -> dict[str, object]:
    work = {"busy_ms": ms / 2, "busy_share": 0.5, "copies": 10, "copy_share": 0.1}
    times = {"median_ms": ms, "p20_ms": ms, "p80_ms": ms}
    about = {"part": "speed", "size": size, "measurement": name, "precision": kind}
    return about | OK | times | work | other


def text(tmp_path, *rows: dict[str, object]) -> str:
    pd.DataFrame(rows).to_csv(tmp_path / "t.csv", index=False)
    table = read_table(tmp_path / "t.csv")
    precision.draw(table, tmp_path / "f.svg")
    assert "<svg" in (tmp_path / "f.svg").read_text()
    return section("precision", table, ROOT / "report_templates")


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


def test_each_error_is_put_down_to_its_larger_part(sums):
    causes = [precision.cause(row) for row in sums.values()]
    assert causes == ["rounding", "rounding", "representation", "representation"]


def test_the_sums_are_told(tmp_path, sums):
    said = text(tmp_path, *sums.values())
    assert "fp16 into fp16 is off by -4.69e-02, most of it from rounding the sum" in said
    assert "fp16 into fp32 is off by +2.14e-03, most of it from 0.01 as stored" in said
    assert "Nearest to 10 is fp32 into fp32; fp16 into fp32, fp16 cast to fp32" in said
    assert "No size was timed" in said


def test_types_are_observed(tmp_path):
    from workflow_src.studies.precision.numerics import dtypes

    rows = list(dtypes("cpu"))
    types = {row["tensor"]: (row["autocast_fp16"], row["autocast_bf16"]) for row in rows}
    assert len(types) == 18
    assert types["fc1.weight (parameter)"] == ("float32", "float32")
    assert types["fc1.weight (gradient)"] == ("float32", "float32")
    assert types["fc1 (output)"] == ("float16", "bfloat16")
    assert types["logits"] == types["fc2 (output)"]
    assert types["loss"] == ("float32", "float32")
    said = text(tmp_path, *rows)
    assert "of 18 tensors observed" in said


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
    assert "(1 of 2 comparisons)" in said
    assert "busy for 40.0 % of the bf16 step, so that launching bounds it; 36 more copies" in said
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


def test_running_out_of_memory_is_shown(tmp_path):
    oom = {"status": "oom", "reason": "CUDA out of memory", "device": "cuda"}
    about = {"part": "speed", "size": "2.7B", "measurement": "forward", "precision": "fp32"}
    said = text(tmp_path, about | oom)
    assert "No size was timed both" in said
    assert "OOM" in said
    assert "CUDA out of memory" in said


def test_copies_are_counted_once():
    from workflow_src.studies.precision.speed import device_work

    columns = ["name", "kind", "family", "duration_ns"]
    activities = pd.DataFrame(
        [
            ("gemm", "kernel", "gemm", 600),
            ("bfloat16_copy_kernel_cuda", "kernel", "copy", 300),
            ("Memcpy HtoD", "copy", "copy", 100),
            ("aten::copy_", "operator", "copy", 500),
            ("aten::to", "operator", "copy", 500),
        ],
        columns=columns,
    )
    on_device = device_work(activities[:3], median_ms=0.002)
    assert on_device["copies"] == 1
    assert on_device["copy_share"] == 0.3
    assert on_device["busy_share"] == 0.5
    on_cpu = device_work(activities[3:], median_ms=1.0)
    assert (on_cpu["copies"], on_cpu["copy_share"]) == (1, 0.5)


def test_points_split_the_sizes():
    first, second = precision.points("cuda", "full")
    assert [first["sizes"], second["sizes"]] == [["small", "medium", "large"], ["xl", "2.7B"]]
    assert (first["numerics"], second["numerics"]) == (True, False)
    assert first["precisions"] == ["fp32", "tf32", "bf16"]
    assert len({first["point"], second["point"]}) == 2


def test_a_small_point_is_measured_whole():
    (point,) = precision.points("cpu", "small")
    steps = dict.fromkeys(point["steps"], 2)
    table = pd.DataFrame(
        precision.measure(point | {"device": "cpu", "context": 16} | {"steps": steps})
    )
    assert set(table["status"]) == {"ok"}
    assert set(table["part"]) == {"accumulation", "dtypes", "speed"}
    pairs = precision.compare(precision.part(table, "speed"))
    assert [pair["measurement"] for pair in pairs] == ["forward", "forward_backward", "scores"]
    assert pairs[0]["conversions"] > 0
    assert pairs[2]["conversions"] == 0
