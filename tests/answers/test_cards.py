"""The cards of cases: any subset has them, with evidence of each number."""

import re
from pathlib import Path

import pytest

from tests.answers.chapters import chapter, run_of
from tests.answers.subsets import empty, subset, written
from tests.answers.test_any_subset import check
from tests.examples import seeds
from tests.golden import same_as_before
from workflow_src.answers.cards.chapter import cards


@pytest.mark.parametrize("seed", [*seeds(range(3)), None])
def test_any_subset_has_cards_whose_numbers_have_evidence(seed: int | None, tmp_path: Path) -> None:
    run = run_of("cards", written(empty() if seed is None else subset(seed), tmp_path))
    made = chapter("cards", run)
    same_as_before("cards", seed, made.verdict, *made.markdown.values())
    assert made.verdict == "cards"
    assert all(why["formula"] for why in made.evidence.values())
    check(made.markdown["appendix"])
    ids = re.findall(r'<section class="case" id="case-([^"]+)">', made.html["appendix"])
    assert ids == [*run.cases.index] == [card["case"] for card in cards(run)]
