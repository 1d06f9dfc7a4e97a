"""Ceilings on a GPU, against what its maker states."""

from functools import partial
from statistics import median
from typing import Any

import torch

from tests.on_gpu import ON_GPU
from workflow_src.common.ceilings import SIZES, rate_of
from workflow_src.measure.ceilings import bandwidths
from workflow_src.measure.cuda_graph import graphed
from workflow_src.measure.timing import in_rotation, l2_bytes, time_call

pytestmark = ON_GPU

DATASHEET_GB_PER_S = {"NVIDIA H100 80GB HBM3": 3350.0, "NVIDIA H200": 4800.0}
"""Memory bandwidth by the driver's name of the GPU, from NVIDIA's datasheets; others pass."""

MIB = 2**20


def best(rows: list[dict[str, Any]]) -> float:
    ran = [row for row in rows if row["status"] == "ok"]
    return max(rate_of(row, min(row["samples_ns"])) for row in ran)


def test_bandwidth_is_near_the_datasheets_and_not_above_it() -> None:
    rows = bandwidths("cuda", SIZES["cuda"])
    if stated := DATASHEET_GB_PER_S.get(torch.cuda.get_device_name(0)):
        assert 0.6 * stated <= best(rows) <= 1.02 * stated
    assert all(row["bytes"] > 4 * l2_bytes("cuda") for row in rows)
    for row in rows:
        groups = -(-len(row["samples_ns"]) // row["samples_per_group"])
        assert len(row["sm_clock_mhz"]) == groups and "power_w" not in row


def test_a_rotation_beyond_the_l2_cache_is_slower_than_one_set() -> None:
    """16 MiB copied again and again lies in the cache; in rotation it comes from memory."""
    nbytes = 16 * MIB

    def copies(sets: int) -> float:
        pairs = [torch.zeros(2, nbytes // 4, device="cuda").unbind() for _ in range(sets)]
        call = in_rotation([partial(target.copy_, source) for source, target in pairs])

        def several() -> None:
            for _ in range(20):
                call()

        # Launched one by one, copies of 10 us can wait for the host on both sides alike.
        return median(time_call(graphed(several), "cuda", 3, 20))

    assert copies(2 * l2_bytes("cuda") // nbytes) > 1.1 * copies(1)
