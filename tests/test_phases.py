"""The phases and steps of a case's capture, and what belongs to each."""

from pathlib import Path

import numpy as np
import pytest

from tests.captures.building import Export
from workflow_src.captures.capture import Capture
from workflow_src.captures.reading import read
from workflow_src.common.nesting import NOWHERE
from workflow_src.placing.case_capture import CaseCapture, placed_case

DATA = Path(__file__).parent / "data" / "nsys"
AUTOGRAD_THREAD = DATA / "autograd_thread_nsys2025.3.sqlite"
SINGLE_THREAD = DATA / "single_thread_nsys2025.3.sqlite"


@pytest.fixture
def export(tmp_path: Path) -> Export:
    return Export(tmp_path)


def kernel_time(capture: Capture, word: str) -> int:
    """Kernel time (ns) in paths with `word`."""
    case = placed_case(capture)
    paths = np.append(case.ranges["path"].to_numpy(dtype=object), "")[case.work["range"]]
    inside = np.array([word in path for path in paths]) & (case.work["kind"] == "kernel")
    return int(case.work.loc[inside, "duration_ns"].sum())


def test_backward_has_its_kernels_although_another_thread_launched_them() -> None:
    assert kernel_time(read(AUTOGRAD_THREAD), "backward") == 2_216_506
    assert kernel_time(read(SINGLE_THREAD), "backward") == 2_219_160


def test_a_range_outside_any_step_has_no_phase(export: Export) -> None:
    export.range("other", 0, 9)
    found = placed_case(export.read()).ranges
    assert found["phase"].tolist() == [""] and found["step"].tolist() == [NOWHERE]


def test_a_capture_says_what_was_measured_of_its_host(export: Export) -> None:
    export.range("host_id=abc", 0, 9)
    export.range("host_launch_us=4.5", 10, 19)
    export.range("host_name=x", 20, 29)
    case: CaseCapture = placed_case(export.read())
    assert case.facts == {"host_id": "abc", "host_launch_us": "4.5"}
