"""Steps of a program without ranges: from one update by torch's optimizer to the next."""

import pandas as pd

from workflow_src.placing.range_times import one_after_another

UPDATE = "Optimizer.step#"
"""How torch names its range of an update, before the class of the optimizer."""

OF_THREAD = ["process", "thread"]

BETWEEN_UPDATES = "(from update to update)"
"""The name of a step, and its domain, so that it counts as a range."""


def between_updates(ranges: pd.DataFrame, fewest: int) -> pd.DataFrame:
    """Ranges from the end of each update to the end of the next, of each process and thread.

    fewest: updates by one optimizer, from which on there are steps between them. Of several
    optimizers, that which updates least often, as one of a model and one of its critic; of updates
    inside of each other, as of an optimizer made of others, the outermost ones.
    """
    updates = ranges[ranges["name"].str.startswith(UPDATE)].sort_values("start_ns")
    parts = [_of(own, fewest) for _, own in updates[one_after_another(updates)].groupby(OF_THREAD)]
    return pd.concat(parts, ignore_index=True) if parts else updates[:0]


def _of(updates: pd.DataFrame, fewest: int) -> pd.DataFrame:
    counts = updates["name"].value_counts()
    counts = counts[counts >= fewest]
    own = updates[updates["name"] == (counts.idxmin() if len(counts) else None)]
    named = own.assign(name=BETWEEN_UPDATES, domain=BETWEEN_UPDATES)
    # Without a value for the first, times become floats, which are 128 ns off since 1970.
    return named.assign(start_ns=named["end_ns"].shift(fill_value=0)).iloc[1:]
