"""What fits in memory by formula: see workflow_src/cli/memory.py."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from tests.published import H100, H200
from workflow_src.cli.memory import limit_gib, what_fits
from workflow_src.common.case import PHASES, Case
from workflow_src.common.units import GIB
from workflow_src.model.memory_formulas import peak_bytes
from workflow_src.plan.suites import Plan, make_plan

CONFIG = yaml.safe_load((Path(__file__).parent.parent / "config.yaml").read_text())


def plan(tmp_path: Path, **changes: Any) -> Plan:
    named = {"device": "cuda", "profiler": "torch", "cluster": True, "suite": "assignment_2026"}
    return make_plan(CONFIG | named | changes, tmp_path)


def test_the_largest_of_the_five_sizes_of_2026_trains_in_no_80_gib(tmp_path: Path) -> None:
    made = plan(tmp_path)
    assert len(made.cases) == 60 and made.case_ids[-1] == "10B-ctx2048-bf16"
    assert "xl-2026-ctx256-fp32" in made.case_ids
    largest = {"sizes": ["xl-2026", "10B"], "contexts": [256]}
    made = plan(tmp_path, suites={"mine": largest}, suite="mine")
    forward, _, step = what_fits(made, 80.0)
    assert forward == "memory, by formula: forward fits in 80 GiB in 2 of 2 cases"
    assert step == (
        "memory, by formula: train_step fits in 80 GiB in 1 of 2 cases; not in 10B-ctx256-fp32"
    )


def test_the_limit_is_the_one_that_is_set_and_without_one_nothing_is_said(tmp_path: Path) -> None:
    assert limit_gib(plan(tmp_path, memory_limit_gib=1)) == 1
    made = plan(tmp_path, suite="smoke")
    assert limit_gib(made) is None and list(what_fits(made, None)) == []
    assert all(line.endswith("fits in 1 GiB in 2 of 2 cases") for line in what_fits(made, 1.0))


@pytest.mark.parametrize(
    ("run", "gib", "phases", "out"),
    [(H200, 140.4, 174, 0), (H100, 79.6, 120, 6), (H200 / "memory-32gib", 32.0, 60, 14)],
    ids=["H200", "H100", "32 GiB"],
)
def test_what_fits_by_formula_is_what_fitted(run: Path, gib: float, phases: int, out: int) -> None:
    """docs/course.md says so; OOM includes what was skipped after it."""
    timings = pd.read_csv(run / "tables" / "timings.csv").set_index(["case", "phase"])["status"]
    timings = timings[timings != "not_measured"]
    cases = pd.read_csv(run / "plan.csv").drop(columns="memory_limit_gib").to_dict("records")
    fits = {
        (case.case, phase): peak_bytes(case, phase) <= gib * GIB
        for case in map(Case.from_dict, cases)
        for phase in PHASES
        if (case.case, phase) in timings
    }
    assert fits == (timings == "ok").to_dict()
    assert len(fits) == phases and list(fits.values()).count(False) == out
