"""The energy of steps on a CUDA device: run with `python -m pytest -m gpu`."""

from functools import partial

import pytest
import torch

from tests.on_gpu import ON_GPU
from workflow_src.common.case import PHASES, Case
from workflow_src.measure.benchmark import measure_all
from workflow_src.measure.energy import counter_mj, repeat
from workflow_src.measure.gpu_state import Reading, add_readings, watched
from workflow_src.measure.rows import Row
from workflow_src.tables.measured import timings

pytestmark = ON_GPU

SMALL = Case("t", "t", 768, 3072, 12, 12, 10000, 4, 512, "bf16", "naive", "adamw", "cuda")
WITHIN = 0.15
"""Sampled power lags: over 4 s of products, begun on an idle H200, it said 11 % less."""


def products(seconds: float) -> Row:
    """The energy of bf16 products, and the power read meanwhile."""
    a, b = torch.randn(2, 8192, 8192, device="cuda", dtype=torch.bfloat16)
    readings: list[Reading] = []
    with watched("cuda", readings):
        row = repeat(partial(torch.mm, a, b), "cuda", seconds)
    add_readings([row], readings)
    return row


def test_the_counter_agrees_with_sampled_power_and_rises_with_time() -> None:
    if counter_mj() is None:
        pytest.skip("this device has no energy counter")
    taken = []
    for seconds in (3, 6):
        row = products(seconds)
        before, after = row["counter_mj"]
        joules = (after - before) / 1e3
        watts = joules / (row["ns"] / 1e9)
        powers = [power for _, power, _ in row["readings"] if power is not None]
        sampled = sum(powers) / len(powers)
        print(f"{row['ns'] / 1e9:.2f} s: {watts:.0f} W by the counter, {sampled:.0f} W sampled")
        assert watts == pytest.approx(sampled, rel=WITHIN)
        taken.append(joules)
    assert taken[1] / taken[0] == pytest.approx(2, abs=0.2)


def test_each_phase_of_a_case_has_joules_that_rise_with_its_time() -> None:
    _, rows = measure_all(SMALL, 2, 5, [], 3)
    table = timings({"phases": rows}).set_index("phase").loc[[*PHASES]]
    print(table[["median_ms", "joules_per_step", "watts", "power_w", "energy_by"]])
    assert table["joules_per_step"].is_monotonic_increasing
    off = table["joules_most"] - table["joules_per_step"]
    if (table["energy_by"] == "counter").all():
        assert (off < 0.04 * table["joules_per_step"]).all()
    assert (table["joules_least"] < table["joules_per_step"]).all()
