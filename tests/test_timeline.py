"""Timelines of cases and of other programs' captures: idle time as in the ledger, exact times."""

import gzip
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import pytest

from tests.captures.building import Export
from workflow_src.captures.capture import UNKNOWN, frame
from workflow_src.cli import read_capture
from workflow_src.paper.svg import merged
from workflow_src.placing.case_capture import CaseCapture, ledger, placed_case, read_case
from workflow_src.timeline.make import DEVICE, HOST, IDLE, main
from workflow_src.timeline.picture import UNITS, draw
from workflow_src.timeline.steps import UNKNOWN_CAUSE, Timeline, timeline_of

EXPORT = Path(__file__).parent / "data" / "nsys" / "tiny-ctx64-fp32"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def case() -> CaseCapture:
    return read_case(EXPORT)


@pytest.fixture(scope="module")
def found(case: CaseCapture) -> Timeline:
    return timeline_of(case)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("timelines")
    names = {"svg": "a.svg", "trace": "a.trace.json.gz"}
    main([f"--export={EXPORT}", *(f"--{name}={folder / file}" for name, file in names.items())])
    return folder


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
    work = case.capture.work.assign(launch_ns=UNKNOWN, launch_end_ns=UNKNOWN)
    bare = placed_case(replace(case.capture, work=work, calls=frame("calls", {})))
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


def test_the_trace_for_perfetto_holds_every_range_activity_and_gap(files, found):
    text = gzip.decompress((files / "a.trace.json.gz").read_bytes())
    trace = json.loads(text)
    events = pd.DataFrame([e for e in trace["traceEvents"] if e["ph"] == "X"])
    for name, kind in (("ts", float), ("dur", float), ("pid", int), ("tid", int), ("name", str)):
        assert all(isinstance(value, kind) for value in events[name]), name
    assert (events["ts"] >= 0).all() and (events["dur"] >= 0).all()
    device = events[events["pid"] == DEVICE]
    assert len(device) == len(found.activities)
    assert round(1000 * device["dur"].sum()) == found.activities["duration_ns"].sum()
    assert {"path", "component", "family"} <= set(device["args"].iloc[0])
    assert (events["cat"] == "range").sum() == len(found.ranges)
    assert set(events.loc[events["pid"] == IDLE, "name"]) == set(found.idle["cause"])
    named = [e for e in trace["traceEvents"] if e["ph"] == "M"]
    assert {e["pid"] for e in named} == {HOST, DEVICE, IDLE}


CAPTURES = Path(__file__).parent / "data" / "captures"


def events_of(folder: Path, capture: Path, *more: str) -> list[dict[str, Any]]:
    """The events for Perfetto; beside them is step.svg."""
    read_capture.main([f"--capture={capture}", f"--output={folder}", *more])
    trace = (folder / "step.trace.json.gz").read_bytes()
    events = json.loads(gzip.decompress(trace))["traceEvents"]
    return [event for event in events if event["ph"] == "X"]


def spans(events: list[dict[str, Any]], process: int) -> list[tuple[str, float, float]]:
    return [(e["name"], e["ts"], e["dur"]) for e in events if e["pid"] == process]


def test_the_step_of_the_median_time_is_drawn_with_what_it_launched(tmp_path: Path) -> None:
    export = Export(tmp_path)
    for start, end in ((0, 2000), (2000, 6000), (6000, 9000)):
        export.range("step", start, end)
        export.range("a/b", start + 100, start + 500)
        export.work(start + 200, end // 100, demangledName=export.string("gemm"))
    events = events_of(tmp_path, export.write())
    assert spans(events, HOST) == [("step", 0, 3), ("a/b", 0.1, 0.4), ("launch gemm", 0.2, 0.001)]
    assert spans(events, DEVICE) == [("gemm", 0.205, 0.09)]
    assert spans(events, IDLE) == [
        ("launch", 0, 0.201), ("queued", 0.201, 0.004), ("launch", 0.295, 2.705)
    ]  # fmt: skip


def test_what_a_device_that_lags_runs_meanwhile_is_drawn(tmp_path: Path) -> None:
    export = Export(tmp_path)
    for start in (0, 1000, 2000):
        export.range("step", start, start + 1000)
        export.work(start + 100, 1000, start=start + 1500, demangledName=export.string("gemm"))
    events = events_of(tmp_path, export.write())
    # Of the step from 1,000 on: the work of the step before, and its own, which runs later.
    assert spans(events, HOST) == [("step", 0, 1), ("launch gemm", 0.1, 0.001)]
    assert spans(events, DEVICE) == [("gemm", 0.5, 1), ("gemm", 1.5, 1)]
    assert "gemm 0.000500 ms" in (tmp_path / "step.svg").read_text()


def test_without_a_step_the_picture_says_so(tmp_path: Path) -> None:
    assert events_of(tmp_path, CAPTURES / "vit.sqlite.gz") == []
    assert "The capture holds no step." in (tmp_path / "step.svg").read_text()
    events = events_of(tmp_path, CAPTURES / "graph.json.gz", "--step", "step")
    assert spans(events, HOST)[0][0] == "step"


def test_boxes_closer_than_the_resolution_are_drawn_as_one() -> None:
    assert merged([(0, 5), (7, 3)], 3) == [(0, 10)] and merged([], 3) == []
    assert merged([(0, 9), (2, 3), (12, 1)], 3) == [(0, 9), (12, 1)]
