"""Recorded captures of which it is known what each thread does, and what is right."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from workflow_src.captures.capture import Capture
from workflow_src.captures.domains import choose
from workflow_src.captures.reading import read
from workflow_src.common.nesting import NOWHERE
from workflow_src.placing.placing import Placed, place

DATA = Path(__file__).parents[1] / "data" / "captures" / "threads"
PARTS = ("forward", "loss", "backward", "optimizer")

ACTIVITIES = {
    "backward_inside.sqlite.gz": (60, 6, 174, 3),
    "checkpoint.json.gz": (60, 6, 147, 3),
    "checkpoint_reentrant.sqlite.gz": (60, 6, 174, 3),
    "ddp_hooks.sqlite.gz": (120, 12, 540, 6),
    "emit_nvtx.sqlite.gz": (60, 6, 120, 3),
    "fsdp1.sqlite.gz": (144, 12, 330, 6),
    "fsdp2.rank0.json.gz": (684, 12, 1293, 120),
    "loader_thread.sqlite.gz": (60, 6, 120, 3),
    "not_first_thread.sqlite.gz": (60, 6, 120, 3),
}
"""How many activities each part of the steps launches: as many as where autograd runs on the
calling thread, but for fsdp2, for which plain loops counted those launched while it was open."""


def ancestors(placed: Placed) -> list[frozenset[int]]:
    """Each range's own row and those of all that it lies in; the last, of no range, has none."""
    parent = [*placed.ranges["parent"].tolist(), NOWHERE]
    found = dict[int, frozenset[int]]({NOWHERE: frozenset()})

    def of(row: int) -> frozenset[int]:
        if row not in found:
            found[row] = of(parent[row]) | {row}
        return found[row]

    return [*map(of, range(len(parent) - 1)), frozenset()]


def placed_by(capture: Capture) -> Placed:
    return place(capture, choose(capture.ranges, None)[0])


@pytest.fixture(scope="module", params=ACTIVITIES)
def recorded(request: pytest.FixtureRequest) -> tuple[str, Capture, Placed]:
    capture = read(DATA / request.param)
    return request.param, capture, placed_by(capture)


def test_each_part_of_a_step_has_what_it_launched(recorded: tuple[str, Capture, Placed]) -> None:
    name, _, placed = recorded
    above, names = ancestors(placed), placed.ranges["name"].tolist()
    sums = Counter(names[row] for each in placed.work["range"] for row in above[each])
    assert tuple(sums[part] for part in PARTS) == ACTIVITIES[name]


def test_what_is_launched_while_ranges_of_the_trainer_are_open_lies_in_them(
    recorded: tuple[str, Capture, Placed],
) -> None:
    """By plain loops, but for a loader's launches."""
    _, _, placed = recorded
    above, ranges = ancestors(placed), placed.ranges
    steps = ranges[ranges["name"] == "step"]
    for process, trainer in steps[["process", "thread"]].drop_duplicates().to_numpy().tolist():
        own = ranges[(ranges["process"] == process) & (ranges["thread"] == trainer)]
        start, end = own["start_ns"].to_numpy(), own["end_ns"].to_numpy()
        work = placed.work[placed.work["process"] == process]
        loads = ranges.index[ranges["name"] == "load"]
        launches = work.loc[~work["range"].isin(loads), ["launch_ns", "range"]]
        for moment, row in launches.to_numpy().tolist():
            held = own.index[(start <= moment) & (moment < end)]
            assert set(held) <= above[row]


def test_turns_alone_place_the_same_as_names(recorded: tuple[str, Capture, Placed]) -> None:
    """Without names of threads, with calls that take turns alone."""
    _, capture, placed = recorded
    found = placed_by(replace(capture, thread_names=capture.thread_names[:0]))
    assert np.array_equal(found.work["range"], placed.work["range"])
    pd.testing.assert_series_equal(found.ranges["parent"], placed.ranges["parent"])


def test_a_loader_has_a_tree_of_its_own_on_whichever_thread_it_is() -> None:
    for name, first in (("loader_thread.sqlite.gz", True), ("not_first_thread.sqlite.gz", False)):
        placed = placed_by(read(DATA / name))
        loads = placed.ranges.index[placed.ranges["name"] == "load"]
        assert int(placed.work["range"].isin(loads).sum()) == 12
        assert (placed.ranges.loc[loads, "parent"] == NOWHERE).all()
        ((process, main),) = placed.main_threads.items()
        assert (process == main) is first
