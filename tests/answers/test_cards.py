"""The cards of cases: numbers by hand, findings, any subset's, and the one of a case alone."""

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.answers.subsets import ROOT, empty, subset, written
from tests.answers.test_any_subset import check
from tests.examples import seeds
from tests.golden import same_as_before
from tests.synthetic_tables import Sample, write_tables
from workflow_src.answers.cards import one
from workflow_src.answers.cards.chapter import TEMPLATE, cards, facts
from workflow_src.answers.cards.phases import OTHER_KERNELS, phases
from workflow_src.answers.facts import tables_of
from workflow_src.answers.questions import CARDS
from workflow_src.common.case import CASE_COLUMNS
from workflow_src.paper.run import Run
from workflow_src.paper.written import Written, write

TEMPLATES = ROOT / "report_templates"
SHORT, LONG = Sample(), Sample(context=256)


def read(folder: Path) -> Run:
    return Run([folder / f"{name}.csv" for name in tables_of(CARDS)])


def run_of(folder: Path, *samples: Sample) -> Run:
    return read(write_tables(folder, *samples))


def of_short(run: Run, phase: str = "forward") -> dict[str, Any]:
    """What is printed of one phase of the first case."""
    row = phases(run).loc[(SHORT.case, phase)]
    return {str(name): str(cell) for name, cell in row.items() if cell == cell}


def chapter(run: Run) -> Written:
    return write("cards", lambda: facts(run), TEMPLATES, [TEMPLATE])


def test_a_card_has_what_was_measured_of_each_phase(tmp_path: Path) -> None:
    """Of a plain step of 50 ms the device works for 20; a replay takes 27 of 36 ms.

    Of forward it takes 9 ms, where its 98 kernels take 10, 102 us each.
    """
    replayed = {"forward": 9.0, "forward_backward": 27.0}
    run = run_of(tmp_path, replace(SHORT, replayed_ms=replayed))
    said, step = of_short(run), of_short(run, "train_step")
    names = ("unprofiled", "replayed", "longer", "steps", "samples", "per_launch", "works")
    shown = ["12.0", "not comparable", "+5 %", "2", "10", "102", "83 %"]
    assert [said[name] for name in names] == shown
    assert said["replay_reason"] == OTHER_KERNELS and (said["memory"], said["gpu_gb"]) == (
        "0.977",
        "16",
    )
    assert (step["works"], step["products"]) == ("40 %", "50 %")


@pytest.mark.parametrize(
    ("plain", "phase", "gpu", "mfu"),
    [
        (10.0, "forward", "NVIDIA H200", 1.0 / 67),
        (10.0, "forward", "Another GPU", None),
        (20.0, "forward", "NVIDIA H200", 0.5 / 67),
        (20.0, "forward_backward", "NVIDIA H200", 1.5 / 67),
    ],
)
def test_a_rate_is_held_against_the_datasheet_s_peak(
    tmp_path: Path, plain: float, phase: str, gpu: str, mfu: float | None
) -> None:
    """10^10 FLOPs in 10 ms are 1 TFLOP/s; training makes three times as many.

    MFU is the share for which the device works x products' share x their own rate of the peak.
    """
    work = {"scores": (4 * 10**9, 1), "head": (6 * 10**9, 1), "softmax": (10**9, 1)}
    median = Sample().median_ms | {phase: plain}
    sample = Sample(work=work, environment={"gpu": gpu}, median_ms=median)
    folder = write_tables(tmp_path, sample)
    found = phases(read(folder)).loc[(sample.case, phase)]
    assert (found["mfu"] == found["mfu"]) == (mfu is not None)
    if mfu:
        assert float(found["mfu"]) == pytest.approx(mfu)
        factors = [float(found[name]) for name in ("works", "products", "rate_of_peak")]
        assert factors[0] * factors[1] * factors[2] == pytest.approx(mfu)


@pytest.mark.parametrize("seed", [*seeds(range(3)), None])
def test_any_subset_has_cards_whose_numbers_have_evidence(seed: int | None, tmp_path: Path) -> None:
    run = read(written(empty() if seed is None else subset(seed), tmp_path))
    made = chapter(run)
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
    whole = chapter(read(joined)).markdown["appendix"].split("\n### ")[0]
    assert text.strip() == whole.strip().removeprefix("##")
    with pytest.raises(SystemExit) as stop:
        one_card("tiny", plan, own, monkeypatch)
    assert "--case-name: 'tiny' is not one of" in str(stop.value.code)
