"""The sentence of a mark stands where a cell has that mark, and nowhere else."""

from pathlib import Path

import pandas as pd
import pytest

from workflow_src.common.words import DASH
from workflow_src.paper.legend import legend, marks
from workflow_src.paper.show import Printer
from workflow_src.paper.templates import render
from workflow_src.paper.value import Joined, Marked, Ranged, Value

MS = Value(12.0, "ms", ())
LESS, MORE = Value(11.0, "ms", ()), Value(13.0, "ms", ())


@pytest.mark.parametrize(
    ("cell", "found"),
    [
        (MS, []),
        ("over ¹ bar", []),
        (Marked(MS, "†¹"), ["†¹"]),
        (Joined((MS, Marked(Marked(MS, "§"), "¹"), None)), ["¹", "§"]),
        (Ranged(Marked(MS, "°"), LESS, MORE), ["°"]),
        (Joined(("≈", Marked(MS, "¹")), " "), ["≈", "¹"]),
        (None, []),
        (float("nan"), []),
    ],
)
def test_the_marks_of_a_cell(cell: object, found: list[str]) -> None:
    assert list(marks(cell)) == found


def said(sentence: str, *cells: object, **slots: object) -> str:
    tables = [pd.DataFrame({"a": [cell]}, dtype="object") for cell in cells]
    return str(legend(Printer(), sentence, tables, pd.DataFrame(), **slots))


def test_a_sentence_stands_where_one_of_its_tables_has_the_mark() -> None:
    assert said("¹ Of one.", MS, Marked(MS, "†¹")) == "¹ Of one."
    assert said("¹ Of one.", MS, Marked(MS, "†")) == said("¹ Of one.") == ""


def test_a_mark_of_several_words_stands_in_asterisks() -> None:
    sentence = "*no training*: a graph."
    assert said(sentence, Marked(MS, " (no training)")) == sentence
    assert said(sentence, Marked(MS, "¹")) == ""


def test_words_may_be_all_that_a_cell_says_or_what_it_begins_with() -> None:
    for cell, stands in (("OOM", True), ("OOM here", True), ("not OOM", False), ("OOMs", False)):
        assert bool(said("*OOM*: out of memory.", cell)) == stands


def test_the_sentence_of_a_dash_stands_where_a_cell_or_a_part_of_it_is_missing() -> None:
    sentence = f"{DASH} Not measured."
    for cell in (None, float("nan"), Joined((MS, None))):
        assert said(sentence, MS, cell) == sentence
    assert said(sentence, MS, f"no {DASH} dash") == ""


def test_a_doubled_mark_is_of_one_cell() -> None:
    """Its sentence isn't called for by two cells with a single one."""
    assert said("†† Waits.", Marked(MS, "†"), Marked(MS, "†")) == ""
    assert said("† Short.", Marked(MS, "††")) == "† Short."


def test_slots_are_printed_as_cells() -> None:
    assert said("¹ Below {limit} us.", Marked(MS, "¹"), limit=Value(31.04, "us", ())) == (
        "¹ Below 31.0 us."
    )


def test_templates_have_it_as_a_filter(tmp_path: Path) -> None:
    (tmp_path / "a.md.j2").write_text("{{ '¹ *One*.' | legend(table) }}\n")
    for cell, text in ((Marked(MS, "¹"), "¹ *One*.\n"), (MS, "\n")):
        table = pd.DataFrame({"a": [cell]}, dtype="object")
        assert render(tmp_path, "a.md.j2", Printer(), table=table) == text
