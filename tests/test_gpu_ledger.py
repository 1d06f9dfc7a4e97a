"""The ledger on a CUDA device, with injected faults: run with `python -m pytest -m gpu`."""

import json
from pathlib import Path

import pytest

from tests.faulty_run import STEPS
from tests.on_gpu import ON_GPU, needs_nsys, under_nsys
from tests.test_ledger import ledger_of
from workflow_src.captures.capture import PAGEABLE_COPY
from workflow_src.common.case import Case
from workflow_src.placing.case_capture import CaseCapture, read_case

pytestmark = ON_GPU

GPU_BOUND = Case("t", "t", 2048, 8192, 4, 16, 1000, 8, 1024, "fp32", "naive", "adamw", "cuda")
"""Each layer takes the device several times as long as the host takes to launch it."""


def gaps_of_faults(trace: CaseCapture, with_copy: bool) -> int:
    """Idle time (ns) from the work before each fault to the first work launched after it.

    with_copy: also the gap before a copy that the fault itself makes. Counted one by one, from the
    activities and the ranges alone.
    """
    work = trace.work.sort_values("start_ns", ignore_index=True)
    idle = work["start_ns"] - work["end_ns"].cummax().shift(fill_value=0)
    total = 0
    for fault in trace.ranges[trace.ranges["name"] == "fault"].itertuples():
        own = (work["launch_ns"] >= fault.start_ns) & (work["launch_ns"] < fault.end_ns)
        after = work.index[work["launch_ns"] >= fault.end_ns][0]
        total += int(idle[after]) + (int(idle[own].sum()) if with_copy else 0)
    return total


@needs_nsys
@pytest.mark.parametrize("fault", ["synchronize", "item", "pageable"])
def test_the_cost_of_waiting_in_each_layer_is_recovered(tmp_path: Path, fault: str) -> None:
    program = ["tests.faulty_run", json.dumps(GPU_BOUND.as_dict()), fault]
    trace = read_case(under_nsys(tmp_path, program))
    table = ledger_of(trace)
    found = int(table["idle_synchronization_ns"].sum())
    truth = gaps_of_faults(trace, with_copy=fault == "pageable")
    assert len(table) == STEPS and truth > 0
    assert found == pytest.approx(truth, rel=0.02)
    assert table["idle_unexplained_ns"].sum() < 0.01 * table["wall_ns"].sum()
    if fault == "pageable":
        assert (trace.capture.calls["kind"] == PAGEABLE_COPY).any()
