"""All questions answered for one case, from its own tables."""

from pathlib import Path

import pandas as pd
import pytest

from tests.synthetic_tables import Sample, write_tables
from tests.test_answers import TEMPLATES
from workflow_src.answers import one_case
from workflow_src.answers.evidence import TableError
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


def ceilings(folder: Path, precision: str = "fp32") -> None:
    rate = {"kind": "bandwidth", "name": "copy", "precision": precision, "best_gb_per_s": 4000.0}
    pd.DataFrame([rate | {"best_giga_exp_per_s": None}]).to_csv(folder / "ceilings.csv")


def test_ceilings_which_belong_to_no_case_are_read_with_any_case_s_tables(written, tmp_path):
    ceilings(tmp_path / "tables")
    assert written(SHORT.case)
    read = one_case.tables_of(tmp_path / "tables", SHORT.front)["ceilings"]
    assert list(read["best_gb_per_s"]) == [4000.0] and not read.columns.has_duplicates


def test_a_ceiling_of_an_unknown_precision_is_named(written, tmp_path):
    ceilings(tmp_path / "tables", "fp8")
    with pytest.raises(TableError, match="precision: 'fp8' is not one of fp32, tf32, bf16, fp16"):
        one_case.tables_of(tmp_path / "tables", SHORT.front)
