"""Answer one question from the tables: as JSON, as Markdown, and as Markdown for the page."""

import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from workflow_src.answers.answer import Result, failed, texts
from workflow_src.answers.questions import QUESTIONS
from workflow_src.answers.tables import Tables
from workflow_src.common.arguments import Parser, existing_folder
from workflow_src.common.errors import StageError, one_sentence
from workflow_src.render.show import Headline

R = TypeVar("R", bound=Result)


def read(folder: Path, question: str) -> Tables:
    """The tables of a question, those of studies as "studies/{name}"."""
    asked = QUESTIONS[question]
    return Tables.read(folder, asked.tables, asked.optional).with_studies(folder, asked.studies)


@one_sentence()
def main(question: str, result: Callable[[Tables], R], headline: Callable[[R], Headline]) -> None:
    """Answer one question, reading only the tables that QUESTIONS lists for it.

    Bad input ends with one sentence. A defect of this program doesn't end the run: the answer then
    says that it could not be written, and its log has the traceback.
    """
    parser = Parser(description=__doc__)
    parser.add_argument("--tables", type=existing_folder, required=True, help="folder of CSVs")
    parser.add_argument("--templates", type=existing_folder, required=True, help="report_templates")
    parser.add_argument("--output", type=existing_folder, required=True, help="the answers' folder")
    parser.add_argument("--log", default="its log", help="what a failed answer refers to")
    given = parser.parse_args()
    tables = read(given.tables, question)
    try:
        found = result(tables)
        written = texts(question, found, headline(found), given.templates)
    except StageError:
        raise
    except Exception:
        traceback.print_exc(file=sys.stderr)
        written = failed(question, given.log)
    written.write(given.output, question)
