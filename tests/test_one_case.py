"""All questions answered for one case, from its own tables."""

from pathlib import Path

import pandas as pd
import pytest

from tests.synthetic_tables import Sample, write_tables
from tests.test_answers import TEMPLATES
from workflow_src.answers import one_case
from workflow_src.answers.questions import QUESTIONS
from workflow_src.common.case import CASE_COLUMNS

SHORT, LONG = Sample(), Sample(context=256)


@pytest.fixture
def written(tmp_path):
    folder, target = write_tables(tmp_path / "tables", SHORT, LONG), tmp_path / "case.md"
    plan = tmp_path / "plan.csv"
    cases = pd.read_csv(folder / "captures.csv")[list(CASE_COLUMNS)]
    cases.assign(warmup_steps=1, steps=2, capture_steps=1).to_csv(plan, index=False)

    def write(case: str, tables: Path = folder) -> str:
        paths = ["--plan", plan, "--tables", tables, "--templates", TEMPLATES, "--markdown", target]
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


def test_a_case_s_own_tables_which_lack_its_columns_give_the_same_text(written, tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    for path in (tmp_path / "tables").glob("*.csv"):
        table = pd.read_csv(path, dtype=str)
        table = table[table["case"] == SHORT.case].drop(columns=list(CASE_COLUMNS))
        table.to_csv(own / path.name, index=False)
    assert written(SHORT.case, own) == written(SHORT.case)
