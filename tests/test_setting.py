"""The report's opening says what was measured: axes, sizes with parameters, and steps."""

import pandas as pd

from workflow_src.report import setting

CASE = {
    "case": "tiny-ctx8-fp32",
    "size": "tiny",
    "context": 8,
    "batch": 2,
    "precision": "fp32",
    "attention": "naive",
    "optimizer": "adamw",
    "device": "cpu",
    "d_model": 16,
    "d_ff": 32,
    "layers": 1,
    "heads": 2,
    "vocabulary": 10,
    "warmup_steps": 5,
    "steps": 10,
    "capture_steps": 3,
}


def plan(*changes: dict) -> pd.DataFrame:
    return pd.DataFrame([CASE | change for change in changes or ({},)])


def test_each_axis_is_named_with_its_values_in_the_order_of_the_plan():
    told = setting.axes(plan({}, {"context": 32}, {"context": 16, "precision": "bf16"}))
    assert told == [
        "context 8, 32, 16",
        "precision fp32, bf16",
        "batch 2",
        "vocabulary 10",
        "attention written out",
        "optimizer AdamW written out",
    ]


def test_an_axis_that_an_older_plan_lacks_is_left_out():
    assert "vocabulary" not in " ".join(setting.axes(plan().drop(columns="vocabulary")))


def test_each_size_stands_once_with_its_number_of_parameters():
    # Embedding and head 2 x 10 x 16; the layer 4 x 16 x 16 + 3 x 16 x 32 + 2 x 16; a last norm 16.
    table = setting.sizes(plan({}, {"context": 32}, {"size": "big", "d_model": 160_000}))
    rows = [line for line in table.splitlines() if line.startswith("| tiny")]
    assert len(rows) == 1
    assert rows[0].split("|")[-2].strip() == "0.00293"
    assert len(table.splitlines()) == 4


def test_sizes_are_left_out_where_the_plan_does_not_tell_them():
    assert setting.sizes(plan().drop(columns="d_ff")) == ""


def test_steps_that_vary_are_given_as_a_range():
    counted = setting.steps(plan({}, {"steps": 20}))
    assert counted == {"warmup_steps": "5", "steps": "10 to 20", "capture_steps": "3"}


def test_a_size_named_after_another_number_of_parameters_is_noticed():
    big = {"d_model": 2560, "d_ff": 10240, "layers": 32, "heads": 32, "vocabulary": 10_000}
    assert setting.misnamed(plan({}, big | {"size": "2.7B"})) == ["2.7B"]
    assert setting.misnamed(plan({}, big | {"size": "3.4B"})) == []
