"""A study's section of the report, and its figure, from its table."""

import argparse
from pathlib import Path

import pandas as pd

from workflow_src.common.atomic_write import write_text, write_whole
from workflow_src.common.errors import StageError, one_sentence, reading
from workflow_src.render.markdown import environment
from workflow_src.studies.study import load_study


def read_table(path: Path) -> pd.DataFrame:
    """A study's table; empty text cells are empty text."""
    with reading(path, "a readable table", "delete it and run again", StageError):
        table = pd.read_csv(path, keep_default_na=False, na_values=[])
    return table.apply(lambda column: _numbers(column))


def _numbers(column: "pd.Series[str]") -> pd.Series:
    """A column as numbers where all its filled cells are numbers, else as it is."""
    filled = column.astype("str").replace("", None)
    numbers = pd.to_numeric(filled, errors="coerce")
    return numbers if numbers.notna().sum() == filled.notna().sum() > 0 else column


def section(name: str, table: pd.DataFrame, templates: Path) -> str:
    """The Markdown of a study's section; each sentence is chosen by the table's numbers."""
    study = load_study(name)
    template = environment(templates).get_template(f"studies/{name}.md.j2")
    summary = study.summarize(table)
    return str(template.render(title=study.TITLE, tables=study.tables(table), **summary))


@one_sentence()
def main() -> None:
    """Write a study's section and figure."""
    parser = argparse.ArgumentParser(prog="workflow_src.studies.section", description=__doc__)
    parser.add_argument("--study", required=True)
    parser.add_argument("--table", type=Path, required=True)
    parser.add_argument("--templates", type=Path, required=True)
    parser.add_argument("--figure", type=Path, required=True, help="the SVG to draw")
    parser.add_argument("--output", type=Path, required=True, help="Markdown")
    given = parser.parse_args()
    table = read_table(given.table)
    write_whole(given.figure, lambda partial: load_study(given.study).draw(table, partial))
    picture = f"![{load_study(given.study).TITLE}]({given.figure.as_posix()})"
    write_text(given.output, f"{section(given.study, table, given.templates)}\n\n{picture}\n")


if __name__ == "__main__":
    main()
