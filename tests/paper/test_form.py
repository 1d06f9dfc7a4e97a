"""How cells, tables and prose are printed, and that numbers keep their evidence."""

import re

import pandas as pd
import pytest
from markupsafe import Markup

from workflow_src.common.words import DASH
from workflow_src.paper.form import Form, Link, ranges
from workflow_src.paper.number import NAN, Number

HALF = Number(0.5, "share", frozenset([("timings", 2), ("timings", 3)]), "a / b")


@pytest.mark.parametrize("html", [False, True])
def test_texts_are_escaped_and_bare_numbers_refused(html: bool) -> None:
    form = Form(html)
    bad = '"><b>*a*|_b_`\n\nc'
    text = str(form.prose(form.table(pd.DataFrame({bad: [bad]}), bad)))
    assert "<b>" not in text and "<i>a" not in text and '"><b' not in text
    assert html or text.count("&#124;") == 3
    for cell in (1.5, 1, True):
        with pytest.raises(TypeError, match="no evidence"):
            form.table(pd.DataFrame({"ms": [cell]}, dtype=object))


def test_a_number_opens_its_evidence() -> None:
    form = Form(html=True)
    text = form.cell(("†", HALF, " to ", HALF))
    (key,) = set(re.findall(r'value="(\w+)"', text))
    why = form.evidence[key]
    assert (why["text"], why["value"], why["rows"]) == ("50 %", 0.5, {"timings": "2-3"})
    assert form.cell(Number(512.0, "whole")) == "512" and len(form.evidence) == 1
    assert Form(html=False).cell(HALF) == "50 %"
    assert ranges([("b", 7), ("a", 3), ("b", 2), ("b", 3)]) == {"a": "3", "b": "2-3, 7"}


def test_one_is_no_plural() -> None:
    some = Number(1.0, "of 3", frozenset([("timings", 2)]), "a")
    said = [str(Form(False).count(each, "case")) for each in ("1", "11", some, NAN)]
    assert said == ["1 case", "11 cases", "1 of 3 cases", f"{DASH} cases"]


def test_a_table_has_the_columns_that_say_something() -> None:
    rows = pd.DataFrame({"a": ["x", "y"], "b": [HALF, NAN], "c": ["", None], "d": [NAN, "OOM"]})
    made = Form(html=False).table(rows, "Shares", d="state", b="share", a="what", c="empty")
    assert made.split("\n")[2:][:6] == [
        "Shares:",
        "",
        "| state | share | what |",
        "|:--|--:|:--|",
        f"| {DASH} | 50 % | x |",
        f"| OOM | {DASH} | y |",
    ]
    assert Form(html=False).table(rows[:0]) == ""
    page = Form(html=True).table(rows, bars="mm", a="what", b="share")
    assert '<div class="meter c-mm" style=--w:50%>' in page
    matrix = {"fp32": pd.DataFrame({"size": ["s"], "128": [HALF]})}
    assert "width:25.0%" in Form(html=True).matrix(matrix, "Shares", 2.0)
    assert "| s | 50 % |" in Form(html=False).matrix(matrix, "Shares", 2.0)
    fewer = {"tf32": pd.DataFrame({"size": ["s"], "256": [HALF]})}
    assert f"| fp32 | s | 50 % | {DASH} |" in Form(html=False).matrix(fewer | matrix, "Shares")


def test_prose_has_its_marks_in_both_forms() -> None:
    text = "A **b** *c* `d`.\n\n- one\n- two\n\n† a note"
    page = Form(html=True).prose(text)
    assert "<p>A <b>b</b> <i>c</i> <code>d</code>.</p>" in page
    assert "<li>one</li><li>two</li>" in page and '<p class="note">†' in page
    assert Form(html=False).prose(text) == text
    assert Form(html=True).cell(Link("x", "e")) == Markup('<a href="#e">x</a>')
