"""Each number in an answer's text comes from a value of the answer."""

import json

import pytest

from tests.questions import answer_question
from tests.synthetic_tables import Sample, grid, write_tables
from tests.test_answer_d import SKIPPED, TEMPLATES
from tests.workflow import ROOT
from workflow_src.answers.provenance import NUMERAL, Numeral, numerals, unsupported
from workflow_src.answers.questions import QUESTIONS
from workflow_src.cli import check_numbers

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
    text = "## 7 things\n\nIn 2 cases 88.4 %.\n\n| 19.1 |\n"
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


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_number_of_the_published_answers_has_a_source(question):
    found, text = answer_question(question, ROOT / "examples" / "h200" / "tables", TEMPLATES)
    assert unsupported(text, found.as_dict()) == []


@pytest.fixture
def folder(tmp_path):
    for question in QUESTIONS:
        (tmp_path / f"{question}.json").write_text(json.dumps(ANSWER))
        (tmp_path / f"{question}.md").write_text("In 2 cases.\n")
    return tmp_path


def test_the_command_lists_each_number_with_its_source(folder, capsys):
    check_numbers.main(["--answers", str(folder), "--output", str(folder / "n.csv")])
    assert capsys.readouterr().out == f"{len(QUESTIONS)} numbers, each with a source\n"
    assert (folder / "n.csv").read_text().splitlines()[:2] == [
        "question,line,number,source,sources",
        "a,1,2,how many in summary.cases,1",
    ]


def test_the_command_fails_on_a_number_without_a_source(folder):
    (folder / "b.md").write_text("In 2 cases.\n\nIn 4 cases.\n")
    with pytest.raises(SystemExit) as stop:
        check_numbers.main(["--answers", str(folder), "--output", str(folder / "n.csv")])
    said = str(stop.value.code)
    assert said.startswith(f"1 of {len(QUESTIONS) + 1} numbers come from nothing in the answers")
    assert said.endswith("4 in line 3 of b.md")
