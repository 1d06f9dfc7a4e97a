"""Write a study's section of the report, its long tables, its JSON, and draw its figure."""

from functools import partial

import pandas as pd
from markupsafe import Markup

from workflow_src.common.arguments import existing_file, new_file
from workflow_src.common.atomic_write import write_text
from workflow_src.common.errors import one_sentence
from workflow_src.common.read_table import read_study
from workflow_src.paper.chapter import Chapter
from workflow_src.paper.drawing import drawn
from workflow_src.paper.stage import chapter_parser, write
from workflow_src.studies.conditions import conditions
from workflow_src.studies.registry import REGISTRY

NO_CEILINGS = pd.DataFrame()
"""The ceilings of a run without any, and of a study that isn't held against them."""


StudyTables = tuple[pd.DataFrame, pd.DataFrame]
"""What a section reads: the study's table, and the run's ceilings."""


def section(study: str, picture: str) -> Chapter[StudyTables, object]:
    """A study's chapter, whose figure lies at `picture`.

    studies/_section.md.j2 stands around studies/{study}.md.j2. All templates know the title, the
    question, the conditions, and the path of the picture.
    """
    asked = REGISTRY[study].chapter
    named = {"study": study, "title": asked.title, "question": asked.question}
    return Chapter(
        heading=f"### {asked.title}",
        template=f"studies/{study}",
        frame="studies/_section",
        result=lambda tables: asked.result(*tables),
        headline=asked.headline,
        named=named,
        words=lambda tables, result, whole: {
            **named,
            "conditions": conditions(tables[0], study),
            "picture": Markup(picture),
        },
    )


@one_sentence()
def main() -> None:
    """Write a study's section, its long tables and its JSON into a folder, and draw its figure."""
    parser = chapter_parser(__doc__)
    parser.add_argument("--study", choices=list(REGISTRY), required=True)
    about = "the study's table and, if it is held against them, the run's ceilings"
    parser.add_argument("--tables", type=existing_file, nargs="+", required=True, help=about)
    parser.add_argument("--figure", type=new_file, required=True, help="the SVG to draw")
    given = parser.parse_args()
    table, *ceilings = given.tables
    tables = read_study(table), next(map(read_study, ceilings), NO_CEILINGS)
    write(section(given.study, given.figure.as_posix()), given.study, tables, given)
    draw = partial(REGISTRY[given.study].draw, tables[0])
    write_text(given.figure, drawn(draw, f"study_{given.study}", given.log))


if __name__ == "__main__":
    main()
