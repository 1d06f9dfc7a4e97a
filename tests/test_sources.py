"""The links from an answer's sentences to the values, cases and rows that their numbers show."""

import re
from functools import cache

import pandas as pd
import pytest

from tests.questions import answer_question
from tests.test_answer_d import TEMPLATES
from tests.workflow import ROOT
from workflow_src.answers.questions import QUESTIONS
from workflow_src.report.sources import Linker, Source, of_answer, row_texts
from workflow_src.report.support import Cells, Support

ROWS = {
    "case": "small-ctx128-fp32", "brief": "small, context 128", "share": 0.31, "ms": 12.0,
}  # fmt: skip
OTHER = {"case": "xl-ctx128-fp32", "brief": "xl, context 128", "share": 0.31, "ms": 40.0}
FACT = {
    "case": "small-ctx128-fp32", "name": "gemm", "value": 0.31, "unit": "1", "table": "kernels",
    "rows": [3, 7], "derived_from": [],
}  # fmt: skip
RATIO = FACT | {"name": "ms", "value": 12.0, "unit": "ms", "table": "", "rows": [],
                "derived_from": ["gemm"]}  # fmt: skip
ANSWER = {"summary": {"all": [ROWS, OTHER], "median": 0.31}, "facts": [FACT, RATIO]}


@pytest.fixture
def linker() -> Linker:
    return of_answer("b", ANSWER)


def test_a_number_beside_a_cases_name_shows_that_cases_value_and_rows(linker):
    assert linker.link("It is 31.0 % in small, context 128.") == (
        "It is [31.0](#number-b-1) % in small, context 128."
    )
    (source,) = linker.sources.values()
    assert (source.value.case, source.support.name) == ("small-ctx128-fp32", "gemm")
    assert (source.support.table, source.support.rows) == ("kernels", (3, 7))


@pytest.mark.parametrize(
    ("more", "text", "expected"),
    [
        ({}, "31.0 % in small, context 128", 0),
        ({"again": {"worst": ROWS}}, "31.0 % in small, context 128", 0),
        ({"again": ROWS | {"idle_share": 0.31}}, "31.0 % in small, context 128", 1),
        ({"again": OTHER}, "31.0 % in small, context 128", 0),
        ({"again": {"median": 0.31}}, "a median of 31.0 %", 0),
        ({"again": {"median": 0.3101}}, "a median of 31.0 %", 1),
        ({"said": "9 of 12 cases", "count": 9}, "9 of 12 cases", 0),
    ],
)
def test_other_values_are_counted_once_and_only_of_what_the_sentence_names(more, text, expected):
    found = of_answer("b", ANSWER | {"summary": ANSWER["summary"] | more})
    found.link(text)
    assert next(iter(found.sources.values())).others == expected


def test_a_number_without_a_case_shows_the_value_highest_in_the_summary(linker):
    linker.link("A median of 31.0 %.")
    (source,) = linker.sources.values()
    assert (source.value.path, source.value.case, source.support.rows) == ("summary.median", "", ())


def test_a_value_computed_from_facts_has_their_rows(linker):
    linker.link("In small, context 128 it takes 12.0 ms.")
    support = next(iter(linker.sources.values())).support
    assert (support.name, support.table, support.rows) == ("ms", "kernels", (3, 7))


@pytest.mark.parametrize(
    "text",
    ["## 31.0", "| 31.0 |", "`31.0`", "[31.0](#x)", "context 128", "99.9 of nothing", "fp32"],
)
def test_headings_tables_code_links_names_and_unknown_numbers_stay(linker, text):
    assert linker.link(text) == text
    assert not linker.sources


def test_the_same_number_of_the_same_value_is_one_row(linker):
    assert linker.link("31.0 % and 31.0 %").count("(#number-b-1)") == 2


def test_rows_are_shown_with_their_values(linker):
    table = pd.DataFrame({"case": "a", "path": ["x", "y"], "busy_ns": [5, 6]}, index=[2, 3])
    linker.link("It is 31.0 % in small, context 128.")
    (source,) = linker.sources.values()
    assert row_texts(source, {"kernels": table}) == ["row 3: path y, busy_ns 6"]
    private = table.assign(node="secret-host", device_name="GPU-secret")
    assert row_texts(source, {"kernels": private}) == row_texts(source, {"kernels": table})


def led_to(summary: dict, text: str) -> list[str]:
    """Where in an answer's summary the numbers of a sentence lead."""
    linker = of_answer("b", {"summary": summary, "facts": []})
    linker.link(text)
    return [source.value.path.removeprefix("summary.") for source in linker.sources.values()]


@pytest.mark.parametrize(
    ("summary", "text", "found"),
    [
        ({"host_ms": 19.85}, "It matches in 17 of 20 cases.", []),
        ({"host_ms": 10.3}, "It takes 10.3 % of the time.", []),
        ({"host_ms": 0.103, "part": 0.103}, "It takes 10.3 % of the time.", ["part"]),
        ({"limit": 0.1}, "It matches within 10 %.", ["limit"]),
        ({"changed": -0.0684}, "It changes by -6.8 points.", ["changed"]),
        ({"share": 0.0684, "ms": 6.84}, "It takes 6.84 ms.", ["ms"]),
        ({"share": 7.0, "ms": 7.04}, "It takes 7.04 and 9.1 ms.", ["ms"]),
        ({"launches": 720, "ms": 720.4}, "It took 720 to 801 ms.", ["ms"]),
        ({"layers": 12, "longer": 12}, "It leads in 12.", []),
        ({"layers": 12, "text": "12 in fp32 and 3 in bf16"}, "(12 in fp32 and 3 in bf16)",
         ["text", "text"]),
        ({"batch": 26, "longer": 26}, "It takes longer in 26.", ["longer"]),
        ({"longer": 24}, "It was measured from 2026-11-22 to 2026-11-24.", []),
        ({"evidence": [26], "longer": 3}, "It takes longer in 26.", []),
        ({"rows": ["a"] * 26}, "It takes longer in 26 of all cases.", []),
        ({"rows": ["a"] * 26}, "In 26 cases.", ["how many in summary.rows"]),
        ({"rows": ["a"] * 26, "worst": {"threads": 26}}, "It holds in 25 of 26 steps.", []),
        ({"rows": ["a"] * 26, "worst": {"threads": 26}}, "On 26 threads.", ["worst.threads"]),
        ({"layers": 4.0, "flops": 4.0}, "For 4.00 times the FLOPs.", ["flops"]),
        ({"exponent": 1.0}, "A share over 100 % is not.", []),
        ({"busy_share": 1.0}, "Busy for 100 % of it.", ["busy_share"]),
        ({"all": [0.1, 0.2, 0.3]}, "From 10.0 % over 20.0 % to 30.0 %.", ["all[0]", "all[2]"]),
    ],
)  # fmt: skip
def test_a_number_leads_only_to_what_fits_its_unit(summary, text, found):
    assert led_to(summary, text) == found


def test_of_equal_values_that_beside_which_the_sentences_numbers_stand_is_meant():
    growth = [{"low": 4096, "high": 8192, "flops": 4.0}, {"low": 128, "high": 256, "flops": 4.0}]
    text = "From 128 to 256, for 4.00 times the FLOPs."
    linker = Linker("mlp", {"growth": growth}, lambda value: Support())
    linker.link(text)
    paths = [source.value.path for source in linker.sources.values()]
    assert paths == [f"summary.growth[1].{name}" for name in ("low", "high", "flops")]


def test_a_median_is_of_no_case_and_a_case_that_is_not_named_is_not_meant():
    summary = {"rows": [ROWS, OTHER], "all": {"of": {"both": {"share": 0.31}}}}
    text = "A median of 31.0 %, most in small, context 128."
    assert led_to(summary, text) == ["all.of.both.share"]
    assert led_to({"rows": [ROWS, OTHER]}, "It takes 40.0 ms.") == []
    assert led_to({"rows": [ROWS]}, "It takes 12.0 ms in small, context 128.") == ["rows[0].ms"]


def test_the_case_named_nearest_is_meant():
    text = "In xl, context 128 less than the 31.0 % of small, context 128."
    assert led_to({"rows": [OTHER, ROWS]}, text) == ["rows[1].share"]


def test_of_cases_with_one_short_name_the_line_tells_which_is_meant():
    def case(precision: str) -> dict:
        named = f"small, context 128, {precision}"
        return {"case": precision, "named": named, "brief": "small, context 128", "gb": 19.3}

    summary = {"rows": [case("fp32"), case("bf16")]}
    for text in (
        "- small, context 128, bf16: softmax 19.3 GB; a cast from fp32.",
        "- **bf16**: most in small, context 128: 19.3 GB.",
    ):
        assert led_to(summary, text) == ["rows[1].gb"]


def test_what_is_of_the_machine_has_its_rows_though_it_is_of_no_case():
    fact = FACT | {"name": "bandwidth_gb_per_s", "value": 4659.1, "unit": "GB/s"}
    fact |= {"table": "ceilings", "rows": [3]}
    linker = of_answer("c", {"summary": {"bandwidth": 4659.1}, "facts": [fact]})
    linker.link("Of 4,659 GB/s, the best measured.")
    (source,) = linker.sources.values()
    assert (source.value.case, source.support.table, source.support.rows) == ("", "ceilings", (3,))


def test_a_fact_of_the_same_name_supports_a_value():
    zero = FACT | {"name": "other_share", "value": 0.0, "rows": [9]}
    answer = {"summary": ROWS | {"idle_share": 0.0}, "facts": [zero, zero | {"name": "idle_share"}]}
    linker = of_answer("b", answer)
    linker.link("It is idle for 0.0 %.")
    (source,) = linker.sources.values()
    assert source.support.name == "idle_share"


def test_a_derived_value_has_the_rows_of_the_first_that_it_is_derived_from():
    speed = FACT | {"name": "speed", "value": 5.0, "rows": [9], "table": "ceilings"}
    share = RATIO | {"name": "share", "value": 0.31, "derived_from": ["gemm", "speed"]}
    linker = of_answer("c", {"summary": ROWS, "facts": [speed, FACT, share]})
    linker.link("It is 31.0 % in small, context 128.")
    (source,) = linker.sources.values()
    assert (source.support.name, source.support.table) == ("share", "kernels")


TABLE = pd.DataFrame(
    {
        "point": ["one", "one", "two"],
        "precision": ["fp32", "bf16", "bf16"],
        "n": [512, 512, 1024],
        "median_ms": [2.5, 1.2345678, 4.0],
        "why": ["", "", "moves 28 bytes"],
    },
    index=[2, 3, 4],
)


@pytest.mark.parametrize(
    ("summary", "text", "rows", "computed"),
    [
        ({"best": {"precision": "bf16", "n": 512}}, "At n = 512", (3,), False),
        ({"best": {"median_ms": 4.0}}, "In 4.00 ms", (4,), False),
        ({"least": 1.2345678}, "In 1.23 ms", (3,), False),
        ({"least": 4.0}, "In 4.00 ms", (), True),
        ({"best": {"median_ms": 1.2345678, "gap": 0.123}}, "12.3 % more", (3,), True),
        ({"gap": 0.123}, "12.3 % more", (), True),
        ({"best": {"why": "moves 28 bytes"}}, "It moves 28 bytes", (4,), False),
    ],
)
def test_a_studys_value_is_supported_by_cells_or_by_what_stands_beside_it(
    summary, text, rows, computed
):
    linker = Linker("study", summary, Cells({"studies/study": TABLE}))
    linker.link(text)
    support = next(iter(linker.sources.values())).support
    assert (support.rows, support.computed) == (rows, computed)
    assert support.points == tuple(TABLE.loc[list(rows), "point"])


def test_a_row_is_shown_with_its_point_and_the_value_first():
    linker = Linker("study", {"best": {"median_ms": 4.0}}, Cells({"studies/study": TABLE}))
    linker.link("In 4.00 ms")
    (source,) = linker.sources.values()
    shown = row_texts(source, {"studies/study": TABLE})
    assert shown == ["row 4: point two, median_ms 4.0, n 1024, why moves 28 bytes"]


@pytest.mark.parametrize(
    ("summary", "text", "others"),
    [
        ([{"precision": "fp32", "x": 0.31}, {"precision": "bf16", "y": 0.3101}], "31.0 %", 1),
        ([{"precision": "fp32", "x": 0.31}, {"precision": "bf16", "y": 0.3101}],
         "in bf16 31.0 %", 0),
        ({"forward": {"x": 0.31}, "train_step": {"y": 0.3101}}, "31.0 % of a training step", 0),
        ({"host_ms": 7.26, "replayed_ms": 7.264}, "7.26 ms", 1),
        ({"host_ms": 7.26, "replayed_ms": 7.264}, "replayed 7.26 ms", 0),
        ({"a": {"host_ms": 7.26}, "b": {"replayed_ms": 7.264}}, "replayed 7.26 ms", 1),
        ({"gb": 7.26, "ratio": 7.264}, "7.26 GB", 0),
        ({"a": {"x": 7.2612345}, "b": {"y": 7.2612345}}, "7.26 ms", 0),
        ({"a": {"x": 7.26}, "b": {"y": 7.26}}, "7.26 ms", 1),
        ({"a": ["softmax", 0.31], "b": ["copies", 0.3101]}, "softmax 31.0 %", 0),
    ],
)  # fmt: skip
def test_other_values_are_those_that_nothing_in_the_text_tells_apart(summary, text, others):
    linker = Linker("study", {"all": summary}, lambda value: Support())
    linker.link(text)
    (source,) = linker.sources.values()
    assert source.others == others


def test_of_values_with_labels_that_the_sentence_all_has_the_nearest_is_meant():
    rates = [{"precision": "tf32", "n": 4096}, {"precision": "bf16", "n": 4096}]
    text = "It is 391 in tf32 at n = 4096, and 778 in bf16 at n = 4096."
    assert led_to({"rates": rates, "most": "bf16"}, text) == ["rates[0].n", "rates[1].n"]


def test_few_of_the_published_numbers_can_be_another_value_too():
    sources = {source.key: source for _, _, source in published()}.values()
    assert len(sources) > 350
    assert sum(source.others > 0 for source in sources) < len(sources) / 10


@cache
def published() -> list[tuple[str, str, Source]]:
    """Each linked number of the published answers, what follows it, and its source."""
    found = []
    for question in QUESTIONS:
        answer, text = answer_question(question, ROOT / "examples" / "h200" / "tables", TEMPLATES)
        linker = of_answer(question, answer.as_dict())
        linked = linker.link(text.split("\n## Tables of")[0])
        by_key = {source.key: source for source in linker.sources.values()}
        for link in re.finditer(r"\[([^]]*)\]\(#(number-[^)]*)\)", linked):
            after = re.sub(r"\[([^]]*)\]\(#number-[^)]*\)", r"\1", linked[link.end() :])
            found.append((link[1], after[:40], by_key[link[2]]))
    return found


def test_published_percentages_lead_to_shares_that_are_printed_so():
    shares = [each for each in published() if re.match(r" (?:%|points?)", each[1])]
    assert len(shares) > 150
    for number, _, source in shares:
        digits = len(number.partition(".")[2])
        assert isinstance(source.value.value, float)
        assert abs(100 * abs(source.value.value) - float(number)) <= 0.501 * 10**-digits
        assert not re.search(r"_ms\b", source.value.path)


def test_published_counts_lead_to_equal_whole_numbers_or_to_their_words():
    unit = r"(?:,? (?:to|and|of) [\d.,]+)* (?:%|points?|ms|GB|bytes|FLOPs)"
    counts = [each for each in published() if each[0].isdigit() and not re.match(unit, each[1])]
    assert len(counts) > 100
    for number, _, source in counts:
        value = source.value.value
        assert number in value if isinstance(value, str) else value == int(number)
