"""A device's activities in one call, as torch.profiler counts them: raw rows with full names.

On a CUDA device kernels, copies and sets; on a CPU operators with their self time. Captures are
read by other code (captures), so that changing that code makes no measurement stale.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial

# Torch's profiler imports it in its first session, which takes seconds; a device is held then.
import torch._dynamo  # noqa: F401
from torch.autograd.profiler_util import FunctionEvent

from workflow_src.common.units import NS_PER_US
from workflow_src.measure.oom import Row
from workflow_src.measure.timing import run_through
from workflow_src.measure.windows import recorded, torch_window
from workflow_src.model.ranges import listening

TORCHS_OWN = re.compile("#|^ProfilerStep")
"""Found in names of ranges that torch itself emits: ProfilerStep*, Optimizer.step#AdamW.step."""


@dataclass(frozen=True)
class Activity:
    """One kind of device activity, its name, and what launched it.

    range: the innermost range of the model that its operator ran in, or empty; kind: kernel,
    copy, set or operator; operator: the aten operator that launched it, or empty.
    """

    range: str
    kind: str
    operator: str
    name: str


def activities_of(call: Callable[[], object], device: str, ranges: bool = False) -> list[Row]:
    """Rows of range, kind, operator, name, calls and busy_ns: all activities of one `call`.

    With `ranges`, activities are split by the model's own ranges; without, `range` is empty. Raises
    RuntimeError if torch.profiler records none.
    """
    run = partial(run_through, call, device)

    def session() -> list[Row]:
        with torch_window(device, run) as profiler, listening("torch" if ranges else None):
            run()
        return grouped(profiler.events() or [], device)

    return recorded(session)


def grouped(events: Sequence[FunctionEvent], device: str) -> list[Row]:
    """One row per distinct activity with its calls and time (busy_ns), most time first."""
    calls: Counter[Activity] = Counter()
    busy_ns: Counter[Activity] = Counter()
    for activity, us in (_on_device if device == "cuda" else _on_cpu)(events):
        calls[activity] += 1
        busy_ns[activity] += round(us * NS_PER_US)
    return [asdict(a) | {"calls": calls[a], "busy_ns": ns} for a, ns in busy_ns.most_common()]


def _on_cpu(events: Sequence[FunctionEvent]) -> Iterator[tuple[Activity, float]]:
    for event in events:
        if not event.is_user_annotation and event.time_range.elapsed_us() > 0:
            name = event.name
            yield Activity(_range_of(event), "operator", name, name), event.self_cpu_time_total


def _on_device(events: Sequence[FunctionEvent]) -> Iterator[tuple[Activity, float]]:
    """Each activity with the operator that launched it; last, those without an operator."""
    remaining = Counter(
        (event.name, event.time_range.elapsed_us())
        for event in events
        if event.device_type.name != "CPU" and not event.is_user_annotation
    )
    for event in events:
        for kernel in event.kernels:
            # Runtime calls are numbered separately: an id may match an unrelated operator's, and
            # the activity would be counted twice.
            if remaining[kernel.name, kernel.duration] > 0:
                remaining[kernel.name, kernel.duration] -= 1
                activity = Activity(_range_of(event), _kind(kernel.name), event.name, kernel.name)
                yield activity, kernel.duration
    for (name, us), count in remaining.items():
        for _ in range(count):
            yield Activity("", _kind(name), "", name), us


def _kind(name: str) -> str:
    words = {"Memcpy": "copy", "Memset": "set"}
    return words.get(name.split(" ")[0], "kernel")


def _range_of(event: FunctionEvent) -> str:
    """The innermost of the model's own ranges that an operator ran in, or empty."""
    above = event.cpu_parent
    while above is not None:
        if above.is_user_annotation and not TORCHS_OWN.search(above.name):
            return str(above.name)
        above = above.cpu_parent
    return ""
