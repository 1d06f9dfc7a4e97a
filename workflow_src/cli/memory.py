"""What of a run fits in a device's memory, by the closed formulas, before anything has run."""

from collections.abc import Iterator

import pynvml

from workflow_src.common.case import EAGER, PHASES, Case
from workflow_src.common.devices import cuda_devices, nvml
from workflow_src.common.units import GIB
from workflow_src.model.memory_formulas import peak_bytes
from workflow_src.plan.suites import Plan

MOST_NAMED = 4


def limit_gib(plan: Plan) -> float | None:
    """The memory (GiB) that a case may use: the limit that is set, or what the smallest GPU has.

    None if neither is known.
    """
    limit: float | None = plan.settings["memory_limit_gib"]
    if limit or plan.device != "cuda" or plan.settings["cluster"]:
        return limit
    uuids = cuda_devices()
    with nvml():
        handles = map(pynvml.nvmlDeviceGetHandleByUUID, uuids)
        sizes = [pynvml.nvmlDeviceGetMemoryInfo(handle).total / GIB for handle in handles]
    return min(sizes, default=None)


def what_fits(plan: Plan, limit: float | None) -> Iterator[str]:
    """A line per phase: how many cases fit, and which don't.

    The formulas are of a model that runs as it is written, attention too; others are left out.
    """
    own = (case for case in plan.cases if isinstance(case, Case))
    known = [case for case in own if (case.attention, case.execution) == ("naive", EAGER)]
    if limit is None or not known:
        return
    for phase in PHASES:
        large = [case.case for case in known if peak_bytes(case, phase) > limit * GIB]
        which = ", ".join(large[:MOST_NAMED])
        more = f" and {len(large) - MOST_NAMED} more" if len(large) > MOST_NAMED else ""
        without = f"; not in {which}{more}" if large else ""
        fitting = f"{len(known) - len(large)} of {len(known)} cases"
        yield f"memory, by formula: {phase} fits in {limit:.4g} GiB in {fitting}{without}"
