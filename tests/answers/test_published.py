"""Tables of the published run's chapters are written again, to the letter."""

from pathlib import Path

import pytest

from tests.answers.chapters import chapter, read_run, run_of
from tests.published import H200
from workflow_src.answers.questions import QUESTIONS
from workflow_src.paper.written import Written

RUNS = {name: H200 / name for name in ("", "memory-32gib")}
NAMES = (*QUESTIONS, "opening", "cases", "ran")


def made(name: str, folder: Path) -> Written:
    if name in QUESTIONS:
        return chapter(name, run_of(name, folder / "tables"))
    return chapter(name, read_run(folder))


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("name", NAMES)
def test_every_headline_and_table_stands_in_the_published_report(name: str, run: str) -> None:
    said = "".join((RUNS[run] / file).read_text() for file in ("report.md", "appendix.md"))
    found, lines = made(name, RUNS[run]), {*said.splitlines()}
    assert found.verdict != "failed" and found.markdown["headline"] in said
    for block, text in found.markdown.items():
        rows = [line for line in text.splitlines() if line.startswith("|")]
        assert [line for line in rows if line not in lines] == [], block
