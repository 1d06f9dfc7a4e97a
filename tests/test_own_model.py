"""A brought model through the whole workflow: a report with every answer."""

import re
from pathlib import Path

import pytest

from tests.workflow import ROOT, SUITE, make_project

WORKLOAD = ("workload=examples/my_model.py:make", "axes={context: [8], width: [16]}")
ASKED = ("report.md", "--config", *WORKLOAD, *SUITE[1:])


@pytest.mark.workflow
def test_a_brought_model_gets_a_report_with_every_answer(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "my_model.py").write_bytes(
        (ROOT / "examples" / "my_model.py").read_bytes()
    )
    project.run(*ASKED)
    report = (tmp_path / "report.md").read_text()
    assert all(re.search(rf"^(## |\*)\({letter}\) ", report, re.MULTILINE) for letter in "abcdef")
    assert "1 case: my_model-width=16, context 8" in report
    assert "could not be written" not in report
    assert project.stale(*ASKED) == {}
