"""Any run renders: random parts of recorded runs, see subsets.py.

A thousand of them: EXAMPLES=1000 python -m pytest tests/answers/test_any_subset.py
"""

import json
import re
from pathlib import Path

import pytest

from tests.answers.chapters import CHAPTERS, OF_REPORT, chapter, read_run, run_of, write_plan
from tests.answers.subsets import empty, subset, written
from tests.examples import seeds
from tests.golden import same_as_before
from workflow_src.answers.summary import of_folder

SEEDS = (2, 9, 17, 21)
"""Of the first 25, a few quick ones that take nearly all branches that all of them take."""
ALONE = (17, None)
"""Those of which a chapter gets the tables that its stage is given, and no others."""

FORBIDDEN = re.compile(r"\bnan\b|\bNone\b|\binf\b|<NA>|Value\(|\{\w+\}")
EMPTY = re.compile(r"^#+ [^\n]*\n+(?=#|\Z)|\*\*\s*\*\*|^[^\n|#]*:\n*\Z", re.MULTILINE)


def check(text: str) -> None:
    """Fail if a text says what no text may."""
    for pattern in (FORBIDDEN, EMPTY):
        assert not (found := pattern.search(text)), text[max(0, found.start() - 200) :][:400]


@pytest.mark.parametrize("seed", [*seeds(SEEDS), None])
def test_any_subset_gives_chapters_whose_numbers_have_evidence(
    seed: int | None, tmp_path: Path
) -> None:
    written(empty() if seed is None else subset(seed), tmp_path / "tables")
    write_plan(tmp_path)
    run = read_run(tmp_path)
    assert json.dumps(of_folder(tmp_path), allow_nan=False)
    for name in CHAPTERS:
        alone = seed in ALONE and name not in OF_REPORT
        made = chapter(name, run_of(name, tmp_path / "tables") if alone else run)
        assert made.verdict != "failed"
        same_as_before(name, seed, made.verdict, *made.markdown.values())
        assert all(why["formula"] for why in made.evidence.values())
        assert name == "cards" or all(why["rows"] for why in made.evidence.values())
        for block in ("headline", "section", "tables", "appendix"):
            check(made.markdown[block])
            page = re.sub(r"<[^>]+>", " ", made.html[block])
            numbers = r"\d[\d,.]* (?:×|%)|\d[\d,]*\.\d+"
            assert re.findall(numbers, page) == re.findall(numbers, made.markdown[block])
        ids = re.findall(r'<section class="case" id="case-([^"]+)">', made.html["appendix"])
        assert ids == ([*run.cases.index] if name == "cards" else [])
