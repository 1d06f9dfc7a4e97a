"""Each number in an answer's text comes from a value of the answer."""

import json
from importlib import import_module

import pandas as pd
import pytest

from tests.questions import answer_question
from tests.synthetic_tables import Sample, grid, write_tables
from tests.test_answer_d import SKIPPED, TEMPLATES
from tests.test_report import write_plan
from tests.workflow import ROOT
from workflow_src.answers.provenance import NUMERAL, Numeral, numerals, unsupported
from workflow_src.answers.questions import QUESTIONS
from workflow_src.cli import check_numbers
from workflow_src.common.atomic_write import write_json
from workflow_src.report.report import Sources
from workflow_src.studies.section import read_table
from workflow_src.studies.study import STUDIES

PUBLISHED = ROOT / "examples" / "h200"
FACT = {
    "case": "a", "name": "host_ms", "value": 19.14, "unit": "ms", "table": "ranges",
    "rows": [2, 5], "derived_from": [],
}  # fmt: skip
ANSWER = {"summary": {"share": 0.884, "cases": ["a", "b"]}, "rows": {}, "facts": [FACT]}


def texts(text: str) -> list[str]:
    return NUMERAL.findall(text)


def test_parts_of_names_are_no_numbers():
    assert texts("sm80_gemm_128x128x8 in 2.7B, fp32, small-ctx128, 3rd, T4") == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1,234 calls.", ["1,234"]),
        ("(+17.8 %), 0.0195 times", ["17.8", "0.0195"]),
        ("36 + 12 = 48.", ["36", "12", "48"]),
        ("context 1024: 3 x 12 layers", ["1024", "3", "12"]),
    ],
)
def test_numbers_in_sentences(text, found):
    assert texts(text) == found


def test_a_sentence_shows_the_summary_and_a_table_the_facts_too():
    text = "## 7 things\n\nIn 2 cases [88.4](results/2026-11-22/a.md) %.\n\n| 19.1 |\n"
    assert [(n.line, n.text, n.sources) for n in numerals(text, ANSWER)] == [
        (3, "2", ("how many in summary.cases",)),
        (3, "88.4", ("summary.share",)),
        (5, "19.1", ("a host_ms (ranges.csv rows 2, 5)",)),
    ]


@pytest.mark.parametrize("text", ["It takes 19.1 ms.", "| 19.2 |", "In 3 cases."])
def test_a_number_that_nothing_supports_is_found(text):
    (lost,) = unsupported(text, ANSWER)
    assert lost == Numeral(1, lost.text, ())


SHAPES = {
    "one case": [Sample()],
    "two contexts": [Sample(), Sample(context=256)],
    "a grid": grid(),
    "out of memory": [Sample(), Sample(context=256, status=SKIPPED)],
    "a CPU": [Sample(device="cpu"), Sample(device="cpu", context=256)],
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_number_of_an_answer_has_a_source(tmp_path, question, shape):
    found, text = answer_question(question, write_tables(tmp_path, *SHAPES[shape]), TEMPLATES)
    assert unsupported(text, found.as_dict()) == []


def test_every_number_of_the_published_report_has_a_source(tmp_path):
    for question in QUESTIONS:
        found, text = answer_question(question, PUBLISHED / "tables", TEMPLATES)
        assert unsupported(text, found.as_dict()) == []
        write_json(tmp_path / f"{question}.json", found.as_dict())
    folders = PUBLISHED / "tables", tmp_path, PUBLISHED / "figures"
    opening = check_numbers.opening(Sources(*folders, TEMPLATES, PUBLISHED / "plan.csv"), "mine")
    assert len(opening) > 50 and [number for number in opening if not number.sources] == []


@pytest.mark.parametrize("study", STUDIES)
def test_every_number_of_a_published_study_has_a_source(study):
    table = read_table(PUBLISHED / "tables" / "studies" / f"{study}.csv")
    made = import_module(f"workflow_src.studies.{study}.section").SECTION
    found = check_numbers.section(made.markdown(table, TEMPLATES), table, study)
    assert len(found) > 20 and [number for number in found if not number.sources] == []


def test_a_number_that_a_study_does_not_measure_is_found():
    table = read_table(PUBLISHED / "tables" / "studies" / "warmup.csv")
    (lost,) = check_numbers.section("It takes 0.12345 ms.", table, "warmup")
    assert lost.text == "0.12345" and lost.sources == ()


@pytest.fixture
def run(tmp_path):
    """A run's folder whose answers say that there are two cases."""
    write_tables(tmp_path / "tables", *SHAPES["two contexts"])
    write_plan(tmp_path / "plan.csv")
    (tmp_path / "answers").mkdir()
    for question in QUESTIONS:
        (tmp_path / "answers" / f"{question}.json").write_text(json.dumps(ANSWER))
        (tmp_path / "answers" / f"{question}.md").write_text("In 2 cases.\n")
    return tmp_path


def test_the_command_lists_each_number_with_its_source(run, capsys):
    check_numbers.main(["--results", str(run), "--output", str(run / "n.csv")])
    found = pd.read_csv(run / "n.csv")
    assert capsys.readouterr().out == f"{len(found)} numbers, each with a source\n"
    of_a = found[found["part"] == "answers/a.md"].iloc[0]
    assert of_a.tolist() == ["answers/a.md", 1, "2", "how many in summary.cases", 1]
    assert found["part"].nunique() == 1 + len(QUESTIONS)


def test_the_command_fails_on_a_number_without_a_source(run):
    (run / "answers" / "b.md").write_text("In 2 cases.\n\nIn 4 cases.\n")
    with pytest.raises(SystemExit) as stop:
        check_numbers.main(["--results", str(run), "--output", str(run / "n.csv")])
    said = str(stop.value.code)
    assert said.startswith("1 of ") and " numbers come from nothing in the tables" in said
    assert said.endswith("4 in line 3 of answers/b.md")
