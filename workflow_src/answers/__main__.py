"""Answer one question from the tables: its JSON with the evidence, and its Markdown."""

import argparse
import importlib
from pathlib import Path

from workflow_src.answers.answer import Answer
from workflow_src.answers.evidence import read_table
from workflow_src.answers.questions import QUESTIONS
from workflow_src.common.atomic_write import write_json, write_text
from workflow_src.common.errors import one_sentence
from workflow_src.render.markdown import render


def answer_question(question: str, tables: Path, templates: Path) -> tuple[Answer, str]:
    """The answer to `question` ("a" to "e") and its Markdown.

    Reads only the tables that the question needs. Raises FileNotFoundError without them.
    """
    asked = QUESTIONS[question]
    module = importlib.import_module(f"workflow_src.answers.{asked.module}")
    found: Answer = module.answer(**{name: read_table(tables, name) for name in asked.tables})
    return found, render(found, module.tables(found), templates)


@one_sentence()
def main() -> None:
    """Answer one question."""
    parser = argparse.ArgumentParser(prog="workflow_src.answers", description=__doc__)
    parser.add_argument("--question", choices=sorted(QUESTIONS), required=True)
    parser.add_argument("--tables", type=Path, required=True, help="folder of aggregated CSVs")
    parser.add_argument("--templates", type=Path, required=True, help="report_templates")
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--markdown", type=Path, required=True)
    arguments = parser.parse_args()
    found, markdown = answer_question(arguments.question, arguments.tables, arguments.templates)
    write_json(arguments.json, found.as_dict())
    write_text(arguments.markdown, markdown)
    print(f"({found.question}) {found.status}: {len(found.facts)} facts")


if __name__ == "__main__":
    main()
