"""Write a study's section of the report and draw its figure."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup
from matplotlib.figure import Figure

from workflow_src.common.arguments import Parser, existing_file, existing_folder, new_file
from workflow_src.common.atomic_write import write_text
from workflow_src.common.errors import StageError, one_sentence, remake
from workflow_src.common.reading import reading
from workflow_src.render.drawing import svg
from workflow_src.render.markdown import template_in


@dataclass(frozen=True)
class Section:
    """A study's section of the report, made from its table.

    study: the name of the study and of its template; summarize: the numbers and verdicts by which
    the template chooses its sentences; tables: Markdown tables by name; figure: the study's figure.
    """

    study: str
    title: str
    summarize: Callable[[pd.DataFrame], dict[str, Any]]
    tables: Callable[[pd.DataFrame], dict[str, Markup]]
    figure: Callable[[pd.DataFrame], Figure]

    def markdown(self, table: pd.DataFrame, templates: Path) -> str:
        """The section's text; the numbers in the table choose its sentences."""
        template = template_in(templates, f"studies/{self.study}.md.j2")
        summary = self.summarize(table)
        return str(template.render(title=self.title, tables=self.tables(table), **summary))

    def svg(self, table: pd.DataFrame) -> str:
        """The study's figure as SVG; equal tables give identical bytes."""
        return svg(lambda: self.figure(table), f"study_{self.study}")


def read_table(path: Path) -> pd.DataFrame:
    """A study's table; empty text cells become "". Raises StageError for a damaged file."""
    with reading(path, "a readable table", remake(path), StageError):
        table = pd.read_csv(path, keep_default_na=False, na_values=[])
        if "status" not in table.columns:
            raise ValueError("no column status")
    return table.apply(lambda column: _numbers(column))


def _numbers(column: "pd.Series[str]") -> pd.Series:
    """A column as numbers if all its nonempty cells are numbers, else unchanged."""
    filled = column.astype("str").replace("", None)
    numbers = pd.to_numeric(filled, errors="coerce")
    return numbers if numbers.notna().sum() == filled.notna().sum() > 0 else column


@one_sentence()
def main(section: Section) -> None:
    """Write a study's section and figure."""
    parser = Parser(description=__doc__)
    parser.add_argument("--table", type=existing_file, required=True)
    parser.add_argument("--templates", type=existing_folder, required=True)
    parser.add_argument("--figure", type=new_file, required=True, help="the SVG to draw")
    parser.add_argument("--output", type=new_file, required=True, help="Markdown")
    given = parser.parse_args()
    table = read_table(given.table)
    figure, text = section.svg(table), section.markdown(table, given.templates)
    write_text(given.figure, figure)
    picture = f"![{section.title}]({given.figure.as_posix()})"
    write_text(given.output, f"{text}\n\n{picture}\n")
