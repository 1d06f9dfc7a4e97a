import json
import os
import subprocess
from pathlib import Path

from tests.studies.warmup.first_steps import capture
from tests.workflow import ROOT
from workflow_src.common.errors import TraceError
from workflow_src.plan.config import load
from workflow_src.studies import programs
from workflow_src.studies.warmup import cause as cause_of
from workflow_src.studies.warmup.measure import measure
from workflow_src.studies.warmup.points import points

SETTINGS = load(ROOT / "config.yaml")


CAUSE = points("cuda", "small", SETTINGS)[-1] | {"device": "cuda"}


def test_the_cause_is_measured_by_one_program_under_nsys_and_without(monkeypatch, tmp_path):
    """Here without nsys and without a GPU: what runs is the program's command."""
    ran: list[tuple[str, list[str]]] = []

    def told() -> str:
        return os.environ["CUDA_MODULE_LOADING"]

    def profile(output, program, device, os_tracing):
        ran.append((f"nsys {told()}", program))

    def export(output, database):
        capture(database.parent, CAUSE["steps"]).rename(database)

    read = programs.run_tied

    def run_tied(program):
        if program[2] == cause_of.READER:
            return read(program)
        ran.append((told(), program))
        times = {"forward": [3, 2], "forward_backward": [5, 4]}
        Path(program[-1]).write_text(json.dumps({"build_ns": 7, "steps_ns": times}))
        return subprocess.CompletedProcess(program, 0)

    monkeypatch.setattr(programs, "run_tied", run_tied)
    monkeypatch.setattr(cause_of.nsys_cli, "profile", profile)
    monkeypatch.setattr(cause_of.nsys_cli, "export_sqlite", export)
    monkeypatch.delenv("CUDA_MODULE_LOADING", raising=False)
    rows = measure(CAUSE)
    assert [how for how, _ in ran] == ["nsys LAZY", *["LAZY", "LAZY", "EAGER"] * 2]
    assert "CUDA_MODULE_LOADING" not in os.environ
    for _, program in ran:
        assert program[1:4] == ["-m", "workflow_src.studies.warmup.cause", "--point"]
        assert json.loads(program[4]).items() >= CAUSE.items()
    prepared = [json.loads(program[4]).get("prepared") for _, program in ran]
    assert prepared == [None, *[False, True, True] * 2]
    assert [row["sweep"] for row in rows] == ["traced"] + ["loading"] * 12
    assert {(row["status"], row["config"]) for row in rows} == {("ok", "tiny-ctx64-fp32")}
    assert [row["steps_ns"] for row in rows[1:3]] == [[3, 2], [5, 4]]
    assert [row["loading"] for row in rows[1::2]] == ["LAZY", "LAZY", "EAGER"] * 2
    assert [row["prepared"] for row in rows[1::2]] == prepared[1:]
    assert measure(CAUSE | {"device": "cpu"}) == []


def test_a_program_that_fails_is_a_row(monkeypatch):
    def missing(*_, **__):
        raise TraceError("nsys is not on the PATH")

    monkeypatch.setattr(cause_of.nsys_cli, "profile", missing)
    ended = subprocess.CompletedProcess([], 3)
    monkeypatch.setattr(programs, "run_tied", lambda program: ended)
    rows = measure(CAUSE)
    assert [(row["sweep"], row["status"]) for row in rows] == [
        ("traced", "skipped"),
        *[("loading", "skipped")] * 6,
    ]
    assert rows[0]["reason"] == "nsys is not on the PATH"
    assert rows[1]["reason"].startswith("the program ended with status 3;")


def test_the_program_runs_the_first_steps_of_both_phases(monkeypatch, tmp_path):
    point = CAUSE | {"device": "cpu", "context": 8, "steps": 2, "prepared": True}
    output = tmp_path / "steps.json"
    monkeypatch.setattr("sys.argv", ["", "--point", json.dumps(point), "--output", str(output)])
    cause_of.main()
    found = json.loads(output.read_text())
    assert found["build_ns"] > 0
    assert {phase: len(ns) for phase, ns in found["steps_ns"].items()} == {
        "forward": 2,
        "forward_backward": 2,
    }
