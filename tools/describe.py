"""Write docs/settings.md, of each setting, and docs/tables.md, of each column of each table.

What a page has before its first heading of this kind is written by hand.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from workflow_src.common.table_schema import SHARED_BY, Column, columns, key, tables
from workflow_src.plan.settings import Config, Size, Suite

DOCS = Path(__file__).parents[1] / "docs"

PLACES: dict[str, type[BaseModel]] = {"Settings of a run": Config, "A size": Size, "A suite": Suite}
TYPES = {"integer": "whole number", "array": "list", "object": "mapping", "string": "text"}
LIMITS = {"minimum": "from {}", "exclusiveMinimum": "above {}"}

HEADINGS = {
    "case": "first columns of each joined table but ceilings.csv",
    "study": "columns that tables of studies share",
    "capture": "columns that tables of a capture share",
    "plan": "plan.csv",
}
"""Of tables that are no CSV in `tables`."""

PER_STEP = """\
`steps` follows in `paths.csv` and `kernels.csv`, and sums again per step \
(`busy_ns_per_step`): what belongs to steps, divided by their number.
"""


def settings() -> Iterator[str]:
    """The lines of the page of settings, as Markdown."""
    for name, kind in PLACES.items():
        yield f"## {name}\n\n{kind.__doc__}\n"
        schema = kind.model_json_schema()
        yield from (_setting(key, rules, schema) for key, rules in schema["properties"].items())
        yield ""


def _setting(key: str, rules: dict[str, Any], schema: dict[str, Any]) -> str:
    of = next((each for each in rules.get("anyOf", ()) if each.get("type") != "null"), rules)
    said = [TYPES.get(of["type"], of["type"])] if "type" in of else []
    said += [text.format(of[name]) for name, text in LIMITS.items() if name in of]
    said = said or ["any"]
    said += ["required"] if key in schema.get("required", ()) else []
    default = rules.get("default")
    said += [f"default `{json.dumps(default)}`"] if default is not None else []
    return f"- `{key}` ({', '.join(said)}): {' '.join(rules['description'].split())}"


def described() -> Iterator[str]:
    """The lines of the page of tables: a column that two have alike is described in the first."""
    first: dict[tuple[str, str, str], str] = {}
    for table, what in tables().items():
        yield f"## {_heading(table)}\n"
        if table not in SHARED_BY.values() and table != "case":
            by = ", ".join(f"`{name}`" for name in key(table))
            yield f"{what[:1].upper()}{what[1:]}{f' ({by})' if by else ''}.\n"
        again: dict[str, list[str]] = {}
        for each in (each for each in columns(table).values() if each.table == table):
            place = first.setdefault((each.column, each.unit, each.meaning), table)
            if place == table:
                yield _column(each)
            else:
                again.setdefault(place, []).append(f"`{each.column}`")
        yield from (f"- as in {_heading(name)}: {', '.join(same)}" for name, same in again.items())
        yield f"\n{PER_STEP}" if table == "capture" else ""


def _column(column: Column) -> str:
    """A column, with its unit unless it is a share or its name ends with it."""
    name, unit = column.column, column.unit
    told = unit in ("", "count", "share") or name.endswith(f"_{unit.lower()}")
    return f"- `{name}`{'' if told else f' ({unit})'}: {column.meaning}"


def _heading(table: str) -> str:
    return HEADINGS.get(table, f"{table}.csv")


def page(path: Path) -> str:
    """A page as it should be."""
    start, *_ = path.read_text(encoding="utf-8").partition("\n## ")
    return "\n".join([start, *PAGES[path.stem]()])


PAGES = {"settings": settings, "tables": described}

if __name__ == "__main__":
    for name in PAGES:
        (DOCS / f"{name}.md").write_text(page(DOCS / f"{name}.md"), encoding="utf-8")
