"""Timelines of cases and of other programs' captures: idle time as in the ledger, exact times."""

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest

from tests.captures.building import Export
from workflow_src.captures.capture import UNKNOWN, frame
from workflow_src.captures.reading import read
from workflow_src.paper.svg import merged
from workflow_src.placing.attributed import attributed
from workflow_src.placing.case_capture import CaseCapture, ledger, placed_case, read_case
from workflow_src.timeline.picture import UNITS, draw
from workflow_src.timeline.steps import UNKNOWN_CAUSE, Timeline, timeline, timeline_of

EXPORT = Path(__file__).parent / "data" / "nsys" / "tiny-ctx64-fp32"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def case() -> CaseCapture:
    return read_case(EXPORT)


@pytest.fixture(scope="module")
def found(case: CaseCapture) -> Timeline:
    return timeline_of(case)


def test_idle_pieces_add_up_to_the_ledger_and_overlap_no_activity(case, found):
    table = ledger(case)
    pieces = found.idle.assign(ns=found.idle["end_ns"] - found.idle["start_ns"])
    sums = pieces.groupby(["phase", "step", "cause"])["ns"].sum()
    drawn = table.merge(found.steps[["phase", "step"]])
    assert drawn["phase"].tolist() == [*table["phase"].unique()]
    for row in drawn.to_dict("records"):
        mine = sums[row["phase"], row["step"]]
        assert mine.sum() == row["idle_ns"]
        assert all(row[f"idle_{cause}_ns"] == ns for cause, ns in mine.items())
    for start, end in found.idle[["start_ns", "end_ns"]].to_numpy():
        work = found.activities
        assert not ((work["start_ns"] < end) & (work["end_ns"] > start)).any()


def test_without_api_calls_the_cause_of_idle_time_is_not_known(case):
    work = case.placed.capture.work.assign(launch_ns=UNKNOWN, launch_end_ns=UNKNOWN)
    bare = placed_case(replace(case.placed.capture, work=work, calls=frame("calls", {})))
    assert set(timeline_of(bare).idle["cause"]) == {UNKNOWN_CAUSE}


def test_a_box_lies_where_its_times_say_to_a_unit(found):
    """Of the device's first box of each component, in the step drawn."""
    step = found.steps.set_index("phase").loc["train_step"]
    wall = step["end_ns"] - step["start_ns"]
    unit = wall // UNITS
    work = found.activities
    mine = work[work["phase"] == "train_step"]
    first = mine.sort_values("start_ns").groupby("component")["start_ns"].min() - step["start_ns"]
    chart = [each for each in ElementTree.fromstring(draw(found)).iter(f"{SVG}svg")][-1]
    starts = {
        (path[0].text.split(":")[0], int(re.match(r"M(\d+)", path.attrib["d"])[1]))
        for path in chart.iter(f"{SVG}path")
    }
    assert {(name, start // unit) for name, start in first.items()} <= starts


CAPTURES = Path(__file__).parent / "data" / "captures"


def spans(rows: pd.DataFrame, name: str = "component") -> list[tuple[str, int, int]]:
    return [*rows[[name, "start_ns", "end_ns"]].itertuples(index=False, name=None)]


def test_the_step_of_the_median_time_is_drawn_with_what_it_launched(tmp_path: Path) -> None:
    export = Export(tmp_path)
    for start, end in ((0, 2000), (2000, 6000), (6000, 9000)):
        export.range("step", start, end)
        export.range("a/b", start + 100, start + 500)
        export.work(start + 200, end // 100, demangledName=export.string("gemm"))
    found = timeline(attributed(export.read(), None))
    assert spans(found.ranges) == [("step", 6000, 9000), ("a/b", 6100, 6500)]
    assert spans(found.activities) == [("a/b", 6205, 6295)]
    assert spans(found.idle, "cause") == [
        ("launch", 6000, 6201), ("queued", 6201, 6205), ("launch", 6295, 9000)
    ]  # fmt: skip


def test_what_a_device_that_lags_runs_meanwhile_is_drawn(tmp_path: Path) -> None:
    export = Export(tmp_path)
    for start in (0, 1000, 2000):
        export.range("step", start, start + 1000)
        export.work(start + 100, 1000, start=start + 1500, demangledName=export.string("gemm"))
    found = timeline(attributed(export.read(), None))
    # Of the step from 1,000 on: the work of the step before, and its own, which runs later.
    assert spans(found.ranges) == [("step", 1000, 2000)]
    assert found.activities["launch_ns"].tolist() == [UNKNOWN, 1100]
    assert spans(found.activities) == [("step", 1500, 2500), ("step", 2500, 3500)]
    assert "gemm 0.000500 ms" in draw(found)


def test_without_a_step_the_picture_says_so() -> None:
    capture = read(CAPTURES / "vit.sqlite.gz")
    found = timeline(attributed(capture, None))
    assert found.ranges.empty and "The capture holds no step." in draw(found)
    found = timeline(attributed(read(CAPTURES / "graph.json.gz"), None, step="step"))
    assert found.ranges["component"].iloc[0] == "step"


def test_boxes_closer_than_the_resolution_are_drawn_as_one() -> None:
    assert merged([(0, 5), (7, 3)], 3) == [(0, 10)] and merged([], 3) == []
    assert merged([(0, 9), (2, 3), (12, 1)], 3) == [(0, 9), (12, 1)]
