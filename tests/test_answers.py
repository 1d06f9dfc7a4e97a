import json
import sys
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.questions import answer_question, run_command
from tests.synthetic_tables import Sample, tables, write_tables
from workflow_src.answers.answer import Answer, Fact
from workflow_src.answers.evidence import TableError, read_table, trend
from workflow_src.answers.questions import QUESTIONS
from workflow_src.answers.shares import family_shares
from workflow_src.render.markdown import between, calls, escape, joined, names, number, tally

TEMPLATES = Path(__file__).parent.parent / "report_templates"
SHORT, LONG = Sample(), Sample(context=256)
OOM = {"train_step": ("oom", "CUDA out of memory")}


@pytest.fixture
def ask(tmp_path):
    def asked(question: str, *samples: Sample) -> tuple[Answer, str]:
        return answer_question(question, write_tables(tmp_path, *samples), TEMPLATES)

    return asked


def fact(answer: Answer, name: str, case: str = SHORT.case) -> Fact:
    return next(fact for fact in answer.facts if (fact.case, fact.name) == (case, name))


def prose(markdown: str) -> str:
    lines = markdown.splitlines()
    return " ".join(line for line in lines if line and line[0] not in "|#-*")


def test_a_trend_needs_two_contexts(ask):
    _, alone = ask("c", SHORT, Sample(size="medium"))
    _, two = ask("c", SHORT, LONG)
    assert "context" not in prose(alone)
    assert "From the shortest context to the longest" in two
    assert "holds steady" in two


def test_a_trend_compares_like_with_like():
    rows = [{**s.front, "value": v} for s, v in ((SHORT, 1.0), (LONG, 3.0))]
    rows += [{**Sample(precision="bf16", context=512).front, "value": 0.0}]
    found = trend(rows, lambda row: float(row["value"]), 0.1)
    assert (found["runs"], found["rises"], found["falls"], found["steady"]) == (1, 1, 0, 0)
    assert (found["from_value"], found["to_value"]) == (1.0, 3.0)


# --- all questions ---


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_fact_has_rows_or_says_what_it_derives_from(ask, question):
    answer, _ = ask(question, SHORT, LONG, Sample(size="medium", status=OOM))
    names = {(f.case, f.name) for f in answer.facts}
    assert names
    for each in answer.facts:
        assert bool(each.rows) != bool(each.derived_from)
        assert {(each.case, source) for source in each.derived_from} <= names


@pytest.mark.parametrize("question", QUESTIONS)
def test_facts_point_at_rows_of_their_case(tmp_path, question):
    folder = write_tables(tmp_path, SHORT, LONG)
    answer, _ = answer_question(question, folder, TEMPLATES)
    for each in (f for f in answer.facts if f.rows):
        lines = (folder / f"{each.table}.csv").read_text().splitlines()
        assert all(lines[row - 1].startswith(each.case + ",") for row in each.rows)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize(("outside_ns", "status"), [(0, "complete"), (200_000, "partial")])
def test_too_much_time_outside_makes_it_partial(ask, question, outside_ns, status):
    answer, text = ask(question, Sample(outside_ns=outside_ns))
    assert answer.status == status
    assert ("Partial answer" in text) == ("outside all ranges" in text) == (status == "partial")


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_little_time_outside_is_no_matter(ask, question):
    answer, _ = ask(question, Sample(outside_ns=20_000))
    assert answer.status == "complete"


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_capture_without_device_activity_is_said_to_hold_none(ask, question):
    answer, text = ask(question, Sample(kernels={}))
    assert answer.status == "missing"
    assert "holds no device activity" in text
    assert "idle" not in prose(text)


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_case_without_a_capture_is_not_measured(ask, question):
    answer, text = ask(question, SHORT, Sample(size="medium", captured=False))
    assert answer.status == "partial"
    assert "Not measured: medium-ctx128-fp32" in text
    assert "not measured" in text


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_planned_case_with_status_missing_is_not_measured(ask, question):
    missing = {phase: ("missing", "not measured") for phase in SHORT.kernels}
    gone = Sample(size="medium", captured=False, status=missing, work={})
    answer, text = ask(question, SHORT, gone)
    assert answer.status == "partial"
    assert "medium-ctx128-fp32" in text


@pytest.mark.parametrize("question", QUESTIONS)
def test_nothing_measured_at_all_is_missing(ask, question):
    answer, text = ask(question)
    assert answer.status == "missing"
    assert "%" not in prose(text).replace("1 %", "")


@pytest.mark.parametrize("question", ["b", "c"])
def test_a_cpu_has_operators(ask, question):
    _, text = ask(question, Sample(device="cpu"))
    assert "operator" in text
    assert "ernel " not in "".join(line for line in text.splitlines() if "_kernel" not in line)


@pytest.mark.parametrize("question", QUESTIONS)
def test_hostile_names_stay_text(ask, question):
    bad = "<script>|x|`*_"
    kernels = {
        phase: [(p, bad + n, *r) for p, n, *r in rows] for phase, rows in SHORT.kernels.items()
    }
    _, text = ask(question, Sample(size="<b>|", kernels=kernels))
    assert "<script>" not in text
    assert "<b>" not in text
    widths = {line.count("|") for line in text.split("\n\n")[2].splitlines() if line[0] == "|"}
    assert len(widths) <= 1


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_stage_writes_json_and_markdown(tmp_path, monkeypatch, question):
    write_tables(tmp_path, SHORT)
    for name in set(tables(SHORT)) - set(QUESTIONS[question].tables):
        (tmp_path / f"{name}.csv").unlink()
    made, written = tmp_path / "out" / "x.json", tmp_path / "out" / "x.md"
    arguments = ["--tables", str(tmp_path), "--templates", str(TEMPLATES)]
    arguments += ["--json", str(made), "--markdown", str(written)]
    arguments += ["--appendix", str(tmp_path / "out" / "x.appendix.md")]
    monkeypatch.setattr(sys, "argv", ["answers", *arguments])
    run_command(question)
    found = json.loads(made.read_text())
    assert found["question"] == question
    assert found["facts"][0]["case"] == SHORT.case
    assert written.read_text().startswith(f"### ({question}) ")
    assert (tmp_path / "out" / "x.appendix.md").read_text().startswith("## Tables of")


def test_a_table_without_its_columns_is_refused(tmp_path):
    pd.DataFrame(SHORT.timings()).drop(columns="median_ms").to_csv(tmp_path / "timings.csv")
    with pytest.raises(TableError, match=r"timings\.csv is not .* \(no column median_ms\)"):
        read_table(tmp_path, "timings")


def test_text_that_looks_like_missing_stays_text(tmp_path):
    pd.DataFrame(Sample(size="NA").timings()).to_csv(tmp_path / "timings.csv", index=False)
    table = read_table(tmp_path, "timings")
    assert table["size"].unique().tolist() == ["NA"]
    assert table["reason"].unique().tolist() == [""]


# --- formats ---


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (1234.5, "1,234"), (12.34, "12.3"), (99.99, "100"), (0.01234, "0.0123")],
)
def test_numbers_show_three_digits(value, text):
    assert number(value) == text


def test_calls_and_ranges_of_values():
    assert [calls(1200.0), calls(2.5)] == ["1,200", "2.50 (not an integer)"]
    assert [between([2.0, 1.0]), between([1.0, 1.0001])] == ["1.00 to 2.00", "1.00"]


def test_lists_in_words_stay_readable_if_a_word_is_itself_a_list():
    lists = [[], ["a"], ["a", "b"], ["a", "b", "c"], ["scores, scaling and mask", "softmax"]]
    said = ["", "a", "a and b", "a, b and c", "scores, scaling and mask; softmax"]
    assert [joined(words) for words in lists] == said
    assert names(list("abcdefgh")) == "a, b, c, d, e and 3 more"


def test_tallies_leave_out_what_never_holds():
    assert tally({"rises": 2, "falls": 0}, "series") == "rises in both series"
    assert tally({"rises": 3, "falls": 0}, "series") == "rises in all 3 series"
    assert tally({"rises": 0, "falls": 1}, "series") == "falls"
    assert tally({"rises": 2, "falls": 1}, "series") == "rises in 2, falls in 1 of 3 series"


@given(st.text())
def test_escaped_text_holds_no_markup(text):
    assert not set(escape(text)) & set("<>|\n")


@given(
    st.lists(st.tuples(st.sampled_from(["gemm", "copy", "x"]), st.integers(1, 10**15)), min_size=1)
)
def test_shares_sum_to_one(rows):
    frame = pd.DataFrame(rows, columns=["family", "busy_ns"])
    assert sum(family_shares(frame).values()) == pytest.approx(1.0)
