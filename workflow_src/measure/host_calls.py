"""What the host did in a step, from torch.profiler's tree of events: its ranges and its calls."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from torch._C._profiler import RecordScope, _EventType

from workflow_src.common.operators import DISPATCHED, MULTIPLYING
from workflow_src.measure.activities import TORCHS_OWN

NODE = "autograd::engine::evaluate_function: "
"""What precedes the name of a node of autograd's graph where the engine runs it."""

GRAPH = "## Call CompiledFxGraph "
"""What precedes the name of a graph that torch.compile made: it runs loops, as an operator does."""


@dataclass(frozen=True)
class Range:
    """A range of the model; path: it and those around it, joined by "/"."""

    path: str
    start_ns: int
    end_ns: int


@dataclass(eq=False)
class Call:
    """A call of an operator.

    place: the number of the innermost range open on its thread, or -1; node: the call that runs
    the node of autograd's graph that it belongs to; number: how many calls of the same product
    came before it in that node or, without one, in that range; multiplies: whether it is a product
    that calls no other, as autocast's do; calls: the operators that it calls itself; inner: the
    first of its own name among them, if any; is_inner: whether it is that of its caller.
    """

    event: Any
    name: str
    place: int
    node: "Call | None"
    multiplies: bool
    number: int = 0
    calls: set[str] = field(default_factory=set)
    inner: "Call | None" = None
    is_inner: bool = False

    def call(self, other: "Call") -> None:
        """Note that this operator called another."""
        self.calls.add(other.name)
        if other.name == self.name and DISPATCHED in other.name and not self.inner:
            self.inner, other.is_inner = other, True

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
        """The range that a call ran in; on a thread without ranges, what was open elsewhere."""
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
    waiting: list[tuple[Any, int, Call | None, Call | None, Call | None]] = [
        (root, -1, None, None, None) for root in reversed(roots)
    ]
    while waiting:
        event, place, node, product, caller = waiting.pop()
        name = event.name
        if event.tag != _EventType.TorchOp:
            pass
        elif event.extra_fields.scope != RecordScope.USER_SCOPE or name.startswith(GRAPH):
            call = Call(event, name, place, node, name in MULTIPLYING)
            calls.append(call)
            if caller:
                caller.call(call)
            caller = call
            node = call if name.startswith(NODE) else node
            if call.multiplies:
                if product:
                    product.multiplies = False
                product = call
        elif not TORCHS_OWN.search(name):
            path = f"{ranges[place].path}/{name}" if place >= 0 else name
            ranges.append(Range(path, event.start_time_ns, event.end_time_ns))
            place = len(ranges) - 1
        waiting += [(child, place, node, product, caller) for child in reversed(event.children)]
    calls.sort(key=lambda call: call.event.start_time_ns)
    _number(calls)
    return Host(ranges, calls, _forward(calls))


def _number(calls: Sequence[Call]) -> None:
    so_far: Counter[tuple[str, int]] = Counter()
    for call in calls:
        if call.multiplies:
            place = (call.name, id(call.node) if call.node else call.place)
            call.number = so_far[place]
            so_far[place] += 1


def _forward(calls: Sequence[Call]) -> dict[int, Call]:
    """An operator sees the number of the next node to be made: the last one to see it makes it."""
    outside = (call for call in calls if call.node is None and not call.name.startswith(NODE))
    numbered = ((call.event.extra_fields.sequence_number, call) for call in outside)
    return {number: call for number, call in numbered if number >= 0}
