"""Raw rows of recorded allocations: short lists of numbers, of which there may be ten thousand."""

from collections.abc import Mapping, Sequence

from workflow_src.measure.allocations import Allocation
from workflow_src.studies.memory.marks import Mark
from workflow_src.studies.study import Row

Held = tuple[int, Mapping[str, set[int]]]
"""An event, and the addresses of what is held then, by kind."""


def as_row(allocations: Sequence[Allocation], held: Sequence[Held], marks: Sequence[Mark]) -> Row:
    """`allocations`: size, start, end, index of the line, kind ("" for most); `lines`; `marks`.

    The kind is of the first of `held` that has an allocation.
    """
    lines = list(dict.fromkeys(each.line for each in allocations))
    place = {line: number for number, line in enumerate(lines)}
    return {
        "allocations": [
            [each.size, each.start, each.end, place[each.line], _kind(each, held)]
            for each in allocations
        ],
        "lines": lines,
        "marks": [list(mark) for mark in marks],
    }


def _kind(allocation: Allocation, held: Sequence[Held]) -> str:
    """What an allocation is held as: the name in the first of `held` that has it; "" in none."""
    for event, addresses in held:
        alive = allocation.start < event and (allocation.end is None or allocation.end >= event)
        for kind, known in addresses.items():
            if alive and allocation.address in known:
                return kind
    return ""
