"""The wall time of a step and its interval, from its work."""

import math
from dataclasses import replace

import pytest

from tests.studies.levers.work import PARTS, known
from workflow_src.studies.levers.effects import State, double, graph
from workflow_src.studies.levers.parts import Part
from workflow_src.studies.levers.wall_time import PASSES, time_of


def test_the_gaps_of_a_graph_are_between_all_its_kernels() -> None:
    """Of 100 + 200 kernels, and 300 of the optimizer that count as 30 launches."""
    parts = PARTS | {"optimizer": Part(30.0, 0.0, 30)}
    given = replace(known(parts=parts), optimizer_price=0.1)
    plain = State(given.parts, "fp32")
    whole = time_of(given, plain, graph(given, replace(plain, optimizer="fused")), "train_step")
    assert whole.ms == pytest.approx(60 + 600 * 1e-3)
    outside = time_of(given, plain, graph(given, plain), "train_step")
    assert outside.ms == pytest.approx(60 + 300 * 1e-3), "AdamW written out isn't in the graph"
    short = replace(given, gap_us=0.5)
    assert time_of(short, plain, graph(given, plain), "forward").ms == pytest.approx(10 + 0.05)


def test_a_step_takes_the_longer_of_device_work_and_launching() -> None:
    """600 launches of 200 us take 120 ms; the step's 130 ms have 10 beyond that."""
    given = known(us_per_call=200.0, walls={"forward": 25.0, "forward_backward": 65.0,
                                            "train_step": 130.0})  # fmt: skip
    plain = State(given.parts, "fp32")
    assert time_of(given, plain, plain, "train_step").ms == pytest.approx(130)
    replayed = time_of(given, plain, graph(given, plain), "forward_backward")
    assert replayed.launch_ms == 0 and replayed.ms == pytest.approx(30 + 300 * 1e-3)
    whole = time_of(given, plain, graph(given, plain), "train_step")
    assert whole.launch_ms == pytest.approx(300 * 0.2)


@pytest.mark.parametrize("us", [0.0, 50.0, 200.0])
def test_nothing_changed_is_as_uncertain_as_the_processes_and_no_more(us: float) -> None:
    """The plain wall time is measured: errors of work and launching cancel."""
    parts = {name: replace(part, sd=part.ms / 2) for name, part in PARTS.items()}
    walls = {"forward": 12.0, "forward_backward": 40.0, "train_step": 80.0}
    given = known(parts=parts, walls=walls, us_per_call=us, between=dict.fromkeys(PASSES, 0.03),
                  luck=dict.fromkeys(PASSES, 0.04))  # fmt: skip
    plain = State(given.parts, "fp32")
    for phase, wall in walls.items():
        found = time_of(given, plain, plain, phase)
        apart = math.hypot(0.03, 0.04) * wall
        assert found[:3] == pytest.approx((wall, wall - apart, wall + apart))


def test_only_what_a_remedy_changes_makes_an_interval_wide() -> None:
    """Of 600 launches 100 go: the price of these is unsure by 25 %, not that of all."""
    parts = {name: Part(part.ms / 10, part.ms / 20, part.calls) for name, part in PARTS.items()}
    given = known(parts=parts, us_per_call=200.0, walls=dict.fromkeys(PASSES, 130.0))
    plain = State(given.parts, "fp32")
    found = time_of(given, plain, plain.changed({"optimizer": Part(3.0, 0.0, 200)}), "train_step")
    gone, beyond = 100 * 0.2, 10 * 100 / 600
    apart = 1.96 * math.hypot(gone / 4, beyond / 2)
    assert found[:3] == pytest.approx((130 - gone, 130 - gone - apart, 130 - gone + apart))


def test_where_the_device_becomes_the_longer_term_errors_do_not_cancel() -> None:
    """Launching took 120 of 130 ms; without it, what is left depends on how much of them it was."""
    parts = {name: replace(part, sd=part.ms / 50) for name, part in PARTS.items()}
    given = known(parts=parts, us_per_call=200.0, walls=dict.fromkeys(PASSES, 130.0))
    plain = State(given.parts, "fp32")
    few = {name: replace(part, calls=part.calls / 100) for name, part in parts.items()}
    found = time_of(given, plain, plain.changed(few), "train_step")
    assert found.ms == pytest.approx(60 + 10)
    assert found.high - found.ms > 1.96 * 120 / 4 and found.low >= 60 - 1.96 * 1.2


@pytest.mark.parametrize("us", [0.0, 50.0, 200.0, 5000.0])
def test_no_step_is_expected_to_take_less_than_the_device_works(us: float) -> None:
    """However long a launch took where it was measured apart: all fit into the plain phase."""
    given = known(
        us_per_call=us, between=dict.fromkeys(PASSES, 0.2), luck=dict.fromkeys(PASSES, 0.2)
    )
    plain = State(given.parts, "fp32")
    works = (Part(5.0, 1.0, 3), Part(29.0, 0.5, 300), Part(40.0, 9.0, 1), Part(30.0, 0.0, 900))
    for work in works:
        state = plain.changed({"optimizer": work, "forward products": work})
        for tried in (state, graph(given, state), replace(state, batches=2)):
            for phase in PASSES:
                found = time_of(given, plain, tried, phase)
                assert found.ms >= found.device_ms - 1e-9
                assert 0 <= found.low <= found.ms <= found.high
    assert time_of(given, plain, plain, "train_step").launch_ms <= 60.0 + 1e-9


def test_a_larger_batch_shares_the_optimizer_and_the_launches() -> None:
    given = known()
    plain = State(given.parts, "fp32")
    found = time_of(given, plain, double(given, plain), "train_step")
    assert found.ms == pytest.approx((60 + 30) / 2)
