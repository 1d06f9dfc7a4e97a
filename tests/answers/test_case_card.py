"""The table of one case: its cells by hand, any subset's, and the commands that write it."""

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from tests.answers.reading import printed, row_of
from tests.answers.subsets import ROOT, empty, subset
from tests.answers.test_any_subset import check
from tests.synthetic_tables import Sample, write_tables
from workflow_src.answers import cards, one_case
from workflow_src.answers.case_card import (
    FIRST,
    IDLE,
    LAUNCHES,
    MEMORY,
    MFU,
    OVERHEAD,
    PARTS,
    PLAIN,
    REPLAYED,
    SPEED,
    case_card,
)
from workflow_src.answers.case_kernels import LARGEST, SOFTMAX, TOP
from workflow_src.answers.fits import with_gpu
from workflow_src.answers.questions import CARDS
from workflow_src.answers.rates import PARAMETERS, SAMPLES
from workflow_src.answers.tables import Tables
from workflow_src.answers.times import OTHER_KERNELS, PhaseTimes, phase_times
from workflow_src.answers.utilization import mfu, mfu_by_factors, utilization
from workflow_src.common.case import CASE_COLUMNS
from workflow_src.common.words import DASH
from workflow_src.paper.value import Value

TEMPLATES = ROOT / "report_templates"
SHORT, LONG = Sample(), Sample(context=256)
OOM = {"train_step": ("oom", "CUDA out of memory")}


def read(folder: Path, *samples: Sample) -> Tables:
    """The card's tables of some samples."""
    return Tables.read(write_tables(folder, *samples), CARDS.tables, CARDS.optional)


def rows(tables: Tables, place: int = 0) -> dict[str, list[str]]:
    """The printed cells of a case's card by row."""
    table = case_card(tables, tables.cases[place]).table
    return {name: row_of(cells) for name, *cells in table.to_numpy()}


def test_a_card_of_a_brought_model_says_how_much_it_works_on_and_how_fast(tmp_path: Path) -> None:
    """124 M parameters, 1,200 tokens and 2.4 TFLOP in a plain forward pass of 12 ms."""
    folder = write_tables(tmp_path, SHORT)
    timings = pd.read_csv(folder / "timings.csv")
    told = {"parameters": 124_000_000, "tokens_per_step": 1200, "counted_flops_per_step": 2.4e12}
    timings.assign(**told).to_csv(folder / "timings.csv", index=False)
    said = rows(Tables.read(folder, CARDS.tables, CARDS.optional))
    assert said[PARAMETERS][0] == "124"
    assert said[SPEED][0] == "2.4e+12; 200; 100,000"
    assert SAMPLES not in said and PARAMETERS not in rows(read(tmp_path / "own", SHORT))


def test_a_card_has_what_was_measured_of_each_phase(tmp_path: Path) -> None:
    """Of a plain step of 50 ms the device works for 20; a replay takes 27 of 36 ms.

    Of forward it takes 9 ms, where a plain step's kernels take 12.
    """
    replayed = {"forward": 9.0, "forward_backward": 27.0}
    tables = read(tmp_path, replace(SHORT, replayed_ms=replayed))
    said = rows(tables)
    assert said[PLAIN] == ["12.0", "36", "50"]
    assert said[REPLAYED] == ["not comparable", DASH, DASH]
    assert case_card(tables, tables.cases[0]).notes == (("forward as a CUDA graph", OTHER_KERNELS),)
    assert said[PARTS][1] == "forward 6.00, backward 14.0"
    assert said[FIRST] == [DASH, "graph 25 %¹", DASH]
    assert said["with graph"] == [DASH, "measured 27.0 (27.0 to 27.0), n = 1; 25 %", DASH]
    assert said[OVERHEAD][0] == "+5 %; 2 and 10"
    assert said[MEMORY][0] == "0.977; 16 GB"
    assert [cell.split("; ")[-1] for cell in said[LAUNCHES]] == ["100 %", "56 %", "40 %"]
    assert not {IDLE, MFU} & set(said), "rows without any value"


def test_a_card_says_of_kernels_and_parts_in_one_cell_what_one_would_combine(
    tmp_path: Path,
) -> None:
    """Of 10 ms softmax takes 3, the products of attention 6, and norms 0.05.

    98 kernels in 12 ms are 122 us each, over the limit of 30.
    """
    guess = {"case": SHORT.case, "phase": "forward", "status": "ok", "plain_ms": 12.0}
    guess |= {"predicted_ms": 9.0, "low_ms": 8.0, "high_ms": 10.0}
    tables = read(tmp_path, SHORT)
    tables.frames["remedies"] = pd.DataFrame([guess | {"remedies": "sdpa"}])
    said = {name: cells[0] for name, cells in rows(tables).items()}
    assert said[LAUNCHES] == "no; 122 / 30; 100 %"
    top = "void gemm_long_name, matrix product: 24, 60 %"
    assert said[TOP] == f"{top}; with backward: another, gemm_backward"
    both = "gemm_backward, matrix product: 48, 60 %"
    assert rows(tables)[TOP][1] == f"{both}; backward: 48, 86 %"
    saved = "sdpa \N{ALMOST EQUAL TO} 25 %\N{SUPERSCRIPT ONE}"
    assert said[LARGEST] == f"softmax: 3.00, 30 % ({saved}); norms: 0.0500, 0.5 %"
    assert said[SOFTMAX] == "3.00 / 6.00 = 0.50 x; 0.10 x"
    assert said["with sdpa"] == "predicted 9.0 (8.00 to 10.0); 25 %"


def test_a_phase_of_short_kernels_is_launch_bound_where_the_device_waits(tmp_path: Path) -> None:
    """1.2 ms of 98 kernels are 12.2 us each, below 30: in 12 ms it waits, in 1.25 it doesn't."""
    busy = Sample().times_ms | {"forward": (12.6, 1.2, 12.3)}
    for plain, expected in ((12.0, "yes; 12.2 / 30; 10 %"), (1.25, "no; 12.2 / 30; 96 %")):
        median = Sample().median_ms | {"forward": plain}
        tables = read(tmp_path / str(plain), Sample(times_ms=busy, median_ms=median))
        assert rows(tables)[LAUNCHES][0] == expected


def test_a_phase_that_did_not_run_says_why(tmp_path: Path) -> None:
    tables = read(tmp_path, replace(SHORT, status=OOM))
    assert rows(tables)[PLAIN] == ["12.0", "36", "OOM"]
    notes = case_card(tables, tables.cases[0]).notes
    assert notes == (("training step", "CUDA out of memory"),)


def ceiling(folder: Path, gpu: str) -> None:
    """A ceilings.csv: products of fp32 reach 1 TFLOP/s."""
    row = {"kind": "compute", "name": "matmul", "precision": "fp32", "is_ceiling": True}
    row |= {"median_tflop_per_s": 1.0, "best_gb_per_s": None, "best_giga_exp_per_s": None}
    pd.DataFrame([row | {"gpu": gpu}]).to_csv(folder / "ceilings.csv", index=False)


def times(tables: Tables, plain: float, phase: str = "forward") -> PhaseTimes:
    """The times of a phase whose device works for 12 ms, with another plain time."""
    found = phase_times(tables, tables.cases[0], phase)
    assert found.plain
    return replace(found, plain=replace(found.plain, number=plain))


@pytest.mark.parametrize(
    ("plain", "phase", "gpu", "expected"),
    [
        (12.5, "forward", "Some GPU", 0.8),
        (12.5, "forward", "Another GPU", None),
        (24.0, "forward", "Some GPU", None),
        (37.5, "forward_backward", "Some GPU", 0.8),
    ],
)
def test_utilization_is_of_phases_that_the_device_sets(
    tmp_path: Path, plain: float, phase: str, gpu: str, expected: float | None
) -> None:
    """10^10 FLOPs in 12.5 ms are 0.8 TFLOP/s; training makes three times as many."""
    work = {"scores": (4 * 10**9, 1), "head": (6 * 10**9, 1), "softmax": (10**9, 1)}
    captured = {"forward": (13.0, 12.0, 12.0), "forward_backward": (37.0, 36.0, 36.0)}
    sample = Sample(work=work, times_ms=Sample().times_ms | captured)
    write_tables(tmp_path, sample)
    ceiling(tmp_path, gpu)
    tables = Tables.read(tmp_path, CARDS.tables, CARDS.optional)
    found = utilization(tables, times(tables, plain, phase))
    assert (found and found.number) == (expected and pytest.approx(expected))


def test_mfu_is_of_the_datasheet_s_peak_wherever_the_device_waits_or_not(tmp_path: Path) -> None:
    """10^10 FLOPs in 12.5 ms are 0.8 of the 67 TFLOP/s that an H200 reaches in fp32."""
    sample = Sample(
        work={"head": (10**10, 1), "softmax": (10**9, 1)},
        environment={"gpu": "NVIDIA H200"},
        times_ms=Sample().times_ms | {"forward": (13.0, 1.0, 1.0)},
    )
    tables = read(tmp_path, sample)
    found = mfu(tables, times(tables, 12.5, "forward"))
    assert found and found.number == pytest.approx(0.8 / 67)
    other = read(tmp_path, replace(sample, environment={"gpu": "Some GPU"}))
    assert mfu(other, times(other, 12.5, "forward")) is None


def test_mfu_is_the_product_of_three_shares(tmp_path: Path) -> None:
    """The device works for 12 of 24 ms, for 1/2 in products, which do 10^10 FLOPs in 6 ms.

    That is 1.67 of the datasheet's 67 TFLOP/s.
    """
    sample = Sample(
        work={"head": (10**10, 1)},
        environment={"gpu": "NVIDIA H200"},
        times_ms=Sample().times_ms | {"forward": (25.0, 12.0, 12.0)},
    )
    tables = read(tmp_path, sample)
    half = Value(0.5, "share", ())
    found = mfu_by_factors(tables, times(tables, 24.0), half)
    assert printed(found) == "0.6 % = 50 % x 50 % x 2.5 %"
    assert mfu_by_factors(tables, times(tables, 24.0), None) == mfu(tables, times(tables, 24.0))


def test_a_peak_is_held_by_the_least_gpu_of_as_many_bytes() -> None:
    """80 GB are 74.5 GiB; more than the largest has none."""
    peaks = {74.5: "74.5; 80 GB", 74.6: "74.6; 141 GB", 400.0: "400; none sold"}
    assert {gib: printed(with_gpu(Value(gib, "GiB", ()))) for gib in peaks} == peaks


def test_cards_of_any_subset_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    for seed in range(3):
        written = cards.cards(subset(seed), TEMPLATES)
        for text in (written.markdown, written.page, written.json):
            check(text)
        keys = {value["key"] for value in json.loads(written.json)["values"]}
        assert all(f'#{key}\\"' in written.page or f"(#{key})" in written.page for key in keys)
    check(cards.cards(empty(), TEMPLATES).markdown)
    assert not capsys.readouterr().err


@pytest.mark.parametrize(
    ("mark", "meaning"),
    [
        ("| with ", "*with* a remedy:"),
        ("≈", "≈ Predicted."),
        ("¹", "¹ Of one process."),
        ("§", "§ Of a plain time"),
        ("(no training)", "*no training*:"),
        ("left of", "*left of*:"),
    ],
)
def test_a_mark_is_explained_only_where_a_card_has_it(
    tmp_path: Path, mark: str, meaning: str
) -> None:
    for tables in (subset(0), read(tmp_path, SHORT)):
        words, _, tables_of_cases = cards.cards(tables, TEMPLATES).markdown.partition("\n### ")
        assert (meaning in words) == (mark in tables_of_cases)


def test_a_defect_in_one_card_leaves_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def made(tables: Tables, case: object, first: object) -> object:
        return 1 / 0 if case == tables.cases[0] else case_card(tables, tables.cases[1])

    monkeypatch.setattr(cards, "case_card", made)
    text = cards.cards(read(tmp_path, SHORT, LONG), TEMPLATES).markdown
    assert f"### {SHORT.case}\n\nThis could not be written" in text
    assert f"| {LONG.case}" in text
    assert "ZeroDivisionError" in capsys.readouterr().err


def write_plan(folder: Path) -> Path:
    """A plan of the cases in a folder's tables."""
    plan = folder / "plan.csv"
    cases = pd.read_csv(folder / "captures.csv")[list(CASE_COLUMNS)]
    cases.assign(warmup_steps=1, steps=2, capture_steps=1).to_csv(plan, index=False)
    return plan


def one(case: str, plan: Path, tables: Path) -> str:
    """A case's file as the command writes it."""
    target = tables / "case.md"
    paths = ["--plan", plan, "--tables", tables, "--templates", TEMPLATES, "--markdown", target]
    one_case.main([str(word) for word in ("--case-name", case, *paths)])
    return target.read_text()


def test_a_case_s_own_tables_which_lack_its_columns_give_the_same_card(tmp_path: Path) -> None:
    joined, own = write_tables(tmp_path / "joined", SHORT, LONG), tmp_path / "own"
    plan = write_plan(joined)
    own.mkdir()
    for path in joined.glob("*.csv"):
        table = pd.read_csv(path, dtype=str)
        mine = table[table["case"] == SHORT.case]
        mine.drop(columns=list(CASE_COLUMNS)).to_csv(own / path.name, index=False)
    text = one(SHORT.case, plan, own)
    assert text == one(SHORT.case, plan, joined)
    assert text.startswith(f"# {SHORT.case}\n") and LONG.case not in text


def test_an_unknown_case_is_refused_with_the_known_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_tables(tmp_path, SHORT)
    with pytest.raises(SystemExit) as stop:
        one("tiny", write_plan(folder), folder)
    said = str(stop.value.code) + capsys.readouterr().err
    assert "--case-name: 'tiny' is not one of" in said and SHORT.case in said
