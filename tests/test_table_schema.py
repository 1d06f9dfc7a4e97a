"""Every column of every table is described, once, and the page of the docs is made from that."""

import csv
from collections import Counter
from pathlib import Path

import pytest

from tests.captures.building import event, launched, tables_in, trace_file
from tools.describe import DOCS, page
from workflow_src.common.case import CASE_COLUMNS
from workflow_src.common.errors import StageError
from workflow_src.common.read_table import read_table
from workflow_src.common.table_schema import FILE, columns, key, tables

ROOT = Path(__file__).parent.parent


def test_every_column_of_a_captures_tables_is_described(tmp_path):
    work = [each for at in (10, 110, 210) for each in launched(at, at + 5, 60)]
    steps = [event("user_annotation", "step", at, 90) for at in (0, 100, 200)]
    made = tables_in(trace_file(tmp_path, [*steps, *work]), diagnosed=True)
    assert len(made) >= 15
    for name, table in made.items():
        assert {each.removesuffix("_per_step") for each in table} <= {*columns(f"capture/{name}")}


def test_each_column_is_described_once_and_in_words():
    with FILE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert max(Counter((row["table"], row["column"]) for row in rows).values()) == 1
    assert all(row["meaning"] for row in rows)
    assert {row["type"] for row in rows} == {"", "text", "number", "whole", "id", "flag"}
    assert tuple(columns("case")) == CASE_COLUMNS


def test_keys_are_of_described_columns():
    assert {table: key(table) for table in tables() if set(key(table)) - set(columns(table))} == {}


@pytest.mark.parametrize("name", ["timings", "kernels", "studies/mlp"])
def test_a_row_that_is_there_twice_is_refused_with_its_line(name, tmp_path):
    """Once with another amount, where a key tells that it is the same row."""
    path = ROOT / "examples" / "h200" / "tables" / f"{name}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        heads, *rows = csv.reader(file)
    amounts = [c for c in heads if c in columns(name) and columns(name)[c].is_number]
    changed = [c for c in amounts if c not in key(name)][-1:] if key(name) else []
    again = [
        cell if head not in changed else "7" for head, cell in zip(heads, rows[0], strict=True)
    ]
    with (tmp_path / path.name).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([heads, *rows, again])
    by = ", ".join(key(name)) or "cells"
    with pytest.raises(StageError) as caught:
        read_table(tmp_path / path.name, name)
    assert f"(line {len(rows) + 2} has the same {by} as line 2); " in str(caught.value)


def test_the_page_on_tables_is_made_from_the_schema():
    assert (DOCS / "tables.md").read_text(encoding="utf-8") == page(DOCS / "tables.md")
