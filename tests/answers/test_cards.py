"""The cards of cases: numbers by hand, findings, any subset's, and the one of a case alone."""

import re
import sys
from pathlib import Path

import pandas as pd
import pytest

from tests.answers.chapters import TEMPLATES, chapter, run_of
from tests.answers.subsets import empty, subset, written
from tests.answers.test_any_subset import check
from tests.examples import seeds
from tests.golden import same_as_before
from tests.synthetic_tables import Sample, write_tables
from workflow_src.answers.cards import one
from workflow_src.answers.cards.chapter import cards
from workflow_src.common.case import CASE_COLUMNS

SHORT, LONG = Sample(), Sample(context=256)


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


def one_card(case: str, plan: Path, tables: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    target = tables / "case.md"
    words = ["--case-name", case, "--plan", plan, "--tables", *tables.glob("*.csv")]
    words += ["--templates", TEMPLATES, "--markdown", target]
    monkeypatch.setattr(sys, "argv", ["one", *map(str, words)])
    one.main()
    return target.read_text()


def test_a_case_s_own_tables_which_lack_its_columns_give_its_card(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    joined, own = write_tables(tmp_path / "joined", SHORT, LONG), tmp_path / "own"
    own.mkdir()
    for path in joined.glob("*.csv"):
        table = pd.read_csv(path, dtype=str)
        mine = table[table["case"] == SHORT.case]
        mine.drop(columns=list(CASE_COLUMNS)).to_csv(own / path.name, index=False)
    plan = tmp_path / "plan.csv"
    cases = pd.read_csv(joined / "captures.csv")[list(CASE_COLUMNS)]
    cases.assign(warmup_steps=1, steps=2, capture_steps=1).to_csv(plan, index=False)
    text = one_card(SHORT.case, plan, own, monkeypatch)
    whole = chapter("cards", run_of("cards", joined)).markdown["appendix"].split("\n### ")[0]
    assert text.strip() == whole.strip().removeprefix("##")
    with pytest.raises(SystemExit) as stop:
        one_card("tiny", plan, own, monkeypatch)
    assert "--case-name: 'tiny' is not one of" in str(stop.value.code)
