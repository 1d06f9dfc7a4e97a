"""How figures, pages, cells, tables and prose are made, and what tables a run has."""

import base64
import gzip
import json
import re
from pathlib import Path

import pandas as pd
import pytest
from markupsafe import Markup

from tests.published import H100
from workflow_src.common.errors import StageError
from workflow_src.common.words import DASH
from workflow_src.paper.cells import Link, ranges
from workflow_src.paper.figures import Panel, Plot
from workflow_src.paper.form import Form
from workflow_src.paper.number import NAN, Number
from workflow_src.paper.page import page
from workflow_src.paper.run import Run, matrices, medians


def test_a_name_has_one_color_in_all_panels_and_no_axes_are_empty() -> None:
    rows = pd.DataFrame({"x": [1.0, 1.0], "y": [2.0, 3.0], "name": ["a", "b"]})
    panels = [Panel(mine, x="x", y="y", by="name") for mine in (rows, rows[1:], rows)]
    axes = Plot(panels, "nothing", wide=2).draw().axes
    colors = [[line.get_color() for line in each.lines] for each in axes]
    assert colors[0] == colors[2] and len({*colors[0]}) == 2
    assert colors[1] == colors[0][1:]


TEMPLATES = Path(__file__).parents[2] / "report_templates"


def test_numbers_of_equal_evidence_share_a_key_and_none_without_it_asks():
    why = {"value": 2.5, "unit": "ms", "formula": "a / b", "rows": {"timings": "2-4"}}
    buttons = [f'<button class="n" value="{key}">2.5</button>' for key in ("n1", "n2", "n1", "n3")]
    made = page(
        "A run", buttons, {"n1": why, "n2": why | {"ends": [1, 3]}}, {"a": "(a)"}, TEMPLATES
    )
    assert re.findall(r"<data value=(\w+)>2.5", made) == ["0", "1", "0"]
    packed = re.search(r'id="numbers">([^<]+)<', made)
    told = json.loads(gzip.decompress(base64.b64decode(packed[1])))
    rows = {"timings": "2-4"}
    ends = [None, ["1", "3"]]
    assert told == [["2.5"] * 2, ["ms"] * 2, ["a / b"] * 2, ends, [rows] * 2]
    assert "<title>A run</title>" in made and '<a href="#a">(a)</a>' in made


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
    page = Form(html=True).table(rows, bars=True, a="what", b="share")
    assert "<div class=meter style=--w:50%>" in page
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


HEAD = "case,size,context,batch,precision,attention,optimizer,device"


def test_tables_have_their_types_and_absent_ones_their_columns(tmp_path: Path) -> None:
    (tmp_path / "environments.csv").write_text(
        f"{HEAD},compiled,gpu\na{',' * 7},True,1e3\nb{',' * 7},,\nc{',' * 7},1,\n"
    )
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "mlp.csv").write_text("point,status,median_ms\nmlp,ok,many\n")
    run = Run.of(tmp_path)
    read = run["environments"]
    assert read["compiled"].tolist() == [True, False, True]
    assert read["gpu"].tolist() == ["1e3", "", ""] and set(read["driver"]) == {""}
    assert read.index.tolist() == [("environments", line) for line in (2, 3, 4)]
    assert run["timings"].empty and {"case", "phase", "median_ms"} <= set(run["timings"])
    with pytest.raises(StageError, match=r"studies/mlp.csv is not .* median_ms"):
        run["studies/mlp"]
    assert Run([tmp_path / "none.csv"]).cases.empty


def test_cases_make_tables_by_size_and_context_and_by_precision() -> None:
    run = Run.of(H100 / "tables")
    cases = run.cases
    ones = cases["label"].map(lambda label: Number(1.0 if "fp32" in label else 3.0, "ms"))
    assert cases["label"].is_unique and "small at 128 in fp32" in set(cases["label"])
    found = medians(cases, {"time": (ones, "median"), "none": (ones[:0], "median")})
    assert [[str(cell) for cell in row] for row in found.to_numpy()] == [["time", "1.00", "3.00"]]
    assert list(found) == ["", "fp32", "bf16"]
    tables = matrices(cases, ones.where(cases["size"] != "small", "OOM"))
    assert list(tables) == ["fp32", "bf16"]
    assert tables["bf16"]["size"].iloc[0] == "small" and tables["bf16"]["128"].iloc[0] == "OOM"
