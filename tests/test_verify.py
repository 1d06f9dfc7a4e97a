"""The comparison of backward with single-threaded autograd, and of published totals."""

from pathlib import Path

import pandas as pd
import pytest

from workflow_src.cli.cross_check import compare, plan_rows
from workflow_src.common.atomic_write import write_csv
from workflow_src.common.errors import StageError, TraceError
from workflow_src.plan.config import load
from workflow_src.plan.suites import expand, make_plan

ROOT = Path(__file__).parent.parent
PUBLISHED = ROOT / "examples" / "h200"


def test_backward_is_compared_per_phase_with_its_inner_ranges() -> None:
    kernels = pd.DataFrame(
        {
            "case": ["a", "a", "a", "b"],
            "path": [
                "train_step/backward",
                "train_step/backward/x",
                "train_step",
                "train_step/backward",
            ],
            "busy_ms_per_step": [1.0, 2.0, 9.0, 9.0],
        }
    )
    row = compare("a", kernels, {"train_step": 2.0}).iloc[0]
    assert (row["backward_ms"], row["ratio"]) == (3.0, 1.5)


def test_a_phase_without_kernels_is_no_division_by_zero() -> None:
    kernels = pd.DataFrame({"case": ["a"], "path": ["x"], "busy_ms_per_step": [1.0]})
    for single in (0.0, float("nan")):
        with pytest.raises(TraceError, match="holds no kernel of train_step"):
            compare("a", kernels, {"train_step": single})


def test_a_size_whose_name_is_a_number_stays_text(tmp_path: Path) -> None:
    (tmp_path / "plan.csv").write_text("case,size,batch\n7-ctx16-fp32,7,4\n")
    assert plan_rows(tmp_path / "plan.csv", []) == [
        {"case": "7-ctx16-fp32", "size": "7", "batch": 4}
    ]


def test_an_unknown_case_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plan.csv").write_text("case,size\na,tiny\n")
    with pytest.raises(StageError, match="--cases: 'b' is not one of a"):
        plan_rows(tmp_path / "plan.csv", ["a", "b"])


def test_a_plan_read_back_is_the_plan_that_was_written(tmp_path: Path) -> None:
    plan = make_plan(load(ROOT / "config.yaml") | {"device": "cpu", "profiler": "torch"}, tmp_path)
    write_csv(tmp_path / "plan.csv", pd.DataFrame(plan.rows()))
    assert plan_rows(tmp_path / "plan.csv", []) == plan.rows() == expand(plan.settings).rows()
    chosen = plan.case_ids[1]
    assert [row["case"] for row in plan_rows(tmp_path / "plan.csv", [chosen])] == [chosen]


def test_published_backward_agrees_with_single_threaded_autograd() -> None:
    """That of the run of which these were timed so, and that of the cases published since."""
    published = pd.read_csv(PUBLISHED / "checks" / "single_threaded.csv")
    ratio = published["backward_ms"] / published["single_threaded_ms"]
    assert ratio.to_numpy() == pytest.approx(published["ratio"].to_numpy(), rel=1e-9)
    assert ((ratio - 1).abs() < 0.03).all()
    kernels = pd.read_csv(PUBLISHED / "tables" / "kernels.csv", keep_default_na=False)
    again = published[published["case"].isin(kernels["case"])]
    assert len(again) == 116
    for row in again.to_dict("records"):
        found = compare(row["case"], kernels, {row["phase"]: row["single_threaded_ms"]}).iloc[0]
        assert found["ratio"] == pytest.approx(1, abs=0.03)


def test_published_tables_account_for_every_nanosecond() -> None:
    tables = PUBLISHED / "tables"
    captures = pd.read_csv(tables / "captures.csv").set_index("case")
    kernels = pd.read_csv(tables / "kernels.csv", keep_default_na=False)
    assert len(captures) == 58
    assert (captures["attributed_ns"] + captures["outside_ns"] == captures["total_ns"]).all()
    by_case = kernels.groupby("case")["busy_ns"].sum()
    assert (by_case.reindex(captures.index) == captures["total_ns"]).all()
    of_kernels = kernels[kernels["kind"] == "kernel"].groupby("case")["busy_ns"].sum()
    assert (of_kernels.reindex(captures.index) == captures["stats_total_ns"]).all()
    assert (kernels["calls"] % kernels["steps"] == 0).all()
    step = kernels[kernels["phase"] == "train_step"]
    assert (step["path"] != "train_step").all(), "forward + backward + optimizer ... = step"
