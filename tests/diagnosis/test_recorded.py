"""What is learned of a step from a capture: exports made by hand, and real ones."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.captures.building import Export
from workflow_src.common.errors import TraceError
from workflow_src.diagnosis.device_work import event_ties
from workflow_src.diagnosis.recording import SHORT_NS, Edit, Recording
from workflow_src.diagnosis.replay import check, replay
from workflow_src.diagnosis.step import recorded
from workflow_src.placing.attributed import attributed

DATA = Path("tests/data/captures")
LAUNCH, COPY, WAIT = "cudaLaunchKernel_v7000", "cudaMemcpyAsync_v3020", "cudaStreamSynchronize"
US = 1000
LENGTH = 1000 * US
"""Of each of three steps, which are alike."""


class Program(Export):
    """An export of three steps that are alike, each of LENGTH; times are microseconds in a step."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        for n in range(3):
            self.range("step", n * LENGTH, (n + 1) * LENGTH)

    def does(self, name: str, start: float, end: float, **more: Any) -> "Program":
        """A call in each step and, if `at` is given, what it launches; see `work` of Export."""
        thread, at = more.pop("thread", 1), more.pop("at", None)
        kind, length = more.pop("kind", "KERNEL"), more.pop("length", 10)
        for n in range(3):
            self.calls += 1
            began, ended = (n * LENGTH + int(us * US) for us in (start, end))
            self.api(name, began, ended, self.calls, thread)
            if at is not None:
                begin, took = n * LENGTH + int(at * US), int(length * US)
                self.work(None, took, kind, number=self.calls, start=begin, **more)
        return self

    def recording(self) -> Recording:
        return recorded(attributed(self.read(), None), 1)


def saved_us(recording: Recording, change: Any) -> float:
    return (replay(recording).step_ns - replay(recording, [change]).step_ns) / US


def rows(recording: Recording, name: str) -> np.ndarray:
    return np.flatnonzero(recording.calls["name"].str.startswith(name.split("_")[0]))


def test_a_thread_with_ranges_of_its_own_works_beside_the_loop(tmp_path: Path) -> None:
    program = Program(tmp_path).does(LAUNCH, 100, 110, at=112)
    program.range("load", 0, 3 * LENGTH, thread=2)
    program.does(COPY, 150, 400, at=160, kind="MEMCPY", thread=2, stream=9)
    recording = program.does(LAUNCH, 200, 210, at=212).recording()
    assert recording.calls["beside"].tolist() == [False, True, False] * 3
    assert recording.calls["gap_ns"].tolist()[:3] == [100 * US, 50 * US, 90 * US]


def test_a_synchronization_costs_what_the_device_holds_it_up(tmp_path: Path) -> None:
    # The wait from 120 to 515 ends 3 after the kernel. Without it, the host would launch at 220.
    program = Program(tmp_path).does(LAUNCH, 100, 110, at=112, length=400).does(WAIT, 120, 515)
    program.does(LAUNCH, 615, 625, at=627, length=100)
    recording = program.does(WAIT, 700, 730).recording()
    assert recording.waits["blocked"].tolist() == [True, True] * 3
    assert recording.calls["cost_ns"].tolist()[1] == 5 * US
    assert check(recording).understood
    # Then the second kernel starts as the first one ends, at 512, and the host waits until 615.
    assert saved_us(recording, Edit(rows(recording, WAIT)[::2], cost=0)) == pytest.approx(
        730 - 615, abs=5
    )


def test_a_pageable_copy_blocks_only_if_its_call_returned_after_it_began(tmp_path: Path) -> None:
    program = Program(tmp_path)
    memory = dict(kind="MEMCPY", srcKind=0, dstKind=2, copyKind=1)
    program.does(COPY, 100, 400, at=110, length=280, **memory)
    program.does(COPY, 450, 460, at=462, length=5, **memory)
    recording = program.does(LAUNCH, 500, 510, at=512).recording()
    assert recording.waits["call"].tolist() == [0, 3, 6]
    assert recording.calls["cost_ns"].tolist()[:2] == [10 * US, 10 * US]
    # The host goes on after 5 instead of 300.
    goes_on = Edit(rows(recording, COPY)[::2], cost=SHORT_NS)
    assert saved_us(recording, goes_on) == pytest.approx(295)
    both = [goes_on, Edit(np.arange(9), gap=0)]
    # Without the host's own time, the device's 280, 5 and 10 remain.
    assert replay(recording, both).step_ns < 310 * US


EVENTS: dict[str, tuple[list[int], dict[int, int]]] = {
    # When streams are made to wait; what waits for what.
    "the last of another stream, not what runs at the same time": ([35], {3: 1}),
    "both times once": ([35, 36], {3: 1}),
    "nothing yet": ([15], {}),
    "not what was launched before it": ([45], {4: 1}),
    "nothing follows": ([55], {}),
}


@pytest.mark.parametrize("name", EVENTS)
def test_the_next_activity_waits_for_the_last_of_other_streams(name: str) -> None:
    waits, after = EVENTS[name]
    # Launched at 10, 20, 30 and so on: two kernels of a stream, a long one of another, two more.
    starts, lengths = np.array([11, 21, 31, 200, 210]), np.array([5, 5, 900, 5, 5])
    calls = pd.DataFrame({"start_ns": [0, 10, 20, 30, 40, 50], "name": "cudaLaunchKernel"})
    made = pd.DataFrame({"start_ns": waits, "name": "cudaStreamWaitEvent"})
    calls = pd.concat([calls, made]).sort_values("start_ns", ignore_index=True)
    call = calls.index[calls["name"] == "cudaLaunchKernel"][1:]
    times = {"start_ns": starts, "end_ns": starts + lengths}
    pairs = event_ties(pd.DataFrame({"call": call, "lane": [0, 0, 1, 2, 2], **times}), calls)
    assert dict(zip(pairs["work"], pairs["after"], strict=True)) == after


def test_an_activity_is_tied_to_one_of_another_stream_that_its_stream_waited_for(
    tmp_path: Path,
) -> None:
    program = Program(tmp_path).does(LAUNCH, 100, 110, at=112, length=300, stream=7)
    program.does("cudaStreamWaitEvent_v3020", 120, 122)
    recording = program.does(LAUNCH, 130, 140, at=413, length=100, stream=9).recording()
    assert recording.ties.to_numpy().tolist() == [[n + 1, n, US] for n in (0, 2, 4)]


def test_a_start_that_nothing_explains_makes_a_step_not_understood(tmp_path: Path) -> None:
    program = Program(tmp_path).does(LAUNCH, 100, 110, at=600, length=300)
    assert not program.does(WAIT, 120, 905).recording().steps.empty
    assert not check(program.recording()).understood


def test_what_was_launched_before_the_capture_keeps_the_device_first(tmp_path: Path) -> None:
    # Two activities whose launches aren't in the capture run to 205; the first launch waits.
    program = Program(tmp_path).does(LAUNCH, 10, 20, at=207, length=100)
    program.work(None, 100 * US, number=9001, start=5 * US)
    program.work(None, 99 * US, number=9002, start=106 * US)
    recording = program.recording()
    assert recording.work["call"].tolist() == [-1, -1, 0, 1, 2]
    assert replay(recording).work_start_ns.tolist()[:2] == [5 * US, 106 * US]
    assert check(recording).understood


def test_of_many_steps_the_last_are_kept_with_what_the_device_had_left_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The second kernel of a step runs 150 into the next one, whose first kernel waits for it.
    monkeypatch.setattr("workflow_src.diagnosis.step.MOST_CALLS", 4)
    program = Program(tmp_path).does(LAUNCH, 10, 20, at=151, length=100)
    recording = program.does(LAUNCH, 900, 910, at=912, length=238).recording()
    assert recording.calls["step"].tolist() == [0, 0, 1, 1]
    assert recording.work["call"].tolist() == [-1, 0, 1, 2, 3]
    assert recording.steps["time_ns"].tolist() == [1000 * US, 1000 * US]
    assert check(recording).understood


def test_steps_without_api_calls_are_named(tmp_path: Path) -> None:
    program = Program(tmp_path)
    for n in range(3):
        program.work(None, 100, start=n * LENGTH + 50)
    program.sql("DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME")
    with pytest.raises(TraceError, match="the steps of process 1 hold no API call"):
        recorded(attributed(program.read(), None, step="step"), 1)
