"""What a step takes of a GPU's energy: each phase repeated for seconds, by NVML's counter."""

import time
from collections.abc import Iterator, Mapping

from workflow_src.common.devices import cuda_devices
from workflow_src.measure.gpu_state import WINDOW, asked
from workflow_src.measure.rows import Row, in_turn, said
from workflow_src.measure.timing import Call, run_through, wake
from workflow_src.measure.workload import Workload

LEAD_S = 0.5
"""So long a phase runs before it counts: NVML lags behind the device."""


def energies(
    workload: Workload, rows: Mapping[str, Row], seconds: float
) -> Iterator[tuple[str, Row]]:
    """Each phase that was timed, with the row of `repeat`; nothing of a CPU or of no seconds."""
    device = workload.case.device

    def run(phase: str) -> Row:
        found = repeat(workload.phase(phase), device, seconds)
        return said(f"{workload.case.case} {phase}, for its energy", found)

    timed = [phase for phase, row in rows.items() if row["status"] == "ok"]
    if device == "cuda" and seconds:
        yield from in_turn(timed, run, workload.release)


def repeat(step: Call, device: str, seconds: float) -> Row:
    """Run `step` for `seconds` or more, waiting for each: how many `steps` that were, `ns`, and the
    energy counter (mJ) before and after, or None where the device has none."""
    wake(step, device, LEAD_S)
    before, start, steps = counter_mj(), time.monotonic_ns(), 0
    while time.monotonic_ns() - start < seconds * 1e9:
        run_through(step, device)
        steps += 1
    end = time.monotonic_ns()
    found = {"steps": steps, "ns": end - start, "counter_mj": [before, counter_mj()]}
    return {"status": "ok", "reason": ""} | found | {WINDOW: [start, end]}


def counter_mj() -> int | None:
    """What the held device has taken since its driver was loaded."""
    found: int | None = asked(cuda_devices()[0], "energy_mj")["energy_mj"]
    return found
