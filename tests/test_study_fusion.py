"""The fusion study: its points, verdicts and section from known rows, and a quick measurement."""

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

from tests.workflow import ROOT
from workflow_src.common.errors import UnavailableError
from workflow_src.plan.config import load
from workflow_src.studies.fusion import analyze as fusion
from workflow_src.studies.fusion import copies, implementations
from workflow_src.studies.fusion import measure as fusion_measure
from workflow_src.studies.fusion.points import IMPLEMENTATIONS, points
from workflow_src.studies.fusion.section import SECTION
from workflow_src.studies.join_points import join
from workflow_src.studies.rows import filled
from workflow_src.studies.section import read_table
from workflow_src.traces.families import load_rules

TEMPLATES = ROOT / "report_templates"
SETTINGS = load(ROOT / "config.yaml")
RULES = load_rules(ROOT / "workflow_src" / "traces" / "families.csv")
LARGE = copies.LARGE


def row(
    implementation: str = "triton", median_ms: float = 1.0, operation: str = "gelu", **other: Any
) -> dict[str, Any]:
    columns = LARGE if operation == "gelu" else 128
    size = {"rows": LARGE // columns, "columns": columns, "elements": LARGE}
    return {
        "operation": operation,
        "implementation": implementation,
        "dtype": "float32",
        **size,
        "status": "ok",
        "reason": "",
        "median_ms": median_ms,
        "achieved_gb_per_s": 8 * LARGE / median_ms / 1e6,
        "share_of_copy": 0.9 / median_ms,
        "bytes_moved": 8 * LARGE,
        "kernels_launched": 8 if implementation == "written_out" else 1,
        "relative_error": 1e-7,
        "gpu": "H200",
    } | other


def table(*rows: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame(rows)


def text(*rows: dict[str, Any]) -> str:
    made = table(*rows)
    return SECTION.markdown(made, TEMPLATES) + SECTION.appendix(made, TEMPLATES)


def lost(implementation: str, status: str, reason: str) -> dict[str, Any]:
    empty = dict.fromkeys(("median_ms", "achieved_gb_per_s", "share_of_copy"), math.nan)
    gone = {"kernels_launched": math.nan, "relative_error": math.nan}
    return row(implementation, status=status, reason=reason) | empty | gone


def test_points_of_a_gpu_reach_the_sizes_asked_for() -> None:
    gelu, softmax = points("cuda", "full", SETTINGS)
    assert {shape[1] for shape in gelu["shapes"]} >= {2**20, 2**28}
    assert {math.prod(shape) for shape in softmax["shapes"]} == {2**26, 2**27}
    assert {shape[1] for shape in softmax["shapes"]} >= {128, 65536}
    assert gelu["dtypes"] == ["float32", "bfloat16"]
    assert "cuda_source" not in gelu, "the code's fingerprint covers the CUDA source"


@pytest.mark.parametrize(
    ("count", "said"), [(1, "2^0"), (2**18, "2^18"), (3, "3"), (2**18 + 1, "262,145")]
)
def test_power(count: int, said: str) -> None:
    assert fusion.power(count) == said


def test_speedups_are_of_shapes_that_both_have() -> None:
    rows = [row("written_out", 6.0), row("torch", 1.5), row("torch", 1.0, dtype="bfloat16")]
    assert fusion.speedups(rows, "written_out", "torch") == [4.0]
    assert fusion.speedups(rows, "compiled", "torch") == []


def test_verdict_counts_large_shapes_alone() -> None:
    small = {"elements": LARGE // 2, "columns": LARGE // 2}
    found = fusion.verdict([row(), row(median_ms=9.0, **small), row("torch", 1.0)])
    assert found == {
        "shapes": 1,
        "shares": [0.9],
        "near_copy": 1,
        "short_of_copy": [],
        "slower": [],
    }


def test_verdict_names_what_falls_short_and_what_is_slower() -> None:
    found = fusion.verdict([row(median_ms=2.0), row("torch", 1.0)])
    assert found["short_of_copy"] == ["2^26 float32 (45.0 %)"]
    assert found["slower"] == ["2^26 float32 (2.00 x)"]
    assert not fusion.verdict([row(median_ms=1.02), row("torch", 1.0)])["slower"]


def test_the_section_says_that_triton_reaches_the_goal() -> None:
    said = text(row("written_out", 8.0), row("torch", 2.0), row())
    assert "takes 4.00 times as long written out as in torch's own kernel" in said
    assert "(8 launches against 1)" in said
    assert "GeLU in one Triton kernel pays against GeLU written out (8.00 times as fast)" in said
    assert "against torch's own kernel it saves 50.0 % of the time in float32." in said
    assert "Triton's kernel reaches 90 % of the rate of a copy of the same shape in the" in said
    assert "same shape in the one shape and is nowhere" in said
    assert "nowhere more than 2 % slower than torch's own" in said
    assert "Softmax was not measured" in said and "Not measured for" not in said


def test_the_section_says_where_it_does_not() -> None:
    softmax = row("triton", 3.0, "softmax")
    said = text(softmax, row("torch", 1.0, "softmax"))
    assert "in 0 of 1 shapes (not in 524,288 x 128 float32 (30.0 %))" in said
    assert "more than 2 % slower than torch's own in 524,288 x 128 float32 (3.00 x)" in said
    assert "GeLU was not measured" in said


def test_what_triton_gains_is_said_by_type() -> None:
    half = {"dtype": "bfloat16"}
    rows = [row("written_out", 4.0), row("torch", 1.01), row()]
    rows += [row("written_out", 4.0, **half), row("torch", 1.25, **half), row(**half)]
    found = text(*rows)
    assert "it gains nothing in float32 and saves 20.0 % of the time in bfloat16." in found
    assert "GeLU in one Triton kernel doesn't pay against" in text(row("written_out"), row())
    slow = text(row("written_out", 4.0), row("torch", 0.8), row())
    assert "own kernel it takes up to 25.0 % longer in float32." in slow


def test_the_section_says_what_is_missing_and_why() -> None:
    said = text(row("torch"), lost("cuda", "skipped", "no nvcc"), lost("triton", "oom", "full"))
    assert "Not measured for GeLU: CUDA C++ (no nvcc), Triton (full)." in said
    assert "| skipped" in said and "| OOM" in said
    nothing = text(lost("torch", "oom", "full"))
    assert "GeLU was not measured" in nothing and "Softmax was not measured" in nothing


def test_a_copy_that_others_beat_is_no_ceiling() -> None:
    small = {"elements": LARGE // 2, "columns": LARGE // 2, "bytes_moved": 4 * LARGE}
    whole = {"bytes_moved": 8 * LARGE}
    said = text(
        row("copy", 1.0, **whole, share_of_copy=1.0),
        row("copy", 0.8, "softmax", **whole, share_of_copy=1.0),
        row("torch", 0.9, **whole, share_of_copy=1 / 0.9),
        row("copy", 0.2, **small),
    )
    assert "A copy of the same shape is no ceiling: 1 measurement is more than 2 % faster" in said
    assert "faster, torch's own of GeLU the most, by 11.1 %. Copies themselves differ" in said
    assert "takes 0.800 ms beside Softmax, and 1.00 ms beside GeLU. So the table" in said
    assert "Tensors below 2^26 elements may fit in a cache" in said
    assert f"how much of {8 * LARGE / 0.8e6:,.0f} GB/s" in said
    assert "0.900 ms (89 %)" in said
    assert "is no ceiling" not in text(row("copy", 1.0, **whole), row(median_ms=1.0, **whole))


@pytest.mark.parametrize(
    ("gpu", "mib", "expected"),
    [("NVIDIA H200", 100, True), ("NVIDIA H200", 101, False), ("other", 100, True)],
)
def test_what_fits_in_a_cache(gpu: str, mib: int, expected: bool) -> None:
    elements = mib * 2**20 // 8
    found = {"gpu": gpu, "elements": elements, "bytes_moved": mib * 2**20}
    assert copies.cached(found) is expected


def test_a_figure_of_all_and_of_nothing() -> None:
    drawn = SECTION.svg(table(row(), row("copy"), row("torch", 2.0, "softmax")))
    assert "Triton" in drawn and "CUDA C++" not in drawn
    assert "nothing was measured" in SECTION.svg(table(lost("torch", "oom", "full")))


def raw(implementation: str, columns: int, ns: int = 0, **other: Any) -> dict[str, Any]:
    """A row as it is measured: 128 rows of softmax; without a time it ran out of memory."""
    about = {"operation": "softmax", "implementation": implementation, "dtype": "bfloat16"}
    about |= {"rows": 128, "columns": columns}
    if not ns:
        return about | {"status": "oom", "reason": "full"}
    outcome = {"status": "ok", "reason": "", "relative_error": 1e-3, "samples_ns": [ns]}
    return about | outcome | other


def launches(*counts: int) -> list[dict[str, Any]]:
    about = {"range": "", "kind": "kernel", "operator": "aten::add", "busy_ns": 500}
    return [about | {"name": f"k{i}", "calls": calls} for i, calls in enumerate(counts)]


def joined(folder: Path, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The table of raw rows, as the study's command writes it and its section reads it."""
    result = {"point": {"point": "softmax"}, "rows": rows, "environment": {"gpu": "H200"}}
    (folder / "p.json").write_text(json.dumps(result))
    join([folder / "p.json"], fusion.derive, RULES).to_csv(folder / "t.csv", index=False)
    return filled(read_table(folder / "t.csv"))


def test_what_is_derived_of_raw_rows(tmp_path: Path) -> None:
    copied, torchs, gone = joined(
        tmp_path, [raw("copy", 64, 2000), raw("torch", 64, 8000), raw("triton", 64)]
    )
    assert torchs["elements"] == gone["elements"] == 8192
    assert torchs["bytes_moved"] == 2 * 8192 * 2
    assert torchs["median_ms"] == 0.008
    assert torchs["achieved_gb_per_s"] == 4.096
    assert (copied["share_of_copy"], torchs["share_of_copy"]) == (1.0, 0.25)
    assert gone["status"] == "oom" and gone["share_of_copy"] is gone["bytes_moved"] is None


def test_without_a_copy_there_is_no_share() -> None:
    rows = [raw("copy", 64), raw("copy", 32, 1000), raw("torch", 64, 1000, median_ms=0.001)]
    rows[1]["median_ms"] = 0.001
    gone, copied, torchs = fusion.derive({}, rows)
    assert "share_of_copy" not in gone
    assert (copied["share_of_copy"], torchs["share_of_copy"]) == (1.0, None)


STREAM = {"kind": "bandwidth", "name": "triad", "bytes": 32_768, "status": "ok", "reason": ""}


def test_shares_are_of_the_best_of_copies_and_ceilings(tmp_path: Path) -> None:
    large = {"gpu": "", "rows": 1, "columns": LARGE, "sets": None}
    ceiling = STREAM | {"samples_ns": [4_000, 8_000]}
    rows = joined(tmp_path, [ceiling, raw("copy", 64, 2000), raw("torch", 64, 8000)])
    assert [row["ceiling_gb_per_s"] for row in rows] == [8.192, 8.192], "16.384 is the copy's own"
    made = [row("copy", 1.0, **large), row("torch", 1.0, **large, ceiling_gb_per_s=1000.0)]
    assert copies.bandwidth(made) == 1000.0
    said = text(*made)
    assert "of 1,000 GB/s it reaches" in said and "ceilings of reading, writing" in said
    assert "even that" not in said


def test_what_exceeds_the_best_rate_of_memory_is_remarked() -> None:
    there = {"gpu": "", "ceiling_gb_per_s": 500.0}
    assert "a cache must have helped: Triton, 2^26 float32" in text(row(median_ms=1.0, **there))


def test_tensors_that_took_turns_were_not_in_the_cache() -> None:
    small = row(elements=2**20, gpu="")
    assert copies.cached(small) and not copies.cached(small | {"sets": 26})


def test_rows_of_the_same_length_share_the_count_of_the_profiled_one(tmp_path: Path) -> None:
    rows = [
        raw("written_out", 64, 1000, activities=launches(2, 3)),
        raw("written_out", 64, 900, rows=64),
        raw("written_out", 32, 800, activities=launches(4)),
        raw("written_out", 16, 700),
        raw("torch", 64, 600),
    ]
    found = joined(tmp_path, rows)
    assert [row["kernels_launched"] for row in found] == [5, 5, 4, None, None]


def test_one_profile_counts_the_launches_of_gelu_at_every_size() -> None:
    gelu = {"operation": "gelu", "rows": 1, "median_ms": 1.0}
    rows = [
        raw("torch", 64, 1000, **gelu, activities=launches(1)),
        raw("torch", 32, 1000, **gelu),
        raw("torch", 32, 1000, **gelu, dtype="float32"),
    ]
    assert [row["kernels_launched"] for row in fusion.derive({}, rows)] == [1, 1, None]


def test_written_out_gelu_is_torchs() -> None:
    x = torch.linspace(-6, 6, 101, dtype=torch.float64)
    torch.testing.assert_close(implementations.written_out_gelu(x), implementations.torchs_gelu(x))


@pytest.mark.parametrize("shape", [(1, 10), (5, 2)])
def test_relative_error(shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fusion_measure, "CHUNK", 4)
    x = torch.ones(shape)
    assert fusion_measure.relative_error(1.5 * x, x, lambda x: x) == 0.5
    assert math.isnan(fusion_measure.relative_error(x * math.nan, x, lambda x: x))


def small_point(operation: str, **other: Any) -> dict[str, Any]:
    common = {"dtypes": ["float32"], "wake_s": 0, "warmup_steps": 0, "steps": 2, "device": "cpu"}
    names = IMPLEMENTATIONS[operation]
    about = {"operation": operation, "implementations": names, "shapes": [[4, 64]]}
    return about | common | other


def test_a_quick_measurement_on_the_cpu(tmp_path: Path) -> None:
    rows = fusion_measure.measure(small_point("softmax"))
    about = ["operation", "implementation", "dtype", "rows", "columns", "status", "reason"]
    for found in rows[:3]:
        assert list(found) == [*about, "relative_error", "samples_ns"], "nothing else is measured"
        assert len(found["samples_ns"]) == 2
    assert list(rows[3]) == about
    copied, *rest = joined(tmp_path, rows)
    assert [r["implementation"] for r in rest] == ["written_out", "torch", "triton"]
    assert copied["bytes_moved"] == 2 * 4 * 256 and copied["share_of_copy"] == 1.0
    for found in rest[:2]:
        assert found["relative_error"] < 1e-6 and found["kernels_launched"] is None
        rate = found["bytes_moved"] / found["median_ms"] / 1e6
        assert found["achieved_gb_per_s"] == pytest.approx(rate)
    assert (rest[2]["status"], rest[2]["reason"]) == ("skipped", "Triton compiles only for GPUs")
    assert rest[2]["median_ms"] is None


def test_what_launches_alike_is_profiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a CUDA device, of which only the profiler and the two clocks are asked here."""
    tensors = "cpu"
    real = torch.randn
    monkeypatch.setattr(torch, "Generator", lambda device: torch.default_generator)
    monkeypatch.setattr(
        torch, "randn", lambda *shape, device, **other: real(*shape, device=tensors, **other)
    )
    monkeypatch.setattr(fusion_measure, "wake", lambda call, device, seconds: None)
    monkeypatch.setattr(fusion_measure, "free", lambda device: None)
    monkeypatch.setattr(fusion_measure, "l2_bytes", lambda device: 0)
    monkeypatch.setattr(fusion_measure, "time_call", lambda *arguments: [1])
    monkeypatch.setattr(fusion_measure, "activities_of", lambda call, device: launches(1))
    point = small_point(
        "softmax", device="cuda", shapes=[[4, 64], [2, 64], [4, 32]], implementations=["torch"]
    )
    rows = fusion_measure.measure(point)
    assert ["activities" in row for row in rows] == [True, False, True]


def test_a_wrong_result_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in (0.0, math.nan):
        changed = {"torch": lambda x, wrong=wrong: x * wrong}
        monkeypatch.setitem(
            implementations.PLAIN, "softmax", implementations.PLAIN["softmax"] | changed
        )
        with pytest.raises(RuntimeError, match="torch softmax float32: error"):
            fusion_measure.measure(small_point("softmax"))


def test_out_of_memory_is_a_row_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(x: torch.Tensor) -> torch.Tensor:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate")

    monkeypatch.setitem(implementations.PLAIN["softmax"], "written_out", full)
    _, gone, torchs, _ = fusion_measure.measure(small_point("softmax"))
    assert (gone["status"], gone["reason"]) == ("oom", "CUDA out of memory")
    assert torchs["status"] == "ok"


def test_torch_compile_without_a_compiler_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(UnavailableError, match=r"needs a C\+\+ compiler"):
        implementations.compiled_gelu("cpu")
