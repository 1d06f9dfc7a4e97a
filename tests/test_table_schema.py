"""Every column of every table is described, once, and the page of the docs is made from that."""

import csv
from collections import Counter
from pathlib import Path

from tests.captures.building import event, launched, tables_in, trace_file
from workflow_src.cli.describe_tables import description
from workflow_src.common.case import CASE_COLUMNS
from workflow_src.common.table_schema import FILE, columns, tables

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"


def undescribed(table: str, found: list[str]) -> set[str]:
    described = columns(table)
    return {name for name in found if not {name, name.removesuffix("_per_step")} & {*described}}


def published() -> list[tuple[str, Path]]:
    """Each published table with its name in the schema."""
    named = [(path.stem, path) for path in EXAMPLES.rglob("tables/*.csv")]
    named += [(f"studies/{path.stem}", path) for path in EXAMPLES.rglob("tables/studies/*.csv")]
    named += [("plan", path) for path in EXAMPLES.rglob("plan.csv")]
    named += [("predictions", path) for path in EXAMPLES.rglob("predictions/*/*.csv")]
    captures = (EXAMPLES / "own_model" / "ddp").glob("*/*.csv")
    return named + [(f"capture/{path.stem}", path) for path in captures]


def test_every_column_of_a_published_table_is_described():
    found = {}
    for name, path in published():
        with path.open(encoding="utf-8", newline="") as file:
            left = undescribed(name, next(csv.reader(file))) - {""}
        assert name in tables()
        found |= {(name, column): path for column in left}
    assert not found


def test_every_column_of_a_captures_tables_is_described(tmp_path):
    work = [each for at in (10, 110, 210) for each in launched(at, at + 5, 60)]
    steps = [event("user_annotation", "step", at, 90) for at in (0, 100, 200)]
    made = tables_in(trace_file(tmp_path, [*steps, *work]), diagnosed=True)
    assert len(made) >= 15
    for name, table in made.items():
        assert undescribed(f"capture/{name}", list(table.columns)) == set()


def test_each_column_is_described_once_and_in_words():
    with FILE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert max(Counter((row["table"], row["column"]) for row in rows).values()) == 1
    assert all(row["meaning"] for row in rows)
    assert {row["type"] for row in rows} == {"", "text", "number", "whole", "id", "flag"}
    assert tuple(columns("case")) == CASE_COLUMNS


def test_the_page_on_tables_is_made_from_the_schema():
    assert (ROOT / "docs" / "tables.md").read_text(encoding="utf-8") == description()
