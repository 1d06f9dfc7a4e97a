"""What is true of a trace, and what a tool answered about it.

Device time (ns) is given in one or more quantities, each a sum per key:

PATH: by the whole path of the innermost range that was open at the launch.
OWN: by the name of that innermost range.
INCLUSIVE: by the name of each range that was open at the launch, once per name.
SPAN: by name, from the start of the first to the end of the last work of each range, added up.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

PATH, OWN, INCLUSIVE, SPAN = "path", "own", "inclusive", "span"
QUANTITIES = (PATH, OWN, INCLUSIVE, SPAN)
"""In this order: a tool is judged by the first one that it reports and the truth has."""

Sums = Mapping[str, int]


@dataclass(frozen=True)
class Truth:
    """What is true of one trace.

    total: all device time; nowhere: the part of it that belongs to no range.
    roots: names of the outermost ranges.
    domains: those of the program; libraries: those whose ranges are neither right nor wrong.
    complete: whether `sums` has all ranges, not only those of which the time is known.
    """

    total: int
    nowhere: int
    sums: Mapping[str, Sums]
    roots: frozenset[str]
    domains: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    complete: bool = True


@dataclass(frozen=True)
class Answer:
    """What a tool said of one trace; `nowhere`: time that it says is in no range, or None.

    libraries: time in ranges of libraries, which are neither right nor wrong.
    refused: why there is no answer, or "". host_only: it reports no device time at all.
    """

    sums: Mapping[str, Sums] = field(default_factory=dict)
    nowhere: int | None = None
    libraries: int = 0
    refused: str = ""
    host_only: bool = False
