"""Where the work of a step belongs: the range that launched it, or that of its forward operator."""

import pandas as pd

from workflow_src.traces.alignment import NOT_ALIGNED

TIE = ["range_path", "of_operator", "product"]
"""What the record of a gradient and that of its forward operator have in common."""


def with_paths(table: pd.DataFrame) -> pd.DataFrame:
    """A phase's activities, the `path` of gradients being that of their forward operator.

    table: `path` is the captured one; operator, range_path, operator_name, forward_operator and
    product are the record's. A profiler that recorded what launched them may have lost a range,
    which the capture has. So a gradient has the path that the capture gives all forward operators
    recorded as its own is; only where those differ does it have the recorded one.
    """
    known = table["operator"] != NOT_ALIGNED
    gradient = known & (table["forward_operator"] != "")
    operator = table["forward_operator"].where(gradient, table["operator_name"])
    ties = table[["range_path", "product", "path"]].assign(of_operator=operator)
    captured = ties[known & ~gradient].drop_duplicates([*TIE, "path"])
    only = captured[~captured.duplicated(TIE, keep=False)]
    tied = ties[TIE].merge(only, how="left", on=TIE)["path"].set_axis(table.index)
    recorded = (table["phase"] + "/" + table["range_path"]).str.rstrip("/")
    return table.assign(path=table["path"].mask(gradient, tied.fillna(recorded)))
