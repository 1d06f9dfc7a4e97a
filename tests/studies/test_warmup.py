"""The study warmup: the cause in fresh processes, and when steps have settled."""

import json
import os
import subprocess
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workflow import ROOT, load
from workflow_src.measure import processes
from workflow_src.studies.points import points
from workflow_src.studies.tasks import rows
from workflow_src.studies.warmup import cause
from workflow_src.studies.warmup.chapter import SETTLED_WITHIN, settled_after, settled_median
from workflow_src.studies.warmup.measure import tasks

CAUSE = points("warmup", "cuda", "small", load(ROOT / "config.yaml"))[-1] | {"device": "cuda"}


def test_the_cause_is_tried_by_one_program_in_fresh_processes(monkeypatch):
    """Here without a GPU: what runs is the program's command."""
    ran: list[list[str]] = []

    def run_tied(program):
        ran.append(program)
        times = {"forward": [3, 2], "forward_backward": [5, 4]}
        Path(program[-1]).write_text(json.dumps({"build_ns": 7, "steps_ns": times}))
        return subprocess.CompletedProcess(program, 0)

    monkeypatch.setattr(processes, "run_tied", run_tied)
    found = rows(tasks, CAUSE)
    for program in ran:
        assert program[1:4] == ["-m", "workflow_src.studies.warmup.cause", "--point"]
        assert json.loads(program[4]).items() >= CAUSE.items()
    jobs = [json.loads(program[4]) for program in ran]
    prepared = [job["prepared"] for job in jobs]
    assert prepared == [False, True, True] * 2
    assert [job["loading"] for job in jobs] == ["LAZY", "LAZY", "EAGER"] * 2
    assert [row["sweep"] for row in found] == ["loading"] * 12
    assert {(row["status"], row["config"]) for row in found} == {("ok", "tiny-ctx64-fp32")}
    assert [row["steps_ns"] for row in found[:2]] == [[3, 2], [5, 4]]
    assert [row["loading"] for row in found[::2]] == ["LAZY", "LAZY", "EAGER"] * 2
    assert [row["prepared"] for row in found[::2]] == prepared


def test_a_program_that_fails_is_a_row(monkeypatch):
    monkeypatch.setattr(processes, "run_tied", lambda program: subprocess.CompletedProcess([], 3))
    found = rows(tasks, CAUSE)
    assert [(row["sweep"], row["status"]) for row in found] == [("loading", "skipped")] * 6
    assert found[0]["reason"].startswith("the program ended with status 3;")


def test_the_program_runs_the_first_steps_of_both_phases(monkeypatch, tmp_path):
    point = CAUSE | {"device": "cpu", "context": 8, "steps": 2, "prepared": True}
    point |= {"loading": "EAGER"}
    monkeypatch.setenv("CUDA_MODULE_LOADING", "LAZY")
    output = tmp_path / "steps.json"
    monkeypatch.setattr("sys.argv", ["", "--point", json.dumps(point), "--output", str(output)])
    cause.main()
    assert os.environ["CUDA_MODULE_LOADING"] == "EAGER"
    found = json.loads(output.read_text())
    assert found["build_ns"] > 0
    counts = {phase: len(ns) for phase, ns in found["steps_ns"].items()}
    assert counts == dict.fromkeys(cause.PHASES, 2)


@settings(deadline=None)
@given(st.lists(st.floats(1, 1e6), min_size=1, max_size=40))
def test_after_settling_all_steps_lie_near_and_the_step_before_does_not(steps):
    after, settled = settled_after(steps), settled_median(steps)
    far = [abs(step - settled) > SETTLED_WITHIN * settled for step in steps]
    if after is None:
        assert far[-1]
    else:
        assert not any(far[after:])
        assert after == 0 or far[after - 1]
