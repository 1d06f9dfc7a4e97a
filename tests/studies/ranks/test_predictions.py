"""Predicted times, by numbers that one can add up."""

from dataclasses import replace

import pytest

from tests.studies.ranks.test_collectives import CASE
from workflow_src.studies.ranks.collectives import AllReduceTimes, Call
from workflow_src.studies.ranks.predictions import Baseline

WAYS = ("alone", "naive", "flat", "overlapped", "bucketed", "sharded_optimizer", "fsdp")
FLAT = Baseline(AllReduceTimes((1, 10**9), (1.0, 1.0), 2), step_ms=100.0, optimizer_ms=10.0)
"""Each collective takes 1 ms; the passes take 90 ms, backward 60 of them."""


def test_a_reduction_begins_when_its_gradients_are_there_and_the_one_before_is_over() -> None:
    late = [Call("all_reduce", 5, ready=1.0), Call("all_reduce", 5, ready=1.0)]
    early = [Call("all_reduce", 5, ready=0.1), Call("all_reduce", 5, ready=0.5)]
    sent = [Call("broadcast", 5)] * 3
    assert FLAT.exposed_ms(CASE, "overlapped", early) == 0
    assert FLAT.exposed_ms(CASE, "overlapped", early + late) == 2
    assert FLAT.exposed_ms(CASE, "sharded_optimizer", early + late + sent) == 5


def test_a_way_takes_the_step_alone_what_nothing_hides_and_its_copies() -> None:
    steps = {way: FLAT.predicted_ms(CASE, way) for way in WAYS}
    parameters = 2 * 7 + 3
    assert steps["alone"] == 100
    assert steps["naive"] == 100 + parameters
    # Copies of 16 bytes per parameter, where the optimizer takes 10 ms for 28.
    assert steps["flat"] == pytest.approx(100 + 1 + 10 * 16 / 28)
    # As backward ends come the gradients of the first block's qkv, its norm, and the embedding.
    assert steps["overlapped"] == pytest.approx(100 + 3)
    # Half of the optimizer, and each parameter sent.
    assert steps["sharded_optimizer"] == pytest.approx(100 + 3 + parameters - 5)
    # Two gathers and a scatter that nothing hides.
    assert steps["fsdp"] == pytest.approx(100 + 3 + 10 * (2 * (4 + 8) + 8) / 28 - 5)


def test_fsdp_waits_for_gathers_longer_than_what_a_block_computes() -> None:
    slow = replace(FLAT, all_reduce=AllReduceTimes((1, 10**9), (20.0, 20.0), 2))
    # Per block: 15 ms of forward against one gather, 30 ms of backward against two collectives.
    assert slow.exposed_ms(CASE, "fsdp", []) == 3 * 20 + 2 * (5 + 10)
