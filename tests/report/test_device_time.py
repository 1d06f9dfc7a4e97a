"""Device time in flame charts: nothing is lost, and gradients have a place."""

import pandas as pd

from workflow_src.answers.tables import Tables
from workflow_src.report.device_time import device_time

STEPS = 2
CASE = {"case": "c", "precision": "fp32", "phase": "train_step", "steps": STEPS}

KERNELS = [
    ("train_step/forward/block/feed_forward", "gemm", 3_000_000),
    ("train_step/forward/block/feed_forward", "elementwise", 1_000_000),
    ("train_step/backward", "gemm", 6_000_000),
    ("train_step/backward", "elementwise", 2_000_000),
    ("train_step/optimizer", "elementwise", 4_000_000),
]
"""Path, family, ns in both steps together."""

OPERATORS = [
    ("train_step/forward/block/feed_forward", "gemm", "", 1.5),
    ("train_step/forward/block/feed_forward", "gemm", "aten::mm", 3.0),
    ("train_step/forward/block/feed_forward", "elementwise", "aten::silu", 0.6),
    ("train_step/optimizer", "elementwise", "", 2.0),
]
"""Path, family, forward operator, ms per step. 0.4 ms of backward have no operator."""


def tables(*operators: tuple[str, str, str, float]) -> Tables:
    kernels = pd.DataFrame(KERNELS, columns=["path", "family", "busy_ns"])
    names = ["path", "family", "forward_operator", "busy_ms_per_step"]
    frames = {"kernels": kernels, "operators": pd.DataFrame(list(operators), columns=names)}
    return Tables({name: table.assign(**CASE) for name, table in frames.items()})


def test_backward_is_placed_by_the_forward_range_whose_gradient_it_computes() -> None:
    found = device_time(tables(*OPERATORS), "c", "train_step")
    inside = "train_step/backward/block/feed_forward"
    assert found[inside, "gemm"] == 6_000_000
    assert ("train_step/backward", "gemm") not in found, "all of it is known"
    assert found[inside, "elementwise"] == 1_200_000
    assert found["train_step/backward", "elementwise"] == 800_000, "what isn't, stays"
    assert sum(found.values()) == sum(ns for *_, ns in KERNELS)


def test_without_operators_time_is_by_the_range_that_launched_it() -> None:
    assert device_time(tables(), "c", "train_step") == {
        (path, family): ns for path, family, ns in KERNELS
    }


def test_a_phase_that_was_not_captured_has_no_time() -> None:
    assert device_time(tables(*OPERATORS), "c", "forward") == {}
