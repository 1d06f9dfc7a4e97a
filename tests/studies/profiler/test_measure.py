"""The profiler study's processes: which run, in which order, and what becomes of their rows."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.workflow import ROOT
from workflow_src.plan.config import load
from workflow_src.studies.points import points
from workflow_src.studies.profiler import measure
from workflow_src.studies.study import Point
from workflow_src.studies.tasks import main

SETTINGS = load(ROOT / "config.yaml") | {"profiler": "torch"}


def point(**others: object) -> Point:
    (found,) = points("profiler", "cpu", "small", SETTINGS)
    return found | {"device": "cpu"} | others


def test_every_other_pair_begins_with_the_profiled_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran: list[tuple[int, bool]] = []

    def in_process(of: Point, output: Path) -> dict[str, Any]:
        ran.append((of["process"], of["profiled"]))
        return {}

    monkeypatch.setattr(measure, "in_process", in_process)
    measure.in_pairs(point(processes=6))
    assert ran == [(0, False), (0, True), (1, True), (1, False), (2, False), (2, True)]


@pytest.mark.usefixtures("served_python")
def test_a_pair_of_real_processes(tmp_path: Path) -> None:
    output = tmp_path / "point.json"
    given = point(processes=2, warmup_steps=1, steps=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["measure", *arguments(given, output)])
        main(measure.tasks, in_processes=measure.in_pairs)
    found = json.loads(output.read_text())
    assert [(row["name"], row["status"], len(row["samples_ns"])) for row in found["rows"]] == [
        ("plain", "ok", 2),
        ("profiled", "ok", 2),
    ]
    assert len(found["processes"]) == 2 and found["point"] == given


def arguments(given: Point, output: Path) -> list[str]:
    return ["--point", json.dumps(given), "--output", str(output)]
