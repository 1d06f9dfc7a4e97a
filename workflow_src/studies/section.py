"""Write a study's section of the report, its long tables, its JSON, and draw its figure."""

import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pandas as pd
from markupsafe import Markup
from matplotlib.figure import Figure

from workflow_src.common.arguments import Parser, existing_file, existing_folder, new_file
from workflow_src.common.atomic_write import write_text
from workflow_src.common.errors import StageError, one_sentence
from workflow_src.common.study_table import read_study
from workflow_src.render import texts as paper
from workflow_src.render.drawing import nothing, svg
from workflow_src.render.show import Printer
from workflow_src.render.templates import render
from workflow_src.render.texts import Texts
from workflow_src.studies.conditions import conditions
from workflow_src.studies.registry import REGISTRY

NO_CEILINGS = pd.DataFrame()
"""The ceilings of a run without any, and of a study that isn't held against them."""

T = TypeVar("T")


def section(
    study: str, table: pd.DataFrame, ceilings: pd.DataFrame, templates: Path, picture: str
) -> Texts:
    """A section's texts: studies/_section.md.j2 around the study's own template.

    A study with long tables has {study}.appendix.md.j2, too. All templates know the title, the
    question, the result, the headline, the conditions, and the path of the picture.
    """
    asked = REGISTRY[study]
    result = asked.result(table, ceilings)
    headline = asked.headline(result)
    about: dict[str, object] = {"title": asked.title, "question": asked.question, "result": result}
    about |= {"headline": headline, "conditions": conditions(table, study)}
    about["picture"] = Markup(picture)
    long = f"studies/{study}.appendix.md.j2"

    def text(show: Printer) -> str:
        body = Markup(render(templates, f"studies/{study}.md.j2", show, **about).strip())
        return render(templates, "studies/_section.md.j2", show, body=body, **about)

    def appendix(show: Printer) -> str:
        if not (templates / long).is_file():
            return ""
        body = Markup(render(templates, long, show, **about).strip())
        return (
            render(templates, "studies/_appendix.md.j2", show, body=body, **about) if body else ""
        )

    return paper.texts(text, appendix, _named(study), headline)


def failed(study: str, log: str) -> Texts:
    """The texts of a section that could not be written."""
    return paper.failed(f"### {REGISTRY[study].title}", log, _named(study))


def _named(study: str) -> dict[str, object]:
    asked = REGISTRY[study]
    return {"study": study, "title": asked.title, "question": asked.question}


def drawn(study: str, draw: Callable[[], Figure]) -> str:
    """A study's figure as SVG; equal tables give identical bytes."""
    return svg(draw, f"study_{study}")


@one_sentence()
def main() -> None:
    """Write a study's section, its long tables and its JSON into a folder, and draw its figure.

    Bad input ends with one sentence. A defect of this program doesn't end the run: section and
    figure then say that they could not be made, and the log has the traceback.
    """
    parser = Parser(description=__doc__)
    parser.add_argument("--study", choices=list(REGISTRY), required=True)
    parser.add_argument("--table", type=existing_file, required=True)
    parser.add_argument(
        "--ceilings", type=existing_file, nargs="*", default=[], help="the run's, if it has any"
    )
    parser.add_argument("--templates", type=existing_folder, required=True)
    parser.add_argument("--figure", type=new_file, required=True, help="the SVG to draw")
    parser.add_argument("--output", type=existing_folder, required=True, help="the sections")
    parser.add_argument("--log", default="its log", help="what a failed section refers to")
    given = parser.parse_args()
    study, table = given.study, read_study(given.table)
    ceilings = next(map(read_study, given.ceilings), NO_CEILINGS)
    written = _or_else(
        lambda: section(study, table, ceilings, given.templates, given.figure.as_posix()),
        lambda: failed(study, given.log),
    )
    picture = _or_else(
        lambda: drawn(study, lambda: REGISTRY[study].draw(table)),
        lambda: drawn(study, lambda: nothing(f"could not be drawn: see {given.log}")),
    )
    write_text(given.figure, picture)
    written.write(given.output, study)


def _or_else(made: Callable[[], T], otherwise: Callable[[], T]) -> T:
    """What `made` makes; if it fails unexpectedly, the traceback, and what `otherwise` makes."""
    try:
        return made()
    except StageError:
        raise
    except Exception:
        traceback.print_exc(file=sys.stderr)
        return otherwise()


if __name__ == "__main__":
    main()
