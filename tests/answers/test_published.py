"""Tables of the published run's answers are written again, to the letter."""

import pytest

from tests.answers.chapters import chapter
from tests.published import H200
from workflow_src.answers.questions import QUESTIONS


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_headline_and_table_stands_in_the_published_report(question: str) -> None:
    said = "".join((H200 / name).read_text() for name in ("report.md", "appendix.md"))
    made, lines = chapter(question, H200 / "tables"), {*said.splitlines()}
    assert made.verdict != "failed" and made.markdown["headline"] in said
    for name, block in made.markdown.items():
        rows = [line for line in block.splitlines() if line.startswith("|")]
        assert [line for line in rows if line not in lines] == [], name
