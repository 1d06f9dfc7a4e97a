import pytest

from tests.studies.warmup.first_steps import capture
from workflow_src.studies.warmup import analyze as warmup
from workflow_src.studies.warmup import cause as cause_of
from workflow_src.studies.warmup.host_time import CATEGORIES
from workflow_src.studies.warmup.read_capture import kept

MS = 1_000_000


ABOUT = {"config": "t", "size": "t", "context": 8, "batch": 1, "phase": "forward"}


def test_what_is_derived_of_a_capture_and_of_trials(tmp_path):
    about = {key: ABOUT[key] for key in ("config", "size", "context", "batch")}
    traced = about | {"sweep": "traced"} | kept(capture(tmp_path), cause_of.PHASES, 4)
    timed = trials("forward", 0, "EAGER", [30, 12, 10, 10])
    rows = warmup.derive({"cause": True}, [traced, timed])
    whole, first = rows[:2]
    common = about | {"sweep": "traced", "status": "ok", "reason": "", "phase": "forward"}
    assert whole == common | {
        "part": "whole", "first_step_ms": 0.001, "settled_ms": 0.001, "extra_ms": 0.0,
    }  # fmt: skip
    assert first == common | {
        "part": "first_launch", "first_step_ms": 0.0006, "settled_ms": 0.0, "extra_ms": 0.0006,
        "first_calls": 1, "settled_calls": 0, "kernels": 1,
    }  # fmt: skip
    assert rows[2]["settled_ms"] == pytest.approx(0.0000175) and rows[2]["settled_calls"] == 2
    assert [row["part"] for row in rows[:8]] == ["whole", *CATEGORIES]
    assert len(rows) == 2 * 8 + 1
    assert rows[-1] == ABOUT | {
        "sweep": "loading", "loading": "EAGER", "process": 0, "status": "ok", "reason": "",
        "phase": "forward", "first_step_ms": 30.0, "settled_ms": 10.0, "extra_ms": 20.0,
        "build_ms": 500.0,
    }  # fmt: skip


def trials(phase: str, process: int, mode: str, steps: list[float], **other: object) -> dict:
    """A raw row of sweep loading."""
    ns = [round(step * MS) for step in steps]
    about = ABOUT | {"sweep": "loading", "phase": phase, "loading": mode, "process": process}
    build = {"LAZY": 200, "EAGER": 500}[mode] * MS
    return about | {"status": "ok", "reason": "", "build_ns": build, "steps_ns": ns} | other
