"""Measures with a device to itself, and records the environment."""

import gc
import socket
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from typing import Any

from workflow_src.common.device_locks import locks_are_shared
from workflow_src.common.devices import hold_several
from workflow_src.common.subprocesses import told_if_killed
from workflow_src.measure.gpu_state import Neighbors, state
from workflow_src.measure.machine import hardware, host_id, host_speed, software
from workflow_src.measure.memory import limited_memory
from workflow_src.measure.progress import observed
from workflow_src.measure.windows import detaches


def measured_alone(
    name: str,
    job: Mapping[str, Any],
    key: str,
    measure: Callable[[], Any],
    finish: Callable[[Any], Any] = lambda found: found,
) -> dict[str, Any]:
    """The result of `measure` under `key`, with environment, device states and times beside it.

    `job` is a case or a study's point called `name`, with its device and, if it has them, its
    memory limit and `gpus`: how many devices it locks, of which the first one is recorded. `finish`
    completes the result, still alone on the device, where the state after measuring has been
    recorded: a profiler slows the launches of the process that it ran in. Raises StageError if
    there is no such device, or less memory than that limit.
    """
    kind = job["device"]
    # What was imported is no garbage, and looking through it takes 0.1 s before each row.
    gc.freeze()
    count = job.get("gpus", 1)
    with told_if_killed(name), hold_several(kind, count, name) as devices:
        device = devices[0]
        before = state(device) | host_speed(kind)
        started_at, neighbors = datetime.now(UTC).isoformat(), Neighbors(device)
        with limited_memory(kind, job.get("memory_limit_gib")), observed(neighbors.look):
            found = measure()
            after = state(device)
            # A failed capture of a graph can leave CUDA broken, with all that was timed before.
            with suppress(RuntimeError) if kind == "cuda" else nullcontext():
                after |= host_speed(kind)
            found = finish(found)
        neighbors.look()
        # The host's name is kept with results, and never published.
        where = {"host_id": host_id(), "node": socket.gethostname(), "device_name": device}
        return {
            key: found,
            "environment": hardware(device) | software() | where,
            "before": before,
            "during": neighbors.state(),
            "after": after,
            "locks_are_shared": locks_are_shared(),
            "profiler_detaches": detaches(kind),
            "started_at": started_at,
            "ended_at": datetime.now(UTC).isoformat(),
        }
