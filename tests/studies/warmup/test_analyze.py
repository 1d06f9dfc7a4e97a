import json

import pytest

from tests.studies.tables import filled, joined
from tests.workflow import ROOT
from workflow_src.common.read_table import read_study
from workflow_src.common.summary import spread
from workflow_src.placing.families import load_rules
from workflow_src.studies.join_points import join
from workflow_src.studies.warmup import analyze as warmup
from workflow_src.studies.warmup.host_time import (
    CATEGORIES,
    split,
)

RULES = load_rules(ROOT / "workflow_src" / "placing" / "families.csv")


MS = 1_000_000


COLD = [90, 14, 12, 11, 10, 10, 10, 10]


ABOUT = {"config": "t", "size": "t", "context": 8, "batch": 1, "phase": "forward"}


OOM = {"status": "oom", "reason": "CUDA out of memory"}


def raw(warmup_steps: int, steps: list[float], **other: object) -> dict[str, object]:
    """A row as it is measured."""
    ns = [round(step * MS) for step in steps]
    about = ABOUT | {"warmup_steps": warmup_steps, "status": "ok", "reason": ""}
    return about | {"warmup_ns": ns[:warmup_steps], "samples_ns": ns[warmup_steps:]} | other


def test_numbers_of_known_steps(tmp_path):
    (found,) = joined(tmp_path, warmup.derive, [raw(1, COLD)]).to_dict("records")
    assert found["total_ms"] == 167
    assert found["warmup_ms"] == 90
    assert found["first_step_ms"] == 90
    assert found["settled_ms"] == 10
    assert found["settled_after_steps"] == 3
    assert found["samples"] == 7
    assert found["mean_ms"] == 11
    assert found["median_ms"] == 10
    assert found["std_ms"] == pytest.approx((7 / 3) ** 0.5)
    assert found["p20_ms"] == pytest.approx(10.0)


def test_what_is_derived_and_from_what():
    cold, gone = raw(0, COLD[:2]), ABOUT | {"warmup_steps": 0} | OOM
    assert warmup.derive({}, [cold, gone]) == [
        cold
        | {
            "total_ms": 104,
            "warmup_ms": 0,
            "first_step_ms": 90,
            "settled_ms": 14,
            "settled_after_steps": 1,
        },
        gone,
    ]


def test_a_number_that_is_not_there_is_none():
    assert spread([MS])["std_ms"] is None


def test_points_whose_steps_were_split_when_measured_are_read_as_before(tmp_path):
    published = ROOT / "examples" / "h200"
    held = json.loads((published / "studies" / "warmup" / "small-ctx256-cause.json").read_text())
    traced, *timed = held["rows"]
    point = tmp_path / "small-ctx256-cause.json"
    point.write_text(json.dumps(held | {"rows": [*split(traced), *timed]}))
    assert {"ns", "wall_ns"} < json.loads(point.read_text())["rows"][0].keys()
    join([point], warmup.derive, RULES).to_csv(tmp_path / "t.csv", index=False)
    made = filled(read_study(tmp_path / "t.csv"))
    table = filled(read_study(published / "tables" / "studies" / "warmup.csv"))
    expected = [row for row in table if row["point"] == point.stem]
    assert len(made) == len(expected) > 16
    for mine, row in zip(made, expected, strict=True):
        assert mine.items() <= row.items()
        assert {name for name in row if row[name] is not None} <= mine.keys()


def traced(phase: str, step: int, **ms: float) -> dict:
    """A step of sweep traced, with time in the categories of `ms`; the first runs 41 kernels."""
    ns = dict.fromkeys(CATEGORIES, 0) | {name: round(value * MS) for name, value in ms.items()}
    calls = {name: 3 for name in CATEGORIES if name != "outside"}
    row = ABOUT | {"sweep": "traced", "status": "ok", "reason": "", "phase": phase, "step": step}
    kernels = 0 if step else 41
    return row | {"wall_ns": sum(ns.values()), "ns": ns, "calls": calls, "kernels": kernels}
