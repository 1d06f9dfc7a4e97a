"""All questions answered for one case, from its own tables."""

import pytest

from tests.synthetic_tables import Sample, write_tables
from tests.test_answers import TEMPLATES
from workflow_src.answers import one_case
from workflow_src.answers.questions import QUESTIONS

SHORT, LONG = Sample(), Sample(context=256)


@pytest.fixture
def written(tmp_path):
    folder, target = write_tables(tmp_path / "tables", SHORT, LONG), tmp_path / "case.md"

    def write(case: str) -> str:
        paths = ["--tables", folder, "--templates", TEMPLATES, "--markdown", target]
        one_case.main([str(word) for word in ("--case-name", case, *paths)])
        return target.read_text()

    return write


def test_all_questions_are_answered_for_the_case_and_no_other_is_named(written):
    text = written(SHORT.case)
    assert text.startswith(f"# {SHORT.case}: where its time goes\n")
    assert all(f"\n## ({question}) " in text for question in QUESTIONS)
    assert "context 256" not in text and "| 256" not in text
    assert "In fp32 the forward pass (" in text


def test_tables_are_tables_not_escaped_text(written):
    text = written(SHORT.case)
    assert "&#124;" not in text and "\n| size" in text


def test_an_unknown_case_is_refused_with_the_known_names(written, capsys):
    with pytest.raises(SystemExit) as stop:
        written("tiny")
    said = str(stop.value.code) + capsys.readouterr().err
    assert "--case-name: 'tiny' is not one of" in said and SHORT.case in said
