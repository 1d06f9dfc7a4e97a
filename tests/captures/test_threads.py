"""Threads that work for another one: their work lies below what is open on the one that called."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.captures.building import (
    Export,
    Range,
    Work,
    busy,
    capture_of,
    event,
    flow,
    launched,
    notes,
    tables_in,
    thread_name,
    trace_file,
    unplaced,
)
from tests.examples import costly
from workflow_src.captures.capture import Capture
from workflow_src.placing import placing
from workflow_src.placing.placing import OWN_THREAD
from workflow_src.placing.threads import helped

TRAINER, HELPER, LOADER, SECOND, OTHER = 1, 2, 3, 4, 7
RIGHT = {"step": 0, "step/forward": 1, "step/backward": 2, "step/backward/hook": 4 + 8}


@pytest.fixture
def export(tmp_path: Path) -> Export:
    return Export(tmp_path)


def train(export: Export, begin: int = 0, trainer: int = TRAINER, helper: int = HELPER) -> None:
    """A step of 100 ns: forward launches 1 ns, backward 2 and, in a hook's range, 4 and 8."""
    export.range("step", begin, begin + 100, thread=trainer)
    export.range("forward", begin + 5, begin + 40, thread=trainer)
    export.work(begin + 10, 1, thread=trainer)
    export.range("backward", begin + 50, begin + 90, thread=trainer)
    export.work(begin + 55, 2, thread=helper)
    export.range("hook", begin + 60, begin + 80, thread=helper)
    export.work(begin + 65, 4, thread=helper)
    export.work(begin + 75, 8, thread=helper)


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("trainer", [TRAINER, OTHER])
def test_what_autograds_thread_launches_and_pushes_lies_below_backward(
    export: Export, named: bool, trainer: int
) -> None:
    """A loader that has most ranges and makes no call is neither a caller nor the main thread."""
    for begin in (0, 100, 200):
        train(export, begin, trainer)
        for start in range(begin + 1, begin + 100, 4):
            export.range("load", start, start + 3, thread=LOADER)
    if named:
        export.named(HELPER, "pt_autograd_0")
    tables = export.tables()
    assert busy(tables) == {path: 3 * ns for path, ns in RIGHT.items()} | {"load": 0}
    assert unplaced(tables) == {} and notes(tables) == {"lent" if named else "turns": 9}
    assert tables["summary"]["main_thread"][0] == trainer
    assert tables["steps"]["busy_ns"].tolist() == [15, 15, 15]


def test_each_thread_by_itself_gives_backward_nothing(
    export: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(export)

    def alone(capture: Capture, ranges: Any) -> Any:
        threads = [np.asarray(rows["thread"]) for rows in (ranges, capture.work)]
        return replace(helped(capture, ranges), of_range=threads[0], of_work=threads[1], why=[])

    monkeypatch.setattr(placing, "helped", alone)
    tables = export.tables()
    assert busy(tables) == {"step": 0, "step/forward": 1, "step/backward": 0, "hook": 12}
    assert unplaced(tables) == {OWN_THREAD: 2}


def test_a_loader_whose_ranges_hold_the_trainers_calls_is_a_tree_of_its_own(export: Export) -> None:
    """Its calls come only while the trainer waits in a range, as in a recorded capture."""
    train(export)
    export.range("load", 20, 95, thread=LOADER)
    export.work(45, 16, thread=LOADER, kind="MEMCPY", copyKind=1)
    export.work(98, 32, thread=LOADER, kind="MEMCPY", copyKind=1)
    tables = export.tables()
    assert busy(tables) == RIGHT | {"load": 16}
    assert unplaced(tables) == {OWN_THREAD: 32} and notes(tables) == {"turns": 3}


def test_a_saver_whose_calls_meet_the_trainers_is_a_tree_of_its_own(export: Export) -> None:
    train(export)
    for start in (1, 41, 91):
        export.range("save", start, start + 3, thread=LOADER)
    export.wait(9, 12, thread=LOADER)
    export.work(42, 16, thread=LOADER)
    assert busy(export.tables()) == RIGHT | {"save": 16}


def test_where_autograds_thread_has_its_name_no_other_one_is_a_helper(export: Export) -> None:
    """A metric's thread may by chance do all while the trainer waits."""
    train(export)
    export.range("metric", 41, 44, thread=LOADER)
    export.work(42, 16, thread=LOADER)
    assert busy(export.tables()) == RIGHT | {"step/metric": 16}
    export.named(HELPER, "pt_autograd_0")
    assert busy(export.tables()) == RIGHT | {"metric": 16}


def test_a_thread_that_nothing_ties_to_another_is_assumed_to_work_for_the_main_one(
    export: Export,
) -> None:
    train(export)
    export.wait(9, 12, thread=LOADER)
    export.work(45, 16, thread=LOADER)
    tables = export.tables()
    assert busy(tables) == RIGHT | {"step": 16}
    assert notes(tables) == {"turns": 3, "assumed": 1}


def test_ranges_of_emit_nvtx_tell_autograds_thread(export: Export) -> None:
    """Also where the trainer makes a call meanwhile, for a node of backward on the host."""
    train(export)
    for start in (52, 82):
        export.range("MmBackward0, seq = 51, op_id = 7", start, start + 6, thread=HELPER)
    export.wait(70, 72, thread=TRAINER)
    paths = busy(export.tables())
    assert paths.pop("step/backward/MmBackward0, seq = 51, op_id = 7") == 2
    assert paths == RIGHT | {"step/backward": 0}


def test_two_trainers_on_two_devices_get_their_own_backward(export: Export) -> None:
    for device, trainer, helper in ((0, TRAINER, HELPER), (1, SECOND, OTHER)):
        for begin in (0, 100, 200):
            train(export, begin + 23 * device, trainer, helper)
        export.named(helper, f"pt_autograd_{device}")
    tables = tables_in(export.write(), step="step")
    assert busy(tables) == {path: 6 * ns for path, ns in RIGHT.items()}
    assert unplaced(tables) == {} and notes(tables) == {"lent": 18}
    assert tables["steps"]["busy_ns"].tolist() == [15] * 6


def share(export: Export, offset: int, second_stream: int = 7) -> None:
    """Two trainers that share autograd's thread: 20 ns launched in backward of the first, and 200
    in that of the second, which begins `offset` later."""
    for begin, trainer, length, on in ((0, TRAINER, 2, 7), (offset, SECOND, 20, second_stream)):
        name = f"trainer {trainer}"
        export.range(name, begin, begin + 100, thread=trainer)
        for call in range(begin + 5, begin + 40, 3):
            export.wait(call, call + 1, thread=trainer, name="cudaLaunchKernel")
        export.work(begin + 1, 1, thread=trainer, stream=on)
        export.range("backward", begin + 50, begin + 90, thread=trainer)
        for call in range(begin + 51, begin + 90, 4):
            export.work(call, length, thread=HELPER, stream=on)
    export.named(HELPER, "pt_autograd_0")


@pytest.mark.parametrize(("offset", "stream"), [(45, 7), (150, 7), (10, 13)])
def test_two_trainers_that_share_a_device_get_their_own_backward(
    export: Export, offset: int, stream: int
) -> None:
    """On one stream if they don't run backward at once, on two streams even then."""
    share(export, offset, stream)
    tables = export.tables()
    assert busy(tables) == {
        "trainer 1": 1,
        "trainer 1/backward": 20,
        "trainer 4": 1,
        "trainer 4/backward": 200,
    }
    assert notes(tables) == {"lent": 20}


def test_backwards_of_two_trainers_at_once_on_a_device_are_told_as_shared(export: Export) -> None:
    share(export, 10)
    tables = export.tables()
    assert sum(busy(tables).values()) == 222 and unplaced(tables) == {}
    assert notes(tables)["shared"] > 0


def test_flows_tell_the_backwards_of_two_trainers_at_once_apart(tmp_path: Path) -> None:
    """Nodes of both graphs take turns on the thread of one device."""
    events: list[Any] = [thread_name(HELPER, "pt_autograd_0")]
    for number, trainer in enumerate((TRAINER, SECOND)):
        events += [
            event("user_annotation", f"trainer {trainer}", number, 100, tid=trainer),
            event("user_annotation", "backward", 50 + number, 40, tid=trainer),
            *launched(1 + number, 10 + 3 * number, 1, tid=trainer),
        ]
    for node in range(8):
        trainer, at = (TRAINER, SECOND)[node % 2], 52 + 4 * node
        events += flow(node, (trainer, 10 + node), (HELPER, at))
        events += launched(10 + node, at + 1, 2 + trainer, tid=HELPER)
    tables = tables_in(trace_file(tmp_path, events))
    assert busy(tables) == {
        "trainer 1": 1_000,
        "trainer 1/backward": 4 * 3_000,
        "trainer 4": 1_000,
        "trainer 4/backward": 4 * 6_000,
    }
    assert notes(tables) == {"lent": 8}


def test_flows_tell_autograds_thread_where_it_has_no_name(tmp_path: Path) -> None:
    """Those of forward that runs again on that thread don't make it a caller."""
    events = [
        event("user_annotation", "backward", 50, 40),
        event("cuda_runtime", "cudaMalloc", 60, 9),
        event("user_annotation", "FSDP::post_backward", 60, 9, tid=HELPER),
        *launched(1, 62, 4, tid=HELPER),
        *flow(7, (HELPER, 61), (HELPER, 80)),
        *flow(7 + 1, (TRAINER, 10), (HELPER, 55)),
    ]
    tables = tables_in(trace_file(tmp_path, events))
    assert busy(tables) == {"backward": 0, "backward/FSDP::post_backward": 4_000}


@st.composite
def backwards(draw: st.DrawFn) -> list[tuple[str, int]]:
    """What autograd's thread does in a backward: launches, and ranges that begin and end."""
    did, open_ranges = [("launch", 0)], 0
    for _ in range(draw(st.integers(0, 12))):
        kinds = ["launch", "push", "pop"] if open_ranges else ["launch", "push"]
        kind = draw(st.sampled_from(kinds))
        open_ranges += {"launch": 0, "push": 1, "pop": -1}[kind]
        did.append((kind, draw(st.integers(0, 2))))
    return did + [("pop", 0)] * open_ranges


def trained(steps: list[list[tuple[str, int]]], helper: int, name: str) -> Capture:
    """Steps whose backwards are done by a thread."""
    ranges: list[Range] = []
    launches: list[Work] = []
    at = 0
    for step in steps:
        begin, pushed = at, []
        launches.append(Work(at + 1, 1, (1, TRAINER)))
        at += 10
        for kind, number in step:
            at += 3
            if kind == "launch":
                launches.append(Work(at, 1, (1, helper)))
            elif kind == "push":
                pushed.append((f"hook {number}", at))
            else:
                ranges.append(Range(*pushed.pop(), at, (1, helper)))
        ranges.append(Range("backward", begin + 5, at + 5, (1, TRAINER)))
        ranges.append(Range("step", begin, at + 8, (1, TRAINER)))
        at += 10
    return capture_of(ranges, launches, {helper: name})


@costly
@given(st.sampled_from(["pt_autograd_0", "python3"]), st.lists(backwards(), min_size=1, max_size=3))
def test_backward_on_its_own_thread_is_placed_as_on_the_calling_one(
    name: str, steps: list[list[tuple[str, int]]]
) -> None:
    captures = [trained(steps, helper, name) for helper in (HELPER, TRAINER)]
    apart, on_one = (placing.place(capture, capture.ranges) for capture in captures)
    assert apart.ranges["parent"].tolist() == on_one.ranges["parent"].tolist()
    assert apart.work["range"].tolist() == on_one.work["range"].tolist()
