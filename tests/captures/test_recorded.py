"""Recorded captures of other programs: what is known of each comes out."""

from pathlib import Path

import pandas as pd
import pytest

from tests.captures.building import busy, tables_in, unplaced
from workflow_src.captures import store
from workflow_src.captures.reading import read
from workflow_src.common.case import PHASES
from workflow_src.placing.case_capture import read_case
from workflow_src.tables.case_tables import kernels_table, ranges_table

DATA = Path(__file__).parents[1] / "data" / "captures"


@pytest.mark.parametrize(
    ("capture", "total_ns", "unplaced_ns", "paths"),
    [
        ("gpt2_modules.sqlite.gz", 55_735_302, 0, 71),
        ("llama.sqlite.gz", 61_646_199, 0, 4),
        ("graph.sqlite.gz", 24_865_066, 0, 3),
        ("graph.json.gz", 16_497_271, 0, 3),
        ("graph_nodes.sqlite.gz", 809_820, 0, 3),
        ("ddp.sqlite.gz", 100_145_349, 0, 10),
        ("streams.sqlite.gz", 4_172_615, 205_444, 7),
        ("streams.json.gz", 2_589_399, 0, 6),
        ("vit.sqlite.gz", 24_970_772, 0, 1),
    ],
)
def test_all_device_time_is_accounted_for(
    capture: str, total_ns: int, unplaced_ns: int, paths: int
) -> None:
    tables = tables_in(DATA / capture)
    every = tables["summary"].iloc[-1]
    assert (every["total_ns"], every["unplaced_ns"]) == (total_ns, unplaced_ns)
    assert tables["kernels"]["busy_ns"].sum() == total_ns
    assert sum(unplaced(tables).values()) == unplaced_ns
    assert len(tables["paths"]) == paths
    assert sum(busy(tables).values()) + unplaced_ns == total_ns


def test_a_graphs_nodes_are_what_the_step_is_without_it_and_no_finding_takes_them_for_one() -> None:
    """The first node fills gradients with zeros; all nodes have one launch, the graph's."""
    tables = tables_in(DATA / "graph_nodes.sqlite.gz", diagnosed=True)
    kernels = tables["kernels"]
    replayed = kernels[kernels["path"] == "step/replay"]
    assert replayed.groupby("kind")["activities"].sum().to_dict() == {"kernel": 3 * 68, "set": 3}
    assert "zero_fills" not in set(tables["findings"]["mechanism"])


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
