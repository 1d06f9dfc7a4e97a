"""What a call did, from torch.profiler's own events: ranges, operators' calls, activities.

An activity is a kernel, copy or set of a CUDA device; on a CPU, an operator with its self time.
Captures are read by other code (captures), so that changing that code makes no measurement stale.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

# Torch's profiler imports it in its first session, which takes seconds; a device is held then.
import torch._dynamo  # noqa: F401
from torch._C._profiler import RecordScope, _EventType

from workflow_src.common.operators import DISPATCHED
from workflow_src.measure.rows import Row
from workflow_src.measure.windows import profiled

TORCHS_OWN = re.compile("#|^ProfilerStep")
"""Found in names of ranges that torch itself emits: ProfilerStep*, Optimizer.step#AdamW.step."""

NODE = "autograd::engine::evaluate_function: "
"""Stands before the name of a node of autograd's graph that the engine runs."""

GRAPH = "## Call CompiledFxGraph "
"""Stands before the name of a graph that torch.compile made: it runs loops, as an operator does."""


def activities_of(call: Callable[[], object], device: str) -> list[Row]:
    """Rows of all activities of one `call`: name, calls and busy_ns; most time first.

    Raises RuntimeError if torch.profiler records none.
    """
    return profiled(call, device, partial(grouped, device=device))


def grouped(result: Any, device: str) -> list[Row]:
    """A row per distinct activity in a profiler's result: see `activities_of`."""
    if device == "cuda":
        events = (each for each, _ in launches(result.events(), ()))
        found = [(each.name(), 1, each.duration_ns()) for each in events]
    else:
        # Operators with their self time; one that calls one of its name is one with it.
        ran = (call for call in host(result.experimental_event_tree()).calls if _ns(call.event))
        found = [
            (call.name, not call.is_inner, _ns(call.event) - sum(map(_ns, call.event.children)))
            for call in ran
        ]
    calls, busy_ns = Counter[str](), Counter[str]()
    for name, count, ns in found:
        calls[name] += count
        busy_ns[name] += ns
    return [
        {"name": name, "calls": calls[name], "busy_ns": ns} for name, ns in busy_ns.most_common()
    ]


def _ns(event: Any) -> int:
    return int(event.end_time_ns - event.start_time_ns)


def launches(events: Sequence[Any], calls: Sequence["Call"]) -> Iterator[tuple[Any, "Call | None"]]:
    """A CUDA device's activities in order of start, each with the call that launched it."""
    by_id = {call.event.correlation_id: call for call in calls}
    found = (e for e in events if e.device_type().name != "CPU" and not e.is_user_annotation())
    for each in sorted(found, key=lambda each: each.start_ns()):
        # Runtime calls are numbered separately; this is an operator's number.
        yield each, by_id.get(each.linked_correlation_id())


class Range(NamedTuple):
    """A range of the model; path: it and those around it, joined by "/"."""

    path: str
    start_ns: int
    end_ns: int


@dataclass(eq=False)
class Call:
    """A call of an operator.

    place: the number of the innermost range open on its thread, or -1; node: the call that runs its
    node of autograd's graph; calls: the operators that it calls; inner: the first of its own name
    among them; is_inner: whether it is that of its caller.
    """

    event: Any
    name: str
    place: int
    node: "Call | None"
    calls: set[str] = field(default_factory=set)
    inner: "Call | None" = None
    is_inner: bool = False

    @property
    def innermost(self) -> "Call":
        """What does the work, where wrappers such as autocast's call an operator of their name."""
        return self.inner.innermost if self.inner else self


@dataclass(frozen=True)
class Host:
    """What the host did in a step: its ranges and its operators' calls, in order of start."""

    ranges: Sequence[Range]
    calls: Sequence[Call]
    forward: dict[int, Call]
    """The forward call that made the node with a sequence number."""

    def path(self, call: Call) -> str:
        """The range of a call; on a thread without ranges, what was open elsewhere."""
        if call.place >= 0:
            return self.ranges[call.place].path
        moment = call.event.start_time_ns
        last = bisect_right(self.ranges, moment, key=lambda each: each.start_ns)
        around = (each.path for each in reversed(self.ranges[:last]) if each.end_ns > moment)
        return next(around, "")


def host(roots: Sequence[Any]) -> Host:
    """What the host did, from the profiler's tree of events."""
    ranges: list[Range] = []
    calls: list[Call] = []
    waiting: list[tuple[Any, int, Call | None, Call | None]]
    waiting = [(root, -1, None, None) for root in reversed(roots)]
    while waiting:
        event, place, node, caller = waiting.pop()
        name = event.name
        if event.tag != _EventType.TorchOp:
            pass
        elif event.extra_fields.scope != RecordScope.USER_SCOPE or name.startswith(GRAPH):
            call = Call(event, name, place, node)
            calls.append(call)
            if caller:
                caller.calls.add(name)
                if caller.name == name and DISPATCHED in name and not caller.inner:
                    caller.inner, call.is_inner = call, True
            caller = call
            node = call if name.startswith(NODE) else node
        elif not TORCHS_OWN.search(name):
            path = f"{ranges[place].path}/{name}" if place >= 0 else name
            ranges.append(Range(path, event.start_time_ns, event.end_time_ns))
            place = len(ranges) - 1
        waiting += [(child, place, node, caller) for child in reversed(event.children)]
    calls.sort(key=lambda call: call.event.start_time_ns)
    # Each sees the number of the next node to be made: the last to see it makes that.
    forward = {
        call.event.extra_fields.sequence_number: call
        for call in calls
        if call.node is None and not call.name.startswith(NODE)
    }
    forward.pop(-1, None)
    return Host(ranges, calls, forward)
