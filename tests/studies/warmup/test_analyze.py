import pytest

from tests.studies.tables import joined
from workflow_src.common.summary import spread
from workflow_src.studies.warmup import analyze as warmup

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


def test_trials_have_no_totals_and_captures_of_earlier_versions_are_left_out():
    trial = ABOUT | {"sweep": "loading", "loading": "EAGER", "process": 0, "status": "ok"}
    measured = trial | {"build_ns": 500 * MS, "steps_ns": [30 * MS, 12 * MS, 10 * MS, 10 * MS]}
    traced = ABOUT | {"sweep": "traced", "status": "ok"}
    (found,) = warmup.derive({}, [traced, measured])
    times = {"first_step_ms": 30.0, "settled_ms": 10.0, "extra_ms": 20.0, "build_ms": 500.0}
    assert found == trial | times
