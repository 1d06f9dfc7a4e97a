"""Steps that never wait are replayed as the general replay does, to the nanosecond."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.diagnosis.models import Call, Model
from workflow_src.diagnosis.edit import Edit
from workflow_src.diagnosis.replay import _run, changed
from workflow_src.diagnosis.single_lane import is_single_lane, single_lane

TIMES = st.integers(0, 60)
LAUNCHES = st.lists(st.tuples(TIMES, TIMES, st.none() | TIMES), min_size=1, max_size=12)


@given(
    steps=st.lists(LAUNCHES, min_size=1, max_size=3),
    queue=st.integers(1, 5),
    latency=st.integers(-5, 20),
    between=st.integers(0, 9),
    dropped=st.sets(st.integers(0, 35)),
)
def test_it_is_the_general_replay(
    steps: list[list[tuple[int, int, int | None]]],
    queue: int,
    latency: int,
    between: int,
    dropped: set[int],
) -> None:
    made = [
        [Call(gap, cost, [] if ns is None else [(0, ns)]) for gap, cost, ns in step]
        for step in steps
    ]
    recording = Model(made, queue=queue, latency=latency, between=between).recording()
    rows = np.array([row for row in dropped if row < len(recording.work)], dtype=np.int64)
    calls = np.arange(len(recording.calls))
    plan = changed(recording, [Edit(calls, rows, gap_factor=1.5, factor=0)])
    if not is_single_lane(plan):
        assert not len(recording.work)
        return
    general, quick = _run(plan), single_lane(plan)
    for name in ("call_start_ns", "call_end_ns", "work_start_ns", "work_end_ns"):
        assert getattr(general, name).tolist() == getattr(quick, name).tolist(), name
