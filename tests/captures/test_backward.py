"""Backward by module: what made a node, in traces made by hand and a recorded export."""

from pathlib import Path
from typing import Any

import pytest

from tests.captures.building import (
    Range,
    Work,
    capture_of,
    event,
    launched,
    thread_name,
    trace_file,
)
from workflow_src.captures.autograd import AROUND
from workflow_src.captures.reading import read
from workflow_src.placing.attributed import Attributed, attributed
from workflow_src.tables.capture_tables import placed_tables

AUTOGRADS = 9
"""The thread that runs nodes; Kineto calls it 2, and the main one 1."""

RANGES = [
    thread_name(AUTOGRADS, "pt_autograd_0"),
    *(event("user_annotation", name, start, length)
    for name, start, length in (
        ("step", 0, 100), ("forward", 1, 29), ("a", 2, 8), ("b", 12, 8), ("backward", 31, 60),
    ))
]  # fmt: skip
IN_A, IN_B, IN_FORWARD, IN_STEP = 3, 13, 25, 30


def operator(start: float, number: int, tid: int = 1) -> Any:
    """An operator of forward, which makes the node of its number if it begins last."""
    numbers = {"Sequence number": number, "Fwd thread id": 0}
    return event("cpu_op", "aten::mm", start, 2, tid=tid, args=numbers)


def node(start: float, number: int, forward: int = 1, length: float = 8) -> list[Any]:
    """A node, and what autograd does around it."""
    numbers = {"Sequence number": number, "Fwd thread id": forward}
    around = event("cpu_op", f"{AROUND}MmBackward0", start, length, tid=AUTOGRADS)
    inner = event("cpu_op", "MmBackward0", start + 1, length - 2, tid=AUTOGRADS, args=numbers)
    return [around, inner]


def kernel(at: float, us: int, tid: int = AUTOGRADS) -> list[Any]:
    """A kernel; its length is its number."""
    return launched(us, at, us, tid=tid)


ACCUMULATES = event("cpu_op", f"{AROUND}torch::autograd::AccumulateGrad", 50, 5, tid=AUTOGRADS)
AGAIN = [
    event("user_annotation", name, start, length, tid=AUTOGRADS)
    for name, start, length in (("a", 42, 3), ("z", 45, 3))
]
CASES = {
    "in the node, around it, and outside of it": (
        [operator(IN_A, 5), *node(40, 5), *kernel(43, 1), *kernel(47.5, 2), *kernel(49, 4)],
        {"step/forward/a": 3}, 3,
    ),
    "of several operators with its number the last begun": (
        [operator(IN_A, 5), operator(IN_B, 5), *node(40, 5), *kernel(43, 1)],
        {"step/forward/b": 1}, 1,
    ),
    "what accumulates is of the node before": (
        [operator(IN_A, 5), operator(IN_B, 6), *node(32, 6), *node(40, 5), ACCUMULATES,
         *kernel(52, 1)],
        {"step/forward/a": 1}, 1,
    ),
    "nothing can be accumulated before the first node": (
        [operator(IN_A, 5), *node(60, 5), ACCUMULATES, *kernel(52, 1), *kernel(62, 2)],
        {"step/forward/a": 2}, 3,
    ),
    "the maker isn't in the capture": ([operator(IN_A, 6), *node(40, 5), *kernel(43, 1)], {}, 1),
    "it is later": ([operator(60, 5), *node(40, 5), *kernel(43, 1)], {}, 1),
    "the step itself made it": ([operator(IN_STEP, 5), *node(40, 5), *kernel(43, 1)], {}, 1),
    "a node that was made in backward is of its maker's maker": (
        [operator(IN_A, 5), *node(40, 5), operator(43, 0, AUTOGRADS), *node(60, 0, forward=2),
         *kernel(62, 1)],
        {"step/forward/a": 1}, 1,
    ),
    "forward runs again: its work isn't backward, its nodes are of the first run": (
        [operator(IN_FORWARD, 5), *node(40, 5, length=16), *AGAIN, operator(42.5, 0, AUTOGRADS),
         *kernel(43, 1), *kernel(49, 4), *node(60, 0, forward=2), *kernel(62, 2)],
        {"step/forward/a": 2, "step/forward": 4}, 6,
    ),
    "what runs again alone stands for itself": (
        [operator(IN_FORWARD, 5), *node(40, 5, length=16), *AGAIN, operator(45.5, 0, AUTOGRADS),
         *node(60, 0, forward=2), *kernel(62, 2)],
        {"step/backward/z": 2}, 2,
    ),
    "threads number by themselves": (
        [operator(IN_A, 5), operator(IN_A + 3, 6), operator(IN_B, 5, tid=3),
         *node(40, 5), *node(50, 6), *kernel(43, 1)],
        {"step/forward/a": 1}, 1,
    ),
    "a circle": (
        [*node(40, 5, forward=2), operator(40.5, 5, AUTOGRADS), *kernel(43, 1)], {}, 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_backward_is_of_the_range_whose_forward_made_its_node(tmp_path: Path, name: str) -> None:
    events, expected, backward_us = CASES[name]
    found = attributed(read(trace_file(tmp_path, [*RANGES, *events])), None)
    made = {path: int(rows.sum() / 1_000) for path, rows in made_in(found)}
    assert made == expected
    every = placed_tables(found)["summary"].iloc[-1]
    assert every["backward_ns"] == backward_us * 1_000
    is_conserved(found)


def made_in(found: Attributed) -> Any:
    """Of each path that made some of backward the device times (ns) of that."""
    work = found.work[found.work["made_in"] >= 0]
    return work["duration_ns"].groupby(found.paths.text[work["made_in"]])


def is_conserved(found: Attributed) -> None:
    """What outermost paths made of backward is what summary has, of each process."""
    tables = placed_tables(found)
    paths, summary = tables["paths"], tables["summary"].iloc[:-1]
    outer = paths[~paths["path"].str.contains(r"(?<!\\)/")]
    sums = (outer["backward_ms"] * 1e6).round().groupby(outer["process"]).sum()
    sums = sums.reindex(summary["process"].astype(int), fill_value=0)
    assert sums.tolist() == summary["backward_placed_ns"].tolist()
    assert (summary["backward_placed_ns"] <= summary["backward_ns"]).all()
    assert (summary["backward_ns"] <= summary["total_ns"]).all()


def test_ranges_of_gradients_are_of_forwards_and_their_step_is_none() -> None:
    main, autograds = (1, 1), (1, 2)
    names = {1: "main", 2: "pt_autograd_0"}
    ranges = [Range("step", at, at + 100, main) for at in (0, 100, 200)]
    ranges += [
        Range(name, 300 + start, 300 + end, thread)
        for name, start, end, thread in (
            ("step by module", 0, 100, main), ("forward", 0, 20, main), ("h.0", 5, 15, main),
            ("backward", 20, 90, main), ("gradients", 30, 80, autograds),
            ("h.0", 40, 50, autograds), ("unknown", 60, 70, autograds),
        )
    ]  # fmt: skip
    launches = {306: main, 322: main, 335: autograds, 345: autograds, 365: autograds}
    launches |= dict.fromkeys((50, 150, 250), main)
    work = [Work(at, at, thread) for at, thread in launches.items()]
    found = attributed(capture_of(ranges, work, names), None, fold="")
    step = "step by module/forward"
    assert made_in(found).sum().to_dict() == {step: 335, f"{step}/h.0": 345}
    every = placed_tables(found)["summary"].iloc[-1]
    assert every[["backward_ns", "steps"]].tolist() == [322 + 335 + 345 + 365, 3]
    is_conserved(found)
