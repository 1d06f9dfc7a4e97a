"""Timelines: idle time as in the ledger, exact times in each format, and pictures that are SVG."""

import gzip
import json
import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from workflow_src.captures.capture import frame
from workflow_src.paper.svg import COLORS, merged
from workflow_src.placing.case_capture import CaseCapture, placed_case, read_case
from workflow_src.placing.ledger import ledger
from workflow_src.timeline.make import DEVICE, HOST, IDLE, main
from workflow_src.timeline.picture import CAUSE_COLORS, UNITS, draw
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


def test_the_times_of_families_add_up_to_their_box(found):
    root = ElementTree.fromstring(draw(found))
    texts = [title.text.split("\n") for title in root.iter(f"{SVG}title") if "\n" in title.text]
    assert len(texts) > 10
    for box, families in texts:
        (whole,), parts = (re.findall(r"([\d.,]+) ms", text) for text in (box, families))
        assert sum(map(float, parts)) == pytest.approx(float(whole), rel=0.01), (box, families)


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


TO_LMS = [
    (0.4122214708, 0.5363325363, 0.0514459929),
    (0.2119034982, 0.6806995451, 0.1073969566),
    (0.0883024619, 0.2817188376, 0.6299787005),
]
TO_OKLAB = [
    (0.2104542553, 0.7936177850, -0.0040720468),
    (1.9779984951, -2.4285922050, 0.4505937099),
    (0.0259040371, 0.7827717662, -0.8086757660),
]
"""The matrices of Oklab, a space in which distance is difference seen (Ottosson, 2020)."""


def linear(color: str) -> np.ndarray:
    parts = np.array([int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def test_no_two_colors_of_a_picture_look_alike():
    colors = [*COLORS, *CAUSE_COLORS.values()]
    seen = [np.array(TO_OKLAB) @ np.cbrt(np.array(TO_LMS) @ linear(color)) for color in colors]
    apart = {
        pair: float(np.linalg.norm(seen[pair[0]] - seen[pair[1]]))
        for pair in combinations(range(len(colors)), 2)
    }
    nearest = min(apart, key=apart.__getitem__)
    assert apart[nearest] > 0.075, [colors[at] for at in nearest]


@pytest.mark.parametrize("color", COLORS)
def test_dark_names_can_be_read_in_a_box_of_each_color(color):
    light, ink = (linear(each) @ (0.2126, 0.7152, 0.0722) + 0.05 for each in (color, "#1a1a1a"))
    assert light / ink >= 4.5


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


def test_events_of_one_device_lane_never_overlap(files):
    trace = json.loads(gzip.decompress((files / "a.trace.json.gz").read_bytes()))
    lanes: dict[int, float] = {}
    for event in trace["traceEvents"]:
        if event["ph"] == "X" and event["pid"] == DEVICE:
            assert event["ts"] >= lanes.get(event["tid"], 0.0) - 1e-6
            lanes[event["tid"]] = event["ts"] + event["dur"]


def test_equal_captures_give_equal_bytes(files, tmp_path):
    arguments = [f"--export={EXPORT}", f"--svg={tmp_path / 'a.svg'}"]
    arguments += [f"--trace={tmp_path / 'a.trace.json.gz'}"]
    main(arguments)
    for file in files.iterdir():
        assert (tmp_path / file.name).read_bytes() == file.read_bytes()
