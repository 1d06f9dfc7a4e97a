"""Write docs/tables.md: what each table holds, from workflow_src/common/tables.csv."""

from collections.abc import Mapping, Sequence

from workflow_src.common.arguments import Parser, new_file
from workflow_src.common.atomic_write import write_text
from workflow_src.common.table_schema import SHARED_BY, Column, columns, key, tables

INTRODUCTION = """\
# Tables

Made by `python -m workflow_src.cli.describe_tables --output docs/tables.md` from \
`workflow_src/common/tables.csv`, which also has each column's type: readers check by it.

An empty cell wasn't measured, or isn't known. A run's tables lie in `results/{tag}/tables/`, a \
study's in its folder `studies`, a capture's in `results/captures/{name}/`. A table may lack \
columns of which no row has a value. Readers refuse a table in which two rows have the same key, \
which stands in brackets, or, where none does, all cells in common.
"""

PLACES = {
    "case": "first columns of each joined table but ceilings.csv",
    "study": "columns that tables of studies share",
    "capture": "columns that tables of a capture share",
    "plan": "plan.csv",
}
"""The headings of tables that are no CSV in `tables`."""

PER_STEP = """\
`steps` follows in `paths.csv` and `kernels.csv`, and sums again per step \
(`busy_ns_per_step`): what belongs to steps, divided by their number.
"""


def description() -> str:
    """The page as Markdown: a column that two tables have alike is described in the first."""
    first: dict[tuple[str, str, str], str] = {}
    for table in tables():
        for each in _own(table):
            first.setdefault(_said(each), table)
    return "\n".join([INTRODUCTION, *(_section(name, first) for name in tables())])


def _own(table: str) -> list[Column]:
    return [each for each in columns(table).values() if each.table == table]


def _said(column: Column) -> tuple[str, str, str]:
    return column.column, column.unit, column.meaning


def _section(table: str, first: Mapping[tuple[str, str, str], str]) -> str:
    lines = [f"## {_heading(table)}", ""]
    if table not in SHARED_BY.values() and table != "case":
        what, by = tables()[table], ", ".join(f"`{name}`" for name in key(table))
        lines += [f"{what[:1].upper()}{what[1:]}{f' ({by})' if by else ''}.", ""]
    again: dict[str, list[str]] = {}
    for each in _own(table):
        if (described := first[_said(each)]) == table:
            lines.append(_line(each))
        else:
            again.setdefault(described, []).append(f"`{each.column}`")
    lines += [f"- as in {_heading(name)}: {', '.join(same)}" for name, same in again.items()]
    return "\n".join([*lines, "", *([PER_STEP] if table == "capture" else [])])


def _line(column: Column) -> str:
    """A column, with its unit unless it is a share or its name ends with it."""
    name, unit = column.column, column.unit
    told = unit in ("", "count", "share") or name.endswith(f"_{unit.lower()}")
    return f"- `{name}`{'' if told else f' ({unit})'}: {column.meaning}"


def _heading(table: str) -> str:
    return PLACES.get(table, f"{table}.csv")


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the page."""
    parser = Parser(prog="workflow_src.cli.describe_tables", description=__doc__)
    parser.add_argument("--output", type=new_file, required=True, help="docs/tables.md")
    write_text(parser.parse_args(arguments).output, description())


if __name__ == "__main__":
    main()
