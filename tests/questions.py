"""Answer questions the way their commands do."""

from pathlib import Path

from workflow_src.answers import command
from workflow_src.answers.answer import Answer


def answer_question(question: str, tables: Path, templates: Path) -> tuple[Answer, str]:
    """The answer to a question from a folder of tables, and its Markdown with the appendix."""
    module = command.module_of(question)
    found = command.answer_from(tables, question, module.answer)
    shown = module.tables(found)
    parts = [command.render(found, shown, templates, part) for part in ("answer", "appendix")]
    return found, "\n".join(parts)


def run_command(question: str) -> None:
    """Run what `python -m` of the question's module runs, with the arguments in sys.argv."""
    module = command.module_of(question)
    command.main(question, module.answer, module.tables)
