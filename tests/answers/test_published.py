"""Tables of the published run's chapters are written again, to the letter."""

import pytest

from tests.answers.chapters import chapter, read_run
from tests.published import H200
from workflow_src.answers.questions import QUESTIONS

NAMES = (*QUESTIONS, "opening", "cases", "ran")


@pytest.mark.parametrize("name", ["", "memory-32gib"])
def test_every_headline_and_table_stands_in_the_published_report(name: str) -> None:
    folder = H200 / name
    said = "".join((folder / file).read_text() for file in ("report.md", "appendix.md"))
    run, lines = read_run(folder), {*said.splitlines()}
    for each in NAMES:
        found = chapter(each, run)
        assert found.verdict != "failed" and found.markdown["headline"] in said, each
        for block, text in found.markdown.items():
            rows = [line for line in text.splitlines() if line.startswith("|")]
            assert [line for line in rows if line not in lines] == [], (each, block)
