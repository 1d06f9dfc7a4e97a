"""The summary of a run for programs: it says what the chapters say, with the same rows."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.answers.subsets import subset, written
from tests.report.written import assemble, chapters
from tests.synthetic_tables import Sample
from workflow_src.answers.summary import of_folder

LOST = Sample(context=256, status={"train_step": ("oom", "CUDA out of memory")})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The summary that a report of two cases writes beside their tables."""
    folder = tmp_path_factory.mktemp("run")
    paths = chapters(folder, Sample(), LOST)
    assemble(folder, paths, "--summary", str(folder / "summary.json"))
    found: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return found


def test_it_has_the_headline_and_the_numbers_of_each_question(made: dict[str, Any]) -> None:
    assert (made["schema"], made["kind"]) == (1, "run")
    assert "2 cases" in made["says"][0] and len(made["says"]) == 2
    named = {each["name"]: each for each in made["questions"]}
    assert [*"abcdef"] == [*named][:6]
    labels = {each["label"]: each for each in named["a"]["numbers"]}
    works = labels["(a) forward: device time, of unprofiled time"]
    assert (works["text"], works["unit"], works["precision"]) == ("83 %", "share", "fp32")
    assert "timings.csv:" in works["rows"] and labels["headline"]["value"] >= 0
    assert "interval" not in works, "a median has no ends"


def test_it_has_the_times_of_each_case_and_why_one_has_none(made: dict[str, Any]) -> None:
    rows = {(each["case"], each["phase"]): each for each in made["cases"]}
    first, lost = rows[Sample().case, "forward"], rows[LOST.case, "train_step"]
    assert first["status"] == "ok" and first["unprofiled_ms"]["value"] == 12
    assert first["device_ms"]["interval"] == [12, 12] and first["joules"] is None
    assert (lost["status"], lost["unprofiled_ms"]) == ("oom", None)
    why = [each for each in made["unknown"] if each.get("phase") == "train_step"]
    assert {"case": LOST.case, "phase": "train_step", "what": "unprofiled time",
            "why": "CUDA out of memory"} in why  # fmt: skip
    assert made["settings"]["steps"] == ["10"]


@pytest.mark.parametrize("seed", range(4))
def test_any_subset_of_tables_has_a_summary(tmp_path: Path, seed: int) -> None:
    written(subset(seed), tmp_path / "tables")
    found = of_folder(tmp_path)
    assert json.dumps(found, allow_nan=False) and found["questions"] == []
