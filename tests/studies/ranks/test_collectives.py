"""What collectives move, and how long that takes by the times of all-reduces alone."""

import pytest

from workflow_src.common.case import Case
from workflow_src.model.flops import parameter_count
from workflow_src.model.transformer import build_model
from workflow_src.studies.ranks.collectives import (
    AllReduceTimes,
    Call,
    buckets,
    bus_factor,
    calls_of,
    fsdp_calls,
    gradient_calls,
    parameter_sizes,
)

CASE = Case(
    case="c", size="s", d_model=8, d_ff=32, layers=2, heads=2, vocabulary=50, batch=2, context=4,
    precision="fp32", attention="naive", optimizer="fused", device="cpu",
)  # fmt: skip
MIB = 2**20


def test_times_are_read_off_all_reduces_that_move_as_much() -> None:
    curve = AllReduceTimes((100, 200, 400), (10.0, 12.0, 20.0), ranks=2)
    times = {size: curve.ms(Call("all_reduce", size)) for size in (1, 150, 300, 800)}
    assert times == {1: 10.0, 150: 11.0, 300: 16.0, 800: 40.0}
    assert curve.ms(Call("all_gather", 600)) == 16.0
    assert curve.ms(Call("broadcast", 300)) == 16.0


def test_parameters_are_those_of_the_model_in_its_order() -> None:
    assert parameter_sizes(CASE) == [each.numel() for each in build_model(CASE).parameters()]
    assert sum(parameter_sizes(CASE)) == parameter_count(CASE)


def test_gradients_come_from_the_last_parameter_to_the_first() -> None:
    calls = gradient_calls(CASE)
    assert [call.bytes for call in calls] == [4 * size for size in reversed(parameter_sizes(CASE))]
    # The head's product is 400 of 400 + 2 x 1,024 multiplications a token.
    assert calls[0].ready == pytest.approx(400 / 2448)
    assert calls[1].ready == calls[0].ready, "a norm has no product"
    assert calls[-1].ready == calls[-2].ready == 1.0


def test_a_bucket_is_closed_once_it_has_its_size() -> None:
    sizes = [0.5, 0.5, 20, 4, 10, 30, 3]
    calls = [Call("all_reduce", int(size * MIB), place) for place, size in enumerate(sizes)]
    found = [(call.bytes / MIB, call.ready) for call in buckets(calls)]
    assert found == [(1, 1), (34, 4), (30, 5), (3, 6)]


def test_every_way_moves_all_gradients_and_fsdp_half_as_much_again() -> None:
    def moved(way: str) -> float:
        return sum(bus_factor(call.collective, 4) * call.bytes for call in calls_of(CASE, way))

    whole = 1.5 * 4 * parameter_count(CASE)
    assert [moved(way) for way in ("alone", "naive", "flat", "overlapped", "bucketed")] == [
        0, *[whole] * 4,
    ]  # fmt: skip
    assert moved("sharded_optimizer") == whole + 4 * parameter_count(CASE)
    blocks = 4 * (parameter_count(CASE) - 2 * 400 - 8)
    # What is outside of the blocks is gathered once.
    assert moved("fsdp") == 1.5 * whole - 0.75 * (4 * parameter_count(CASE) - blocks)
    assert [call.collective for call in fsdp_calls(CASE)].count("all_gather") == 5
