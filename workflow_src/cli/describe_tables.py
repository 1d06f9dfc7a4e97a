"""Write docs/tables.md: what each table holds, from workflow_src/common/tables.csv."""

from collections.abc import Iterable, Iterator, Sequence

from workflow_src.common.arguments import Parser, new_file
from workflow_src.common.atomic_write import write_text
from workflow_src.common.table_schema import SHARED_BY, Column, columns, key, tables

INTRODUCTION = """\
# Tables

Made by `python -m workflow_src.cli.describe_tables --output docs/tables.md` from \
`workflow_src/common/tables.csv`, which describes each column once: readers check by it, and \
reports take headings from it.

An empty cell is a value that wasn't measured, or isn't known. A table of a run lies in \
`results/{tag}/tables/`, that of a study in its folder `studies`, and a capture's in \
`results/captures/{name}/`. A table may lack columns of which no row has a value. Readers refuse a \
table in which two rows have the same key or, where none is named, all cells in common.
"""

PLACES = {
    "case": "The first columns of each joined table but `ceilings.csv`",
    "study": "Columns that tables of studies share",
    "capture": "Columns that tables of a capture share",
    "plan": "plan.csv",
}
"""The headings of tables that are no CSV in `tables`."""

PER_STEP = """\
`steps` follows in `paths.csv`, `kernels.csv`, `families.csv` and `idle.csv`, and \
each sum again per step (`busy_ns_per_step`): what belongs to steps, divided by their number.
"""


def description() -> str:
    """The page as Markdown."""
    return "\n".join([INTRODUCTION, *(_section(name) for name in tables())])


def _section(table: str) -> str:
    lines = [f"## {_heading(table)}", ""]
    if table not in SHARED_BY.values() and table != "case":
        what, by = tables()[table], ", ".join(f"`{name}`" for name in key(table))
        lines += [f"{what[:1].upper()}{what[1:]}.{f' Its key: {by}.' if by else ''}", ""]
    own = [each for each in columns(table).values() if each.table == table]
    lines += [*_rows(own), ""]
    return "\n".join([*lines, PER_STEP] if table == "capture" else lines)


def _heading(table: str) -> str:
    folder, _, name = table.rpartition("/")
    beside = {"studies": "studies/", "capture": "of a capture: "}.get(folder, "")
    return PLACES.get(table, f"{beside}{name}.csv")


def _rows(described: Iterable[Column]) -> Iterator[str]:
    yield "| column | holds | meaning |"
    yield "|---|---|---|"
    for each in described:
        unit = f", {each.unit}" if each.unit not in ("", "count") else ""
        yield f"| `{each.column}` | {each.type}{unit} | {each.meaning} |"


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the page."""
    parser = Parser(prog="workflow_src.cli.describe_tables", description=__doc__)
    parser.add_argument("--output", type=new_file, required=True, help="docs/tables.md")
    write_text(parser.parse_args(arguments).output, description())


if __name__ == "__main__":
    main()
