from pathlib import Path

import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from workflow_src.studies.mlp.section import SECTION
from workflow_src.studies.mlp.tables import operations

from workflow_src.cli import check_numbers
from workflow_src.studies.join_points import table_rows
from workflow_src.studies.mlp import analyze as mlp
from workflow_src.studies.mlp.measure import measure, training
from workflow_src.studies.mlp.points import BASE, points, scaled
from workflow_src.studies.section import read_table
from workflow_src.traces.families import load_rules

ROOT = Path(__file__).parent.parent
OK = {"status": "ok", "reason": "", "device": "cuda"}
OOM = {"status": "oom", "reason": "CUDA out of memory", "device": "cuda"}


def scaling_row(axis: str, factor: int, median_ms: float) -> dict[str, object]:
    sizes = dict(BASE)
    if axis != "base":
        sizes[axis] *= factor
    spread = {"median_ms": median_ms, "p20_ms": 0.9 * median_ms, "p80_ms": 1.2 * median_ms}
    return {"part": "scaling", "axis": axis, "factor": factor, **sizes} | OK | spread


def sweep_row(dim: int, share: float, ms: float = 2.0) -> dict[str, object]:
    sizes = BASE | {"dim": dim}
    times = {"median_ms": ms, "p20_ms": 0.95 * ms, "p80_ms": 1.05 * ms}
    return {"part": "sweep", **sizes} | OK | times | {"busy_ms": ms * share, "busy_share": share}


def operator_row(operator: str, share: float) -> dict[str, object]:
    names = {"operation": "matmul 8", "operator": operator, "kernel": "k", "family": "gemm"}
    numbers = {"calls": 2, "device_ms": share, "share": share, "median_ms": 1.5}
    return {"part": "operators"} | OK | names | numbers


SCALED = [
    scaling_row("base", 1, 2.0),
    scaling_row("steps", 2, 4.0),
    scaling_row("layers", 3, 9.0),
    scaling_row("batch", 4, 2.0),
    scaling_row("dim", 5, 50.0),
]
SWEPT = [sweep_row(128, 0.1), sweep_row(256, 0.4), sweep_row(512, 0.8), sweep_row(1024, 0.99, 7.0)]
PROFILED = [operator_row("aten::add", 0.25), operator_row("aten::mm", 0.75)]


def text(tmp_path, *rows: dict[str, object]) -> str:
    pd.DataFrame(rows).to_csv(tmp_path / "t.csv", index=False)
    table = read_table(tmp_path / "t.csv")
    assert "<svg" in SECTION.svg(table)
    templates = ROOT / "report_templates"
    return SECTION.markdown(table, templates) + SECTION.appendix(table, templates)


def test_every_size_is_scaled_alone():
    found = scaled(BASE, [2, 3, 4, 5])
    assert len(found) == 17
    assert found[0] == ("base", 1, {"steps": 2, "layers": 4, "batch": 256, "dim": 256})
    assert found[-1] == ("dim", 5, {"steps": 2, "layers": 4, "batch": 256, "dim": 1280})


@given(st.sampled_from(sorted(BASE)), st.integers(1, 9))
def test_the_formula_is_linear_and_quadratic_in_dim(axis, factor):
    expected = factor**2 if axis == "dim" else factor
    sizes = BASE | {axis: BASE[axis] * factor}
    assert mlp.expected_ratio(sizes) == pytest.approx(expected)


def test_ratios_of_known_medians():
    rows = {row["axis"]: row for row in mlp.ratios(pd.DataFrame(SCALED))}
    assert [rows[axis]["expected"] for axis in BASE] == [2, 3, 4, 25]
    assert [rows[axis]["measured"] for axis in BASE] == [2, 4.5, 1, 25]
    assert rows["layers"]["low"] == pytest.approx(4.05)
    assert rows["layers"]["high"] == pytest.approx(5.4)
    assert rows["batch"]["against"] == 0.25


@pytest.mark.parametrize(
    ("against", "expected"),
    [(0.74, "below"), (0.75, "fits"), (1.0, "fits"), (1.25, "fits"), (1.26, "above")],
)
def test_verdicts(against, expected):
    assert mlp.verdict(against) == expected


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ([0.1, 0.8, 0.9], 256),
        ([0.9, 0.1, 0.9], 512),
        ([0.9, 0.9, 0.9], 128),
        ([0.9, 0.9, 0.79], None),
        ([], None),
    ],
)
def test_the_dim_from_which_on_the_device_is_busy(shares, expected):
    rows = [sweep_row(dim, share) for dim, share in zip((128, 256, 512), shares, strict=False)]
    assert mlp.busy_from(rows) == expected


def test_sentences_follow_the_numbers(tmp_path):
    said = text(tmp_path, *SCALED, *SWEPT, *PROFILED)
    assert "is busy for only 40.0 % of a step, so that ratios to the base most likely" in said
    assert (
        "In 1 of the 4 larger configurations (in the appendix) the added work doesn't show: "
        "its median time is" in said
    )
    assert "more steps (2 times) take 2.00 times as long, more layers (3 times) take 4.50" in said
    assert "the ratio" not in said
    assert "From dim 512 on the device is busy" not in said, "the first sentence says so"
    assert "In matmul 8, aten::mm (gemm) takes the most, 75.0 % of the device time." in said


def test_a_base_slower_than_what_does_more_work_is_told(tmp_path):
    rows = [*SCALED[:3], scaling_row("batch", 4, 1.5), SCALED[4], sweep_row(256, 0.9)]
    said = text(tmp_path, *rows, *PROFILED)
    assert "1 of 4 scaled sizes do more work than the base in less time: the base itself" in said
    idle = text(tmp_path, *rows[:-1], sweep_row(256, 0.1), *PROFILED)
    assert "the added work doesn't show" in idle and "in less time" not in idle


def first_sentence(said: str) -> str:
    """What follows the section's question."""
    return said.split("square of the width (dim)?\n\n")[1].split("\n")[0]


def test_the_question_is_answered_first_by_the_widths_that_keep_the_device_busy(tmp_path):
    said = text(tmp_path, *SCALED, *SWEPT)
    assert first_sentence(said) == (
        "With the width it nearly does, once the device is busy for 80 % or more of a step (from "
        "dim 512 on): from dim 512 to 1024, for 4.00 times the FLOPs, a step takes 3.50 times as "
        "long."
    )
    assert (
        "\nFrom 128 to 256, where launching bounds the step, it takes 1.00 times as long for 4.00 "
        "times the FLOPs.\nWhether it does with steps, layers and batch, ratios to the base can't "
        "tell (steps 2, layers 4, batch 256, dim 256): in the sweep over dim, at the base's "
        "dim, the device is busy for only 40.0 % "
    ) in said
    assert said.count("a step takes 3.50 times") == 1


@pytest.mark.parametrize(("ms", "times"), [(2.0, "1.00"), (20.0, "10.0")])
def test_a_busy_device_whose_time_does_not_follow_the_formula_is_told(tmp_path, ms, times):
    said = text(tmp_path, *SCALED, *SWEPT[:3], sweep_row(1024, 0.99, ms))
    assert first_sentence(said) == (
        "With the width it does not, not even where the device is busy for 80 % or more of a step "
        f"(from dim 512 on): from dim 512 to 1024, for 4.00 times the FLOPs, a step takes {times} "
        "times as long."
    )


def test_one_width_that_keeps_the_device_busy_shows_no_growth(tmp_path):
    said = text(tmp_path, *SCALED, *SWEPT[:3])
    assert first_sentence(said) == (
        "With the width that stays open: the device is busy for 80 % or more of a step at dim 512 "
        "alone, so that there is no growth to judge by."
    )
    assert "From dim 256 to 512, for 4.00 times the FLOPs, a step takes 1.00 times as long" in said


def test_smaller_widths_that_keep_the_device_busy_are_not_said_to_wait(tmp_path):
    rows = [sweep_row(64, 0.9), sweep_row(128, 0.9), *SWEPT[1:]]
    said = text(tmp_path, *SCALED, *rows)
    assert "it nearly does, once" in said and "where launching bounds the step" not in said


def test_ratios_to_a_base_that_keeps_the_device_busy_answer_first(tmp_path):
    wide = sweep_row(256, 0.9)
    found = (SCALED[:2], "Yes"), (SCALED[:3], "Only in part"), ([SCALED[0], SCALED[3]], "No")
    for rows, word in found:
        assert first_sentence(text(tmp_path, *rows, wide)).startswith(f"{word}: the ratio to the ")
    assert first_sentence(text(tmp_path, *SCALED, wide)) == (
        "Only in part: the ratio to the base lies within 25 % of the formula in 2 of 4 scaled "
        "sizes."
    )


def test_widths_are_compared_by_busy_time(tmp_path):
    said = text(tmp_path, *SCALED, *SWEPT)
    assert (
        "\nFrom dim 512 to 1024 the device is busy 4.33 times as long, from 128 to 256 4.00 "
        "times.\n"
    ) in said
    flat = text(tmp_path, *SCALED, SWEPT[0], sweep_row(256, 0.11), *SWEPT[2:])
    assert (
        "from 128 to 256 1.10 times for 4.00 times the FLOPs: at those small sizes the kernels' "
        "own time doesn't follow the FLOPs either."
    ) in flat
    (line,) = [line for line in said.splitlines() if line.startswith("|  1024 |")][:1]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells == ["1024", "7.00", "6.93", "99.0 %", "16.0", "3.50", "8.66"]


@pytest.mark.parametrize("rows", [SWEPT, SWEPT[:3], SWEPT[:2], SWEPT[2:], SWEPT[3:]])
def test_every_number_of_the_section_has_a_source(tmp_path, rows):
    text(tmp_path, *SCALED, *rows, *PROFILED)
    table = read_table(tmp_path / "t.csv")
    said = SECTION.markdown(table, ROOT / "report_templates")
    found = check_numbers.section(said, table, "mlp")
    assert [number for number in found if not number.sources] == []


def test_a_device_that_is_never_busy(tmp_path):
    said = text(tmp_path, *SCALED, *SWEPT[:2], *PROFILED)
    assert first_sentence(said) == (
        "With the width it does at no dim tried: even at the largest, 256, the device is busy for "
        "only 40.0 % of a step, below 80 %, so that launching bounds it."
    )


def test_a_device_that_is_always_busy(tmp_path):
    said = text(tmp_path, *SCALED, *SWEPT[2:], *PROFILED)
    assert "launching bounds the step at no dim tried" in said
    assert "Not from the base on" not in said
    assert "Steps by 2: the ratio lies within 25 % of the formula, 2.00 measured" in said
    assert "Layers by 3: the ratio rises further above it, 4.50 measured" in said
    assert "Batch by 4: the ratio stays further below it, 1.00 measured" in said


def test_on_a_cpu_nothing_is_said_about_launching(tmp_path):
    rows = [row | {"device": "cpu"} for row in [*SCALED, *SWEPT, *PROFILED]]
    said = text(tmp_path, *rows)
    assert "a step can't be bound by launching: over dim 128 to 1024" in said
    assert first_sentence(said).startswith("Only in part: the ratio to the base lies within 25 %")
    assert "busy for" not in said
    assert "| kernel" not in said


def test_running_out_of_memory_is_shown_and_left_out_of_the_verdicts(tmp_path):
    full = {"part": "sweep", **BASE, "dim": 8192} | OOM
    said = text(tmp_path, *SCALED, *SWEPT, full, *PROFILED)
    assert "(from dim 512 on): from dim 512 to 1024, for 4.00 times the FLOPs" in said
    assert "CUDA out of memory" in said


def test_without_the_base_there_is_no_ratio(tmp_path):
    base = {"part": "scaling", "axis": "base", "factor": 1, **BASE} | OOM
    said = text(tmp_path, base, *SCALED[1:], *PROFILED)
    assert "No scaled size was measured against the base." in said
    assert "The sweep over dim has no measured step." in said


def small_point() -> dict[str, object]:
    (point,) = points("cpu", "small", {})
    return point | {"device": "cpu", "dims": [16, 32], "width": 16, "repeats": 2, "factors": [2]}


def test_a_small_point_is_measured_whole():
    point = small_point()
    rows = measure(point)
    around = {"point": point, "rows": rows, "environment": {}}
    table = pd.DataFrame(table_rows(around, mlp.derive, load_rules()))
    assert set(table["status"]) == {"ok"}
    assert table["part"].value_counts()[["scaling", "sweep"]].tolist() == [5, 2]
    profiled = table[table["part"] == "operators"]
    assert operations(table) == ["add 16 x 16", "matmul 16", "matmul 128", "MLP, one step"]
    assert profiled.groupby("operation")["share"].sum().tolist() == pytest.approx([1.0] * 4)
    mine = profiled[profiled["operation"] == "MLP, one step"].set_index("operator")
    layers = BASE["layers"]
    assert mine.loc["aten::addmm", "calls"] == layers
    # Backward: the weight's gradient in each layer, the input's in all but the first.
    assert mine.loc["aten::mm", "calls"] == 2 * layers - 1


def test_a_measured_point_holds_nothing_derived():
    keys = {key for row in measure(small_point()) for key in row}
    about = {"part", "device", "axis", "factor", "operation", "status", "reason", *BASE}
    assert keys == about | {"samples_ns", "activities"}


def activity(operator: str, name: str, calls: int, busy_ns: int) -> dict[str, object]:
    named = {"short_name": name, "family": "gemm", "precision_ran": ""}
    raw = {"range": "", "kind": "kernel", "operator": operator, "name": name}
    return raw | named | {"calls": calls, "busy_ns": busy_ns}


def test_rows_are_derived_from_what_was_measured():
    did = [activity("aten::mm", "k", 3, 6_000_000), activity("", "j", 1, 2_000_000)]
    measured = OK | {"median_ms": 16.0, "activities": did}
    rows = [{"part": "sweep"} | measured, {"part": "operators", "operation": "x"} | measured]
    swept, *found = mlp.derive({}, [*rows, {"part": "sweep"} | OOM])
    assert (swept["busy_ms"], swept["busy_share"]) == (8.0, 0.5)
    told = [(row["operator"], row["kernel"], row["calls"], row["share"]) for row in found[:2]]
    assert told == [("aten::mm", "k", 3, 0.75), ("(none)", "j", 1, 0.25)]
    assert found[2] == {"part": "sweep"} | OOM


def test_training_changes_the_weights_as_often_as_it_says():
    counted = []
    real = torch.optim.SGD.step

    def step(self, *arguments):
        counted.append(1)
        return real(self, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.optim.SGD, "step", step)
        training({"steps": 3, "layers": 1, "batch": 2, "dim": 4}, "cpu")()
    assert len(counted) == 3
