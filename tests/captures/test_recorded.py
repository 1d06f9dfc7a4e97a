"""Recorded captures: read in parts, and as a case, they are what they are otherwise."""

from pathlib import Path

import pandas as pd
import pytest

from tests.captures.building import tables_in
from workflow_src.captures import store
from workflow_src.captures.reading import read
from workflow_src.common.case import PHASES
from workflow_src.placing.case_capture import read_case
from workflow_src.tables.case_tables import kernels_table, ranges_table

DATA = Path(__file__).parents[1] / "data" / "captures"


def test_parts_of_a_table_make_up_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read(DATA / "ddp.sqlite.gz")
    monkeypatch.setattr(store, "JOINED", 97)
    in_parts = read(DATA / "ddp.sqlite.gz")
    for name in ("ranges", "work", "calls", "copies"):
        pd.testing.assert_frame_equal(getattr(in_parts, name), getattr(whole, name))


@pytest.mark.parametrize(
    "export",
    [
        "nsys/tiny-ctx64-fp32/trace.sqlite",
        "nsys/tiny-ctx64-bf16-sdpa-fused/trace.sqlite",
        "torch/tiny-ctx8-bf16/trace.json.gz",
    ],
)
def test_a_capture_of_a_case_has_the_paths_and_times_of_the_cases_tables(export: str) -> None:
    capture = DATA.parent / export
    case = read_case(capture.parent)
    of_case = ranges_table(case.ranges).groupby("path")[["instances", "busy_ms", "span_ms"]].sum()
    assert {f"{phase}/backward" for phase in PHASES[1:]} < set(of_case.index)
    paths = tables_in(capture, fold="")["paths"].set_index("path")[list(of_case.columns)]
    pd.testing.assert_frame_equal(paths.loc[of_case.index], of_case, check_names=False)
    others = paths.drop(of_case.index)
    assert not any(str(path).startswith(tuple(PHASES)) for path in others.index)
    by_kernel = kernels_table(case.ranges, case.work).groupby("path")["busy_ns"].sum()
    here = tables_in(capture, fold="")["kernels"].groupby("path")["busy_ns"].sum()
    assert here.to_dict() == by_kernel.drop("", errors="ignore").to_dict()
