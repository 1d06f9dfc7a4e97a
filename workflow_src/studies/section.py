"""Write a study's section of the report, its long tables and its numbers, and draw its figure."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from operator import methodcaller
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup
from matplotlib.figure import Figure

from workflow_src.common.arguments import Parser, existing_file, existing_folder, new_file
from workflow_src.common.atomic_write import write_json, write_text
from workflow_src.common.errors import StageError, one_sentence, remake
from workflow_src.common.reading import reading
from workflow_src.common.thresholds import HOST_CHANGED
from workflow_src.render.drawing import svg
from workflow_src.render.markdown import number, template_in

STAYED = (
    "**Measured with torch.profiler attached**{which}, which slows launches: times that wait for "
    "them are too long, busy shares too small."
)
"""Said where a table's points were measured so, as all were before profilers were detached; which:
those points, in parentheses, where others weren't."""

UNSTEADY = (
    "**Unsteady host**: an eager operation took {least} to {most} us, and times that wait for "
    "launches may change as much."
)
"""Said where the host's speed changed by HOST_CHANGED or more between a table's processes."""


NO_CEILINGS = pd.DataFrame()
"""The ceilings of a run without any."""


def unjudged(table: pd.DataFrame, ceilings: pd.DataFrame) -> dict[str, Any]:
    """Of a study that isn't held against the run's ceilings, nothing."""
    return {}


@dataclass(frozen=True)
class Section:
    """A study's section of the report, made from its table.

    study: the name of the study and of its templates; summarize: the numbers and verdicts by which
    the templates choose their sentences; tables: Markdown tables by name; figure: what it draws;
    judge: further numbers, from the table and the ceilings of the run's machine (JUDGED says of
    which studies).
    """

    study: str
    title: str
    summarize: Callable[[pd.DataFrame], dict[str, Any]]
    tables: Callable[[pd.DataFrame], dict[str, Markup]]
    figure: Callable[[pd.DataFrame], Figure]
    judge: Callable[[pd.DataFrame, pd.DataFrame], dict[str, Any]] = unjudged

    def markdown(
        self,
        table: pd.DataFrame,
        templates: Path,
        picture: str = "",
        ceilings: pd.DataFrame = NO_CEILINGS,
    ) -> str:
        """The section's text; the numbers in the table choose its sentences.

        `picture`: the Markdown image of the figure, which goes where the template says or last.
        """
        said = self.said(table, ceilings)
        text = self._rendered(table, templates, self.study, said, picture)
        text = text if picture in text else f"{text}\n{picture}\n"
        return text + stayed(table) + unsteady(table)

    def appendix(self, table: pd.DataFrame, templates: Path) -> str:
        """The study's long tables, for the report's appendix; "" if it has no template for them."""
        name = f"{self.study}.appendix"
        if not Path(templates, "studies", f"{name}.md.j2").is_file():
            return ""
        return self._rendered(table, templates, name, self.said(table))

    def _rendered(
        self,
        table: pd.DataFrame,
        templates: Path,
        name: str,
        said: dict[str, Any],
        picture: str = "",
    ) -> str:
        """A template's text, without bold headings that no sentence follows."""
        template = template_in(templates, f"studies/{name}.md.j2")
        about = {"title": self.title, "tables": self.tables(table), "picture": Markup(picture)}
        text = template.render(**about, **said)
        text = re.sub(r"^(\*\*[A-Z][^*\n]+\.\*\*)\s*(?=\n\n|\Z)", "", text, flags=re.MULTILINE)
        return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"

    def said(self, table: pd.DataFrame, ceilings: pd.DataFrame = NO_CEILINGS) -> dict[str, Any]:
        """The numbers and verdicts that the section's sentences take from the table."""
        speed = {"host_operation_us": host_speed(table)}
        return self.summarize(table) | self.judge(table, ceilings) | speed

    def svg(self, table: pd.DataFrame) -> str:
        """The study's figure as SVG; equal tables give identical bytes."""
        return svg(lambda: self.figure(table), f"study_{self.study}")


def stayed(table: pd.DataFrame) -> str:
    """STAYED, of the points whose process kept a profiler attached; empty if there are none."""
    if "profiler_stayed" not in table:
        return ""
    attached = table["profiler_stayed"].astype("str") == "True"
    if not attached.any():
        return ""
    points = ", ".join(dict.fromkeys(table.loc[attached, "point"].astype("str")))
    return "\n" + STAYED.format(which="" if attached.all() else f" ({points})") + "\n"


def host_speed(table: pd.DataFrame) -> dict[str, float]:
    """The `least` and `most` us of an eager operation around a table's processes, if measured."""
    if "host_operation_us_least" not in table:
        return {}
    least, most = (pd.to_numeric(table[f"host_operation_us_{end}"]) for end in ("least", "most"))
    return {"least": least.min(), "most": most.max()}


def unsteady(table: pd.DataFrame) -> str:
    """UNSTEADY, if the host was; empty if it wasn't, or if its speed wasn't measured."""
    speed = host_speed(table)
    if not speed or not speed["most"] > HOST_CHANGED * speed["least"]:
        return ""
    return "\n" + UNSTEADY.format(**{end: number(us) for end, us in speed.items()}) + "\n"


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


def plain(said: dict[str, Any]) -> dict[str, Any]:
    """Numbers and verdicts as JSON has them, NaN as null."""
    text = json.dumps(said, default=methodcaller("item"))
    found: dict[str, Any] = json.loads(text, parse_constant=lambda _: None)
    return found


@one_sentence()
def main(section: Section) -> None:
    """Write a study's section, its part of the appendix, its numbers and its figure."""
    parser = Parser(description=__doc__)
    parser.add_argument("--table", type=existing_file, required=True)
    parser.add_argument("--templates", type=existing_folder, required=True)
    parser.add_argument("--figure", type=new_file, required=True, help="the SVG to draw")
    parser.add_argument("--output", type=new_file, required=True, help="Markdown")
    parser.add_argument("--appendix", type=new_file, required=True, help="the long tables")
    parser.add_argument("--json", type=new_file, required=True, help="the section's numbers")
    parser.add_argument(
        "--ceilings", type=existing_file, nargs="*", default=[], help="the run's, if it has any"
    )
    given = parser.parse_args()
    table = read_table(given.table)
    ceilings = next(map(read_table, given.ceilings), NO_CEILINGS)
    picture = f"![{section.title}]({given.figure.as_posix()})"
    figure = section.svg(table)
    text = section.markdown(table, given.templates, picture, ceilings)
    appendix = section.appendix(table, given.templates)
    said = plain(section.said(table, ceilings))
    write_text(given.figure, figure)
    write_text(given.output, text)
    write_text(given.appendix, appendix)
    write_json(given.json, {"summary": said})
