"""A step of another program's capture for two viewers: exact times, and only that step."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.captures.building import Export
from workflow_src.cli.read_capture import main
from workflow_src.timeline.make import DEVICE, HOST, IDLE

DATA = Path(__file__).parent / "data" / "captures"


def written(folder: Path, capture: Path, *more: str) -> list[dict[str, Any]]:
    """The events for Perfetto; beside them is step.svg."""
    main([f"--capture={capture}", f"--output={folder}", *more])
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
    events = written(tmp_path, export.write())
    assert spans(events, HOST) == [("step", 0, 3), ("a/b", 0.1, 0.4), ("launch gemm", 0.2, 0.001)]
    assert spans(events, DEVICE) == [("gemm", 0.205, 0.09)]
    assert spans(events, IDLE) == [
        ("launch", 0, 0.201), ("queued", 0.201, 0.004), ("launch", 0.295, 2.705)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("capture", "wall_us", "device_ns", "idle_ns"),
    [
        ("sleepy.sqlite.gz", 18_518.62, 9_305_482, 9_213_138),
        ("ddp.sqlite.gz", 28_624.46, 24_841_584, 6_751_574),
    ],
)
def test_a_recorded_step_has_the_ledgers_times(
    tmp_path: Path, capture: str, wall_us: float, device_ns: int, idle_ns: int
) -> None:
    events = written(tmp_path, DATA / capture)
    assert spans(events, HOST)[0] == ("step", 0, wall_us)
    assert sum(ns for _, _, ns in spans(events, DEVICE)) * 1000 == pytest.approx(device_ns)
    assert round(sum(length for _, _, length in spans(events, IDLE)) * 1000) == idle_ns


def test_without_a_step_the_picture_says_so(tmp_path: Path) -> None:
    assert written(tmp_path, DATA / "vit.sqlite.gz") == []
    assert "The capture holds no step." in (tmp_path / "step.svg").read_text()
    events = written(tmp_path, DATA / "graph.json.gz", "--step", "step")
    assert spans(events, HOST)[0][0] == "step"
