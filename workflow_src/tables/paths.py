"""Where the work of a step belongs: the range that launched it, or that of its forward operator."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from itertools import takewhile

import pandas as pd

from workflow_src.placing.alignment import NOT_ALIGNED

TIE = ["range_path", "of_operator", "product"]
"""What the record of a gradient and that of its forward operator have in common."""


def with_paths(table: pd.DataFrame, captured: Collection[str]) -> pd.DataFrame:
    """A phase's activities, the `path` of gradients being that of their forward operator.

    table: `path` is the captured one, which becomes captured_path; operator, range_path,
    operator_name, forward_operator and product are the record's. captured: the paths of the
    phase's ranges in the capture. A profiler that recorded what launched the activities may have
    lost a range, which the capture has. So a gradient has the path that the capture gives the
    forward operators recorded as its own is, or the innermost range around them if they have
    several; if they launched nothing, see `captured_place`.
    """
    known = table["operator"] != NOT_ALIGNED
    gradient = known & (table["forward_operator"] != "")
    of_operator = table["forward_operator"].where(gradient, table["operator_name"])
    ties = table.assign(of_operator=of_operator)[[*TIE, "path", "phase"]]
    forward = defaultdict(set)
    for *tie, path, _ in ties[known & ~gradient].drop_duplicates().itertuples(index=False):
        forward[tuple(tie)].add(path)
    places = {}
    for *tie, _, phase in ties[gradient].drop_duplicates().itertuples(index=False):
        recorded = f"{phase}/{tie[0]}".rstrip("/")
        own = forward.get(tuple(tie))
        places[tuple(tie)] = innermost(own) if own else captured_place(recorded, captured)
    path = table["path"].copy()
    path[gradient] = [places[tie] for tie in ties.loc[gradient, TIE].itertuples(False, None)]
    return table.assign(path=path, captured_path=table["path"])


def innermost(paths: Iterable[str]) -> str:
    """The path of the innermost range that contains all of these."""
    levels = (set(parts) for parts in zip(*(path.split("/") for path in paths), strict=False))
    same = takewhile(lambda parts: len(parts) == 1, levels)
    return "/".join(name for parts in same for name in parts)


def captured_place(recorded: str, captured: Collection[str]) -> str:
    """The path of a captured range for a recorded path, of which a profiler may have lost parts.

    It is the recorded one if a range has it. Otherwise it is the innermost range around all that
    have the recorded parts in this order; or, if none has, the innermost one of the recorded parts
    that was captured.
    """
    if recorded in captured:
        return recorded
    parts = recorded.split("/")
    around = []
    for path in captured:
        rest = iter(path.split("/"))
        if all(part in rest for part in parts):
            around.append(path)
    if around:
        return innermost(around)
    outer = ("/".join(parts[:count]) for count in range(len(parts) - 1, 0, -1))
    return next((path for path in outer if path in captured), parts[0])
