"""A brought model through the whole workflow: a report, and what an edit of its file measures."""

import re

import pytest

from tests.workflow import ROOT, SUITE, Project, make_project

WORKLOAD = ("workload=examples/my_model.py:make", "axes={context: [8], width: [16]}")

pytestmark = pytest.mark.workflow


def asked(*targets: str) -> list[str]:
    return [*targets, "--config", *WORKLOAD, *SUITE[1:]]


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = make_project(tmp_path_factory.mktemp("own"))
    example = ROOT / "examples" / "my_model.py"
    (project.folder / "examples").mkdir()
    (project.folder / "examples" / "my_model.py").write_bytes(example.read_bytes())
    project.run(*asked("report.md"))
    return project


def test_a_brought_model_gets_a_report_with_every_answer(own: Project) -> None:
    report = (own.folder / "report.md").read_text()
    assert all(re.search(rf"^(## |\*)\({letter}\) ", report, re.MULTILINE) for letter in "abcdef")
    assert "1 case: my_model-width=16, context 8" in report
    assert "could not be written" not in report
    assert "Nothing to be done" in own.run(*asked("report.md"))


def test_an_edit_measures_its_cases_again_and_a_comment_nothing(own: Project) -> None:
    file = own.folder / "examples" / "my_model.py"
    text = file.read_text()
    file.write_text(f"# A comment.\n{text}")
    assert own.stale(*asked("report.md")) == {}
    file.write_text(text.replace("width, 4,", "width, 2,"))
    stale = own.stale(*asked("report.md"))
    assert (stale["benchmark"], stale["capture"]) == (1, 1)
    file.write_text(text)
