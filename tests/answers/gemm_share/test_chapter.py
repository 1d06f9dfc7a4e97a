"""(d) against small tables done by hand: see tests/synthetic_tables.py for their times."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.answers.chapters import chapter, facts
from tests.synthetic_tables import BACKWARD, FORWARD, Sample, write_tables
from workflow_src.answers.gemm_share.chapter import verdict


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


def test_the_figure_has_a_panel_for_each_phase_and_sets_the_optimizer_apart(tmp_path: Path) -> None:
    lost = Sample(precision="bf16", status={"train_step": ("oom", "")})
    axes = facts("d", tmp_path, Sample(), lost)["figure"].draw().axes
    assert len(axes) == 3
    widths = {bar.get_label(): bar.patches[0].get_width() for bar in axes[1].containers}
    assert widths["optimizer"] == pytest.approx(45) and sum(widths.values()) == pytest.approx(100)
