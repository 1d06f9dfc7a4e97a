"""Timelines: idle time as in the ledger, exact times in each format, and pictures that are SVG."""

import gzip
import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest

from workflow_src.captures.capture import frame
from workflow_src.paper.svg import merged
from workflow_src.placing.case_capture import CaseCapture, placed_case, read_case
from workflow_src.placing.ledger import ledger
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
    table = ledger(case.ranges, case.work, case.capture.calls)
    pieces = found.idle.assign(ns=found.idle["end_ns"] - found.idle["start_ns"])
    sums = pieces.groupby(["phase", "step", "cause"])["ns"].sum()
    for row in table.to_dict("records"):
        mine = sums[row["phase"], row["step"]]
        assert mine.sum() == row["idle_ns"]
        assert all(row[f"idle_{cause}_ns"] == ns for cause, ns in mine.items())
    for start, end in found.idle[["start_ns", "end_ns"]].to_numpy():
        work = found.activities
        assert not ((work["start_ns"] < end) & (work["end_ns"] > start)).any()


def test_without_api_calls_the_cause_of_idle_time_is_not_known(case):
    bare = placed_case(replace(case.capture, calls=frame("calls", {})))
    assert set(timeline_of(bare).idle["cause"]) == {UNKNOWN_CAUSE}


def test_the_picture_has_a_chart_per_phase_as_wide_as_its_step(found):
    root = ElementTree.fromstring(draw(found))
    views = [each.attrib["viewBox"].split() for each in root.iter(f"{SVG}svg")][1:]
    walls = []
    for phase in ("forward", "forward_backward", "train_step"):
        step = found.typical_step(phase)
        walls.append(step["end_ns"] - step["start_ns"])
    widths = [int(view[2]) for view in views]
    assert widths == [wall // max(wall // UNITS, 1) for wall in walls]
    assert max(walls) > 2 * UNITS > max(widths), "nanoseconds would take more digits"
    said = [title.text or "" for title in root.iter(f"{SVG}title")]
    assert any(text.startswith("launch: ") for text in said)
    assert any(text.startswith("softmax: ") and "elementwise" in text for text in said)


def test_a_box_lies_where_its_times_say_to_a_unit(found):
    """Of the device's first box of each component, in the step drawn."""
    step = found.typical_step("train_step")
    wall = step["end_ns"] - step["start_ns"]
    unit = wall // UNITS
    work = found.activities
    mine = work[(work["phase"] == "train_step") & (work["step"] == step["step"])]
    first = mine.sort_values("start_ns").groupby("component")["start_ns"].min() - step["start_ns"]
    chart = [each for each in ElementTree.fromstring(draw(found)).iter(f"{SVG}svg")][-1]
    starts = {
        (path[0].text.split(":")[0], int(re.match(r"M(\d+)", path.attrib["d"])[1]))
        for path in chart.iter(f"{SVG}path")
    }
    assert {(name, start // unit) for name, start in first.items()} <= starts


def test_a_capture_without_steps_gives_a_picture_that_says_so(case):
    none = placed_case(replace(case.capture, ranges=case.capture.ranges[:0]))
    assert "The capture holds no step." in draw(timeline_of(none))


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([(0, 5), (7, 3)], [(0, 10)]),
        ([(0, 5), (8, 3)], [(0, 5), (8, 3)]),
        ([(0, 9), (2, 3), (20, 1)], [(0, 9), (20, 1)]),
        ([], []),
    ],
)
def test_boxes_closer_than_the_resolution_are_drawn_as_one(spans, expected):
    assert merged(spans, 3) == expected


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


def test_equal_captures_give_equal_bytes(files, tmp_path):
    arguments = [f"--export={EXPORT}", f"--svg={tmp_path / 'a.svg'}"]
    arguments += [f"--trace={tmp_path / 'a.trace.json.gz'}"]
    main(arguments)
    for file in files.iterdir():
        assert (tmp_path / file.name).read_bytes() == file.read_bytes()
