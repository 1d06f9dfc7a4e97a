"""Where the work of a step belongs: the range that launched it, or that of its forward operator."""

from collections.abc import Collection, Sequence

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
    gradient = (table["operator"] != NOT_ALIGNED) & (table["forward_operator"] != "")
    of_operator = table["forward_operator"].where(gradient, table["operator_name"])
    ties = table[["phase", "path", "range_path", "product"]].assign(of_operator=of_operator)
    forward = ties[(table["operator"] != NOT_ALIGNED) & ~gradient].drop_duplicates([*TIE, "path"])
    tied = forward.groupby(TIE)["path"].agg(lambda paths: innermost(list(paths))).to_dict()
    places = {}
    for key in ties.loc[gradient, ["phase", *TIE]].drop_duplicates().itertuples(index=False):
        phase, *tie = key
        recorded = f"{phase}/{tie[0]}".rstrip("/")
        places[tuple(key)] = tied.get(tuple(tie)) or captured_place(recorded, captured)
    keys = ties[["phase", *TIE]].itertuples(index=False, name=None)
    found = [places.get(key, path) for key, path in zip(keys, table["path"], strict=True)]
    path = table["path"].mask(gradient, pd.Series(found, index=table.index))
    return table.assign(path=path, captured_path=table["path"])


def innermost(paths: Sequence[str]) -> str:
    """The path of the innermost range that contains all of these."""
    parts = [path.split("/") for path in paths]
    same = 0
    while all(len(each) > same and each[same] == parts[0][same] for each in parts):
        same += 1
    return "/".join(parts[0][:same])


def captured_place(recorded: str, captured: Collection[str]) -> str:
    """The path of a captured range for a recorded path, of which a profiler may have lost parts.

    It is the recorded one if a range has it. Otherwise it is the innermost range around all that
    have the recorded parts in this order; or, if none has, the innermost one of the recorded parts
    that was captured.
    """
    if recorded in captured:
        return recorded
    parts = recorded.split("/")
    around = [path for path in captured if _in_order(parts, path.split("/"))]
    if around:
        return innermost(around)
    outer = ("/".join(parts[:count]) for count in range(len(parts) - 1, 0, -1))
    return next((path for path in outer if path in captured), parts[0])


def _in_order(parts: Sequence[str], path: Sequence[str]) -> bool:
    """Whether a path has all of these parts in their order."""
    rest = iter(path)
    return all(part in rest for part in parts)
