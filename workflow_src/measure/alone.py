"""A process that measures: with a device to itself, its environment recorded, and its end.

Code that somebody brings may leave threads that run on for ever, for which Python would wait.
"""

import gc
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from typing import Any

from workflow_src.common.device_locks import locks_are_shared
from workflow_src.common.devices import hold
from workflow_src.measure.gpu_state import state
from workflow_src.measure.machine import environment, host_id, host_speed
from workflow_src.measure.memory import limited_memory

GRACE_S = 5.0
"""How long threads may take to end by themselves once the main one has: they may be writing."""


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
    with hold(kind, name, count) as devices:
        device = devices[0]
        before = state(device) | host_speed(kind)
        started_at = datetime.now(UTC).isoformat()
        with limited_memory(kind, job.get("memory_limit_gib")):
            found = measure()
            after = state(device)
            # A failed capture of a graph can leave CUDA broken, with all that was timed before.
            with suppress(RuntimeError) if kind == "cuda" else nullcontext():
                after |= host_speed(kind)
            found = finish(found)
        # The host's name is kept with results, and never published.
        where = {"host_id": host_id(), "node": socket.gethostname(), "device_name": device}
        return {
            key: found,
            "environment": environment(device) | where,
            "before": before,
            "after": after,
            "locks_are_shared": locks_are_shared(),
            "started_at": started_at,
            "ended_at": datetime.now(UTC).isoformat(),
        }


@contextmanager
def ended_without_threads(about: str) -> Iterator[None]:
    """End this process some seconds after its main thread, with its status, whatever still runs."""
    status = 0
    try:
        yield
    except BaseException as error:
        status = 0 if isinstance(error, SystemExit) and error.code in (None, 0) else 1
        raise
    finally:
        threading.Thread(target=_end, args=(about, status), daemon=True).start()


def _end(about: str, status: int) -> None:
    # Python waits for other threads with the main one ended, and for this one never.
    threading.main_thread().join()
    time.sleep(GRACE_S)
    main = threading.main_thread()
    left = [each.name for each in threading.enumerate() if not each.daemon and each is not main]
    print(f"{about}: ended, though its code left running: {', '.join(left)}", file=sys.stderr)
    sys.stdout.flush()
    os._exit(status)
