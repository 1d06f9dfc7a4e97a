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
from tests.synthetic_tables import Sample, write_tables
from workflow_src.answers.cards import one
from workflow_src.answers.cards.chapter import TEMPLATE, cards, facts
from workflow_src.answers.cards.modules import modules
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


def changed(folder: Path, name: str, **columns: Any) -> None:
    pd.read_csv(folder / f"{name}.csv").assign(**columns).to_csv(
        folder / f"{name}.csv", index=False
    )


def test_a_brought_model_says_how_much_it_works_on_and_how_fast(tmp_path: Path) -> None:
    """124 M parameters, 1,200 tokens and 2.4 TFLOP in a plain forward pass of 12 ms."""
    folder = write_tables(tmp_path, SHORT)
    told = {"parameters": 124_000_000, "tokens_per_step": 1200, "counted_flops_per_step": 2.4e12}
    changed(folder, "timings", **told)
    said = of_short(read(folder))
    names = ("millions", "flops", "flops_rate", "tokens_rate")
    assert [said[name] for name in names] == ["124", "2,400", "200", "100,000"]


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


TREE = [
    ("train_step/forward", 2, "gemm", "train_step/forward", None),
    ("train_step/forward/block/attention/softmax", 4, "softmax", None, 8_000_000_000),
    ("train_step/forward/block/attention/softmax", 6, "softmax", "train_step/backward", None),
    ("train_step/forward/block/feed_forward", 10, "gemm", None, 1_000_000),
    ("train_step/forward/block/feed_forward", 20, "gemm", "train_step/backward", 1_000_000),
    ("train_step/backward", 3, "copy", "train_step/backward", None),
    ("train_step/optimizer", 5, "optimizer", "train_step/optimizer", 10_000_000_000),
]
"""Path, ms, family, the path that it was launched in if another, and bytes."""

SIZES = (1000, 1000, 1000, 1)
FED = [
    ("up", "forward", SIZES, "mm", 5, 10_000_000),
    ("up", "input gradient", SIZES, "mm", 10, 20_000_000),
]


def test_modules_are_a_tree_with_backward_by_gradient_and_rates_where_they_are_known(
    tmp_path: Path,
) -> None:
    """10 GFLOP in 10 ms are 1 TFLOP/s, 8 GB in 4 ms 2,000 GB/s. Of 2 of forward's 12 ms in products
    sizes aren't known, so that neither is its rate."""
    kernels = [(captured or path, f"k{at}", family, 1, ms * 1_000_000)
               for at, (path, ms, family, captured, _) in enumerate(TREE)]  # fmt: skip
    sample = Sample(kernels={"train_step": kernels}, products={"train_step": FED})
    folder = write_tables(tmp_path, sample)
    row = sample.front | {"phase": "train_step", "operator": "op", "shapes": "", "dtypes": ""}
    row |= {"short_name": "k", "calls_per_step": 1}
    rows = [row | {"path": path, "captured_path": captured or path, "family": family,
                   "busy_ms_per_step": ms, "bytes_per_step": moved}
            for path, ms, family, captured, moved in TREE]  # fmt: skip
    pd.DataFrame(rows).to_csv(folder / "operators.csv", index=False)
    block = "train_step/forward/block"
    every = {path for path, *_ in TREE} | {"train_step", block, f"{block}/attention"}
    ranges = [sample.front | {"phase": "train_step", "path": path, "step": 0, "busy_ms": 1,
              "host_ms": 1, "span_ms": 1, "instances": 12 if "block" in path else 1}
              for path in every]  # fmt: skip
    pd.DataFrame(ranges).to_csv(folder / "ranges.csv", index=False)
    made = modules(read(folder)).replace(float("nan"), "")
    shown = [(each.level, each.name.markdown.replace("· ", ""), str(each.ms),
              str(each.tflops), str(each.gbs)) for each in made.itertuples()]  # fmt: skip
    assert shown == [
        ("0", "training step", "50.0", "0.600", ""),
        ("1", "backward", "29.0", "0.690", ""),
        ("2", "block × 12", "26.0", "0.769", ""),
        ("3", "feed-forward × 12", "20.0", "1.00", ""),
        ("3", "attention × 12", "6.00", "", ""),
        ("4", "softmax × 12", "6.00", "", ""),
        ("2", "elsewhere", "3.00", "", ""),
        ("1", "forward", "16.0", "", ""),
        ("2", "block × 12", "14.0", "0.714", ""),
        ("3", "feed-forward × 12", "10.0", "1.00", ""),
        ("3", "attention × 12", "4.00", "", "2,000"),
        ("4", "softmax × 12", "4.00", "", "2,000"),
        ("2", "elsewhere", "2.00", "", ""),
        ("1", "optimizer", "5.00", "", "2,000"),
    ]


def test_a_phase_that_did_not_run_says_why(tmp_path: Path) -> None:
    run = run_of(tmp_path, replace(SHORT, status={"train_step": ("oom", "CUDA out of memory")}))
    text = chapter(run).markdown["appendix"]
    assert "| unprofiled, ms | 12† | 36† | OOM |" in text
    assert "- training step: CUDA out of memory" in text


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


def found(case: str, phase: str, rank: int, saves: float) -> dict[str, Any]:
    texts = {"mechanism": "item", "name": "The host waits", "remedy": "Fetch it later."}
    return (
        {"case": case, "phase": phase, "rank": rank, "step_ms": 50, "saves_ms": saves}
        | texts
        | {"saves_share": saves / 50, "path": f"{phase}/loss", "also_in": ""}
    )


def test_what_is_wrong_and_what_to_change_come_first(tmp_path: Path) -> None:
    folder = write_tables(
        tmp_path, replace(SHORT, replayed_ms={"forward": 11.9, "forward_backward": 27.0}), LONG
    )
    rows = [found(SHORT.case, "forward", 1, 3), found(SHORT.case, "train_step", 1, 20)]
    front = {name: SHORT.front[name] for name in CASE_COLUMNS}
    pd.DataFrame([front | row for row in rows]).to_csv(folder / "findings.csv", index=False)
    made = chapter(read(folder))
    assert made.markdown["headline"] == "In 1 of 1 training steps this costs most: the host waits."
    card, other = made.markdown["appendix"].split(f"### {LONG.case}\n")
    assert card.startswith(
        f"### {SHORT.case}\n\n**What is wrong:** The host waits in `train_step/loss`. "
        "Without that, the training step takes 20.0 of 50.0 ms less, 40 %. Fetch it later.\n\n"
        "**Change first:** a CUDA graph saves 25 % of the forward and backward pass, "
    )
    assert "What is wrong" not in other


@pytest.mark.parametrize("seed", [*seeds(range(3)), None])
def test_any_subset_has_cards_whose_numbers_have_evidence(seed: int | None, tmp_path: Path) -> None:
    run = read(written(empty() if seed is None else subset(seed), tmp_path))
    made = chapter(run)
    assert made.verdict == "cards"
    assert all(why["formula"] for why in made.evidence.values())
    check(made.markdown["appendix"])
    ids = re.findall(r'<section class="case" id="case-([^"]+)">', made.html["appendix"])
    assert ids == [*run.cases.index] == [card["case"] for card in cards(run)]


def one_card(case: str, plan: Path, tables: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A case's file as the command writes it."""
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
