"""(d) against small tables done by hand: see tests/synthetic_tables.py for their times."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.answers.chapters import chapter, facts, run_of
from tests.synthetic_tables import BACKWARD, FORWARD, Sample, write_tables
from workflow_src.answers.gemm_share.chapter import gradients, layouts, verdict


def test_the_change_is_what_backward_and_the_optimizer_add_up_to(tmp_path: Path) -> None:
    """60 % in forward, 10 of 11 ms in the step without its optimizer, 10 of 20 in all of it."""
    found = facts("d", tmp_path, Sample())
    case = found["by_case"].iloc[0]
    assert float(case.by_backward) == pytest.approx(10 / 11 - 0.6)
    assert float(case.by_optimizer) == pytest.approx(0.5 - 10 / 11)
    assert float(case.points) == pytest.approx(-0.1)
    assert float(case.optimizer_share) == pytest.approx(9 / 20)
    assert float(case.products_times) == pytest.approx(4 / 6)
    assert (str(found["falling"]), str(found["by_optimizer"])) == ("1 of 1", "1 of 1")
    parts = found["parts"].set_index("part")["ms"].map(float).to_dict()
    assert parts == {"forward": 6, "backward": 4, "optimizer": 9, "elsewhere": 1, "whole step": 20}


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ((20, 19, 0, 19, 15), "by the optimizer"),
        ((20, 19, 0, 6, 1), "by backward"),
        ((20, 19, 0, 19, 10), "falls"),
        ((1, 1, 0, 0, 0), "falls"),
        ((20, 10, 3, 10, 10), "depends"),
        ((20, 0, 0, 0, 0), "rises or same"),
        ((0, 0, 0, 0, 0), "can't tell"),
    ],
)
def test_the_verdict_follows_from_what_is_counted(counts: Sequence[int], said: str) -> None:
    both, falls, rises, known, by_optimizer = counts
    assert verdict(both, falls, rises, known, by_optimizer) == said


def test_without_a_range_of_the_optimizer_nothing_is_laid_to_it(tmp_path: Path) -> None:
    step = [(path.replace("forward_backward", "train_step"), *rest) for path, *rest in BACKWARD]
    kernels: Any = {"forward": FORWARD, "train_step": step}
    found = facts("d", tmp_path, Sample(kernels=kernels))
    assert found["by_case"]["by_optimizer"].isna().all()
    assert (str(found["falling"]), str(found["rising"])) == ("0 of 1", "1 of 1")


def test_a_step_that_did_not_run_says_why_and_one_beside_other_work_counts(tmp_path: Path) -> None:
    late = Sample(context=256, status={"train_step": ("oom", "")})
    plain = {"forward": 9.0, "forward_backward": 36.0, "train_step": 50.0}
    write_tables(tmp_path, Sample(device="cpu", median_ms=plain), late)
    section = chapter("d", tmp_path).markdown["section"]
    assert "| small | 50 % | OOM |" in section and "capture of 1 of 1 case" in section


def written(folder: Path, name: str, rows: Sequence[tuple[Any, ...]], columns: str) -> Path:
    """A sample's tables, with some rows of another."""
    table = pd.DataFrame(rows, columns=columns.split()).assign(**Sample().front)
    write_tables(folder, Sample())
    table.to_csv(folder / f"{name}.csv", index=False)
    return folder


def test_shares_are_of_gradients_by_component_whole_and_besides_products(tmp_path: Path) -> None:
    of = "forward_backward/forward/block/"
    rows = [
        (f"{of}attention/softmax", "elementwise", "aten::exp", 1.0),
        (f"{of}feed_forward", "gemm", "aten::mm", 6.0),
        (f"{of}feed_forward", "elementwise", "aten::silu", 1.0),
        (f"{of}feed_forward", "gemm", "", 50.0),
    ]
    about = ("forward_backward", "aten::x", "", "", "", 1, None)
    columns = "path family forward_operator busy_ms_per_step phase operator shapes dtypes"
    columns += " short_name calls_per_step bytes_per_step"
    written(tmp_path, "operators", [(*row, *about) for row in rows], columns)
    found = gradients(run_of("d", tmp_path)).set_index("component").map(str)
    assert found[["share", "besides"]].to_numpy().tolist() == [["12 %", "12 %"], ["88 %", "12 %"]]


def test_a_layout_is_held_against_the_same_products_in_forward(tmp_path: Path) -> None:
    """Forward takes 2 + 1 ms for 4 GFLOP of `up`, as a product that was split is added up.

    `down` has no gradient here, and `head` nothing in forward to be held against.
    """
    rows = [
        ("up", "forward", "nt", 2.0, 4e9),
        ("up", "forward", "nt", 1.0, 0.0),
        ("down", "forward", "nt", 5.0, 4e9),
        ("up", "input gradient", "nn", 6.0, 4e9),
        ("up", "weight gradient", "tn", 1.5, 4e9),
        ("head", "weight gradient", "nt", 2.0, 4e9),
        ("up", "weight gradient", "", 9.0, 4e9),
    ]
    about = ("train_step", 1, 1, 1, 1, "fp32", 1, 1)
    columns = "product direction layout busy_ms_per_step flops_per_step phase m n k matrices dtype"
    columns += " calls_per_step kernels_per_step short_name"
    written(
        tmp_path, "products", [(*row, *about, f"gemm {n}") for n, row in enumerate(rows)], columns
    )
    found = layouts(run_of("d", tmp_path)).set_index(["direction", "layout"])
    assert found["times"].dropna().map(float).to_dict() == {
        ("input gradient", "nn"): 2.0,
        ("weight gradient", "tn"): 0.5,
    }
    assert float(found["rate"]["forward", "nt"]) == 1.0


def test_the_figure_has_a_panel_for_each_phase_and_sets_the_optimizer_apart(tmp_path: Path) -> None:
    lost = Sample(precision="bf16", status={"train_step": ("oom", "")})
    axes = facts("d", tmp_path, Sample(), lost)["figure"].draw().axes
    assert len(axes) == 3
    widths = {bar.get_label(): bar.patches[0].get_width() for bar in axes[1].containers}
    assert widths["optimizer"] == pytest.approx(45) and sum(widths.values()) == pytest.approx(100)
