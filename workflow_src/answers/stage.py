"""Answer one question from the tables: as JSON, as Markdown, and as Markdown for the page."""

from collections.abc import Callable
from pathlib import Path

from workflow_src.answers.answer import R, answer
from workflow_src.answers.questions import QUESTIONS
from workflow_src.answers.tables import Tables
from workflow_src.common.arguments import existing_folder
from workflow_src.common.errors import one_sentence
from workflow_src.paper.show import Headline
from workflow_src.paper.stage import chapter_parser, write


def read(folder: Path, question: str) -> Tables:
    """The tables of a question, those of studies as "studies/{name}"."""
    asked = QUESTIONS[question]
    return Tables.read(folder, asked.tables, asked.optional).with_studies(folder, asked.studies)


@one_sentence()
def main(question: str, result: Callable[[Tables], R], headline: Callable[[R], Headline]) -> None:
    """Answer one question, reading only the tables that QUESTIONS lists for it."""
    parser = chapter_parser(__doc__)
    parser.add_argument("--tables", type=existing_folder, required=True, help="folder of CSVs")
    given = parser.parse_args()
    write(answer(question, result, headline), question, read(given.tables, question), given)
