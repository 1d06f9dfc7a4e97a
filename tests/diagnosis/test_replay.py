"""Steps made by hand are replayed as one works them out on paper."""

from collections.abc import Sequence

import numpy as np
import pytest

from tests.diagnosis.models import Call, Model
from workflow_src.common.errors import TraceError
from workflow_src.diagnosis.plain import plain
from workflow_src.diagnosis.recording import (
    SHORT_NS,
    Change,
    Edit,
    ScaleHost,
    graphed,
    merged,
)
from workflow_src.diagnosis.replay import bounds, replay

KERNEL = [(0, 50)]


def rows(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


def times(model: Model, *changes: Change) -> list[int]:
    return [int(ns) for ns in replay(model.recording(), changes).times_ns]


EXACT = {
    "a host without a device takes its gaps and its calls": (Model([[Call(10, 5)] * 3]), [45]),
    "an empty device starts each kernel a latency after its launch": (
        # Launched at 15, 45 and 75, each of 10: the last one ends at 75 + 3 + 10.
        Model([[Call(10, 5, [(0, 10)]), *[Call(25, 5, [(0, 10)])] * 2]], latency=3),
        [88],
    ),
    "a full device takes its kernels and the gaps between them": (
        # The first starts at 15 + 3; then 2 between the end of one and the start of the next.
        Model([[Call(10, 5, KERNEL)] * 3], latency=3, between=2),
        [18 + 50 + 2 + 50 + 2 + 50],
    ),
    "steps on a full device take the device's time though the host runs ahead": (
        Model([[Call(10, 5, KERNEL)] * 2] * 3),
        [115, 100, 100],
    ),
    "a copy that blocks returns when it has ended": (
        # A kernel until 65, then the copy until 85, where the host goes on for 15.
        Model([[Call(10, 5, KERNEL), Call(0, 5, [(0, 20)], waits=[1], kind="copy"), Call(10, 5)]]),
        [100],
    ),
    "a synchronization returns when what it waits for has ended, in other lanes not": (
        Model([[Call(10, 5, KERNEL), Call(0, 5, [(1, 500)]), Call(0, 5, waits=[0]), Call(95, 5)]]),
        [520],
    ),
    "a synchronization of an idle device takes its own time": (
        Model([[Call(10, 5, [(0, 1)]), Call(20, 5, waits=[0])]]),
        [40],
    ),
    "lanes run at the same time": (
        Model([[Call(10, 5, KERNEL), Call(0, 5, [(1, 60)])]]),
        [80],
    ),
    "an activity tied to one of another lane starts after it": (
        # The second lane's 60 start when the first one's 50 have ended, at 65.
        Model([[Call(10, 5, KERNEL), Call(0, 5, [(1, 60)])]], ties=[(1, 0)]),
        [125],
    ),
    "a graph is one launch, whatever it runs": (
        Model([[Call(10, 5, [(0, 50), (1, 30), (0, 50)]), Call(10, 5)]], between=1),
        [15 + 50 + 1 + 50],
    ),
    "what was launched before the first step keeps the device and isn't the step's": (
        # It ends at 40; the kernel of 50 then runs to 90.
        Model([[Call(10, 5, KERNEL)]], backlog=[(0, 40)]),
        [50],
    ),
    "a thread beside the loop launches without taking the loop's time": (
        # Its launch comes 2 after the start of the loop's, returns at 10 + 2 + 30 and runs to 92.
        Model([[Call(10, 5), Call(2, 30, [(1, 50)], beside=True), Call(10, 5)]]),
        [92],
    ),
}


TWO = Model([[Call(10, 5, KERNEL), Call(40, 5, waits=[0], kind="synchronize"), Call(30, 5)]])
"""Takes 100: the kernel to 65, and the host from there, since it waits from 60 on."""

FOUR = Model([[Call(10, 6, [(0, 4)])] * 4])
"""Takes 68, of which the last kernel's 4 come after the host's 64."""

TWICE = Model([[Call(10, 6, [(0, 4)])] * 4] * 2)

CHANGES: dict[str, tuple[Model, Sequence[Change], list[int]]] = {
    "a gap dropped where something else takes as long saves nothing": (
        TWO, [Edit(rows(1), gap=38)], [100],
    ),
    "a gap dropped before the host": (TWO, [Edit(rows(2), gap=0)], [70]),
    "a gap kept in part": (TWO, [Edit(rows(2), gap=10)], [80]),
    "a synchronization dropped": (TWO, [Edit(rows(1), cost=0)], [90]),
    "a call made asynchronous takes its own time": (TWO, [Edit(rows(1), cost=SHORT_NS)], [95]),
    "a call dropped with its work": (TWO, [Edit(rows(0), cost=0, drops=True)], [90]),
    "work at half its time": (TWO, [Edit(work=rows(0), factor=0.5)], [95]),
    "work dropped": (TWO, [Edit(work=rows(0), factor=0)], [95]),
    "launches joined into a graph": (
        FOUR, graphed(FOUR.recording().calls, rows(0, 1, 2, 3)), [10 + 6 + 4 * 4],
    ),
    "launches merged into one kernel": (
        FOUR, merged(FOUR.recording(), rows(1, 2, 3), rows(0, 0, 0), rows(7)), [32 + 7],
    ),
    "a host of half the time": (FOUR, [ScaleHost(0.5, 1000)], [36]),
    "a host whose long gaps lose no more than others": (TWO, [ScaleHost(0, 10)], [50 + 20]),
    # Its kernels take 16 from the return of its only launch, at 16 and at 32.
    "each step gets a graph of its own": (
        TWICE, graphed(TWICE.recording().calls, rows(*range(8))), [32, 16],
    ),
    "two changes add up": (TWO, [Edit(rows(1), cost=0), Edit(rows(2), gap=0)], [65]),
}  # fmt: skip


@pytest.mark.parametrize("name", [*EXACT, *CHANGES])
def test_a_step_made_by_hand_takes(name: str) -> None:
    model, changes, expected = CHANGES.get(name) or (EXACT[name][0], (), EXACT[name][1])
    assert times(model, *changes) == expected


def test_a_plain_step_is_one_whose_host_takes_the_share_that_gives_its_time() -> None:
    # Of 4 times 16 of the host and 4 of the last kernel, half of the host's stays.
    recording = Model([[Call(10_000, 6_000, [(0, 4_000)])] * 4]).recording()
    found = plain(recording, 36_000)
    assert found.factor == pytest.approx(0.5, abs=0.01)
    assert replay(recording, [found]).step_ns == pytest.approx(36_000, rel=0.003)
    assert plain(recording, 80_000).factor == 1
    with pytest.raises(TraceError, match="what was recorded takes"):
        plain(recording, 3_000)


def test_a_host_that_the_device_hides_is_as_fast_without_its_profiler_as_others_are() -> None:
    # Four kernels of 100 us each hide a host of 16 us for each, which no plain time tells.
    hidden = Model([[Call(10_000, 6_000, [(0, 100_000)])] * 4]).recording()
    takes = replay(hidden).step_ns
    assert plain(hidden, takes).factor == 1
    assert plain(hidden, takes, most=0.65).factor == 0.65
    # Where the host is seen, its time does.
    seen = Model([[Call(10_000, 6_000, [(0, 4_000)])] * 4]).recording()
    assert plain(seen, 60_000, most=0.65).factor == pytest.approx(56 / 64, abs=0.01)


def test_each_run_of_calls_gets_a_graph_of_its_own() -> None:
    # The third call is left out; the fourth and the fifth are of different steps.
    recording = TWICE.recording()
    some = graphed(recording.calls, rows(0, 1, 3, 4, 5))
    assert replay(recording, some).call_end_ns.tolist() == [16, 16, 32, 48, 64, 64, 80, 96]


def test_a_step_is_bounded_by_what_host_and_device_take_alone() -> None:
    # The host: 10 + 5, 40 + 5, 30 + 5, its wait for nothing. The device: its kernel of 50.
    found = bounds(TWO.recording())
    assert (found.host_ns, found.device_ns) == (95, 50)
    # Nor does a device without time do what was launched before the first step.
    lagging = Model([[Call(10, 5, [(0, 50)])]] * 2, backlog=[(0, 40)])
    assert bounds(lagging.recording()).host_ns == 15
