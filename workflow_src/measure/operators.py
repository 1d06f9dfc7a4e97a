"""What launched each device activity of a step: the operator, its inputs and its range.

A step runs under torch.profiler after everything timed. Its events are read as they are: a step
may have 30,000 kernels and many more operators.
"""

import json
from collections.abc import Callable, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any

from workflow_src.common.case import Brought
from workflow_src.measure.activities import Call, Host, host, launches
from workflow_src.measure.flop_count import counted_flops
from workflow_src.measure.rows import LONGEST_REASON, Row, attempt
from workflow_src.measure.windows import profiled
from workflow_src.measure.workload import Workload

LONGEST_LIST = 8


def described(call: Call, of: Host, values: Sequence[Any]) -> Row:
    """An operator and its inputs: equal for calls that differ only in when they ran.

    range: in a backward pass the forward operator's; shapes, dtypes: per input, None where it is no
    tensor, a list for a list of tensors; stored: see `_stored`, where it differs from the shapes;
    values: whole numbers and lists of them among the other inputs; forward_shapes: those of the
    forward operator, if it is of a backward pass.
    """
    node = call.node
    forward = of.forward.get(node.event.extra_fields.sequence_number) if node else None
    inputs = call.event.extra_fields.inputs
    sizes = partial(_each, say=lambda tensor: list(tensor.sizes))
    row: Row = {
        "range": of.path(forward or call),
        "operator": call.name,
        "forward_operator": forward.name if forward else "",
        "shapes": [*map(sizes, inputs)],
        "dtypes": [_each(value, lambda tensor: str(tensor.dtype)[6:]) for value in inputs],
        "values": [_whole(value) for value in values],
    }
    if (stored := _stored(inputs)) != row["shapes"]:
        row["stored"] = stored
    if call.calls:
        row["calls"] = sorted(call.calls)
    if forward:
        row["forward_shapes"] = [*map(sizes, forward.event.extra_fields.inputs)]
    return row


def _stored(inputs: Sequence[Any]) -> list[Any]:
    """Per input the shape that lies in memory: 1 where it is expanded; None for one given before.

    Views of one storage, such as q, k and v, are different tensors.
    """
    seen: set[int] = set()

    def shape(tensor: Any) -> list[int] | None:
        if tensor.impl_ptr in seen:
            return None
        if tensor.impl_ptr:
            seen.add(tensor.impl_ptr)
        # Tensors that are sparse, or packed by a library, have no strides.
        lengths = zip_longest(tensor.sizes, tensor.strides, fillvalue=1)
        return [size if stride else min(size, 1) for size, stride in lengths]

    return [_each(value, shape) for value in inputs]


def _each(value: Any, say: Callable[[Any], Any]) -> Any:
    if isinstance(value, list):
        return [_each(part, say) for part in value]
    return say(value) if hasattr(value, "sizes") else None


def _whole(value: Any) -> Any:
    given = value if isinstance(value, list) else [value]
    is_whole = len(given) <= LONGEST_LIST and all(isinstance(each, int) for each in given)
    return value if is_whole else None


def compact(result: Any, device: str) -> Row:
    """A step's device activities with what launched them, each distinct thing once.

    operators: rows of `described`; names: of activities; sequence: per activity, in order, the
    number of its operator (-1 if unknown) and of its name; continued: the place in `sequence` of
    each activity whose call had launched another before, and that of the call's first. Empty
    without an activity.
    """
    done, events = host(result.experimental_event_tree()), result.events()
    if device == "cuda":
        found = [(each.name(), call) for each, call in launches(events, done.calls)]
    else:
        # An operator that calls one of its own name is one activity with it, as it is in captures
        # (captures/torch_profiler.py): the inner one tells what is computed.
        found = [(call.name, call.innermost) for call in done.calls if not call.is_inner]
    wanted = {call.event.correlation_id: call.name for _, call in found if call}
    # Lists are not in the tree.
    values = {
        event.correlation_id(): event.concrete_inputs()
        for event in events
        if wanted.get(event.correlation_id()) == event.name()
    }
    operators: dict[str, int] = {}
    names: dict[str, int] = {}
    first: dict[Call, int] = {}
    sequence: list[list[int]] = []
    continued = []
    for place, (name, call) in enumerate(found):
        operator = -1
        if call and call in first:
            continued.append([place, first[call]])
            operator = sequence[first[call]][0]
        elif call:
            first[call] = place
            text = json.dumps(described(call, done, values.get(call.event.correlation_id, [])))
            operator = operators.setdefault(text, len(operators))
        sequence.append([operator, names.setdefault(name, len(names))])
    if not sequence:
        return {}
    about = {"operators": [json.loads(text) for text in operators], "names": list(names)}
    return about | {"sequence": sequence, "continued": continued}


def launched(step: Callable[[], object], device: str) -> Row:
    """What launched each device activity of one `step`: see `compact`.

    The step runs twice, first to settle; neither should be the first one ever. Raises RuntimeError
    if torch.profiler records nothing.
    """
    return profiled(step, device, partial(compact, device=device), inputs=True)


def _kept(measure: Callable[[], Row], release: Callable[[], object]) -> Row:
    """As `attempt`, or status failed: what was timed must not be lost to a profiler's error."""
    try:
        return attempt(measure, release)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        return {"status": "failed", "reason": " ".join(said.split())[:LONGEST_REASON]}


def add_launched(workload: Workload, rows: dict[str, Row]) -> dict[str, Row]:
    """`rows` of phases, those that are ok with `launched`, which has a status of its own.

    Of a brought model that isn't compiled also with `counted`, FLOPs of a step by operator; of this
    project's own, formulas tell.
    """
    counts = isinstance(workload.case, Brought) and not workload.compiled
    for phase, row in rows.items():
        if row["status"] != "ok":
            continue
        step = workload.phase(phase)
        with workload.observed():
            measure = partial(launched, step, workload.case.device)
            row["launched"] = _kept(measure, workload.release)
        if counts:
            row["counted"] = _kept(partial(_counted, step), workload.release)
    return rows


def _counted(step: Callable[[], object]) -> Row:
    return {"flops": counted_flops(step)}
