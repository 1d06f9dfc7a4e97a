"""Steps of a program without ranges: from one update by torch's optimizer to the next."""

import pandas as pd

UPDATE = "Optimizer.step#"
"""How torch names its range of an update, before the class of the optimizer."""

BETWEEN_UPDATES = "(from update to update)"
"""The name of a step, and its domain, so that it counts as a range."""

FEWEST = 3
"""Updates by one optimizer, from which on there are steps between them."""


def between_updates(ranges: pd.DataFrame) -> pd.DataFrame:
    """Ranges from the end of each update to the end of the next, of each process and thread.

    Of several optimizers, that which updates least often, as one of a model and one of its critic.
    """
    updates = ranges[ranges["name"].str.startswith(UPDATE)].sort_values("start_ns")
    parts = [_of(own) for _, own in updates.groupby(["process", "thread"])]
    return pd.concat(parts, ignore_index=True) if parts else updates


def _of(updates: pd.DataFrame) -> pd.DataFrame:
    counts = updates["name"].value_counts()
    counts = counts[counts >= FEWEST]
    own = updates[updates["name"] == (counts.idxmin() if len(counts) else None)]
    named = own.assign(name=BETWEEN_UPDATES, domain=BETWEEN_UPDATES)
    return named.assign(start_ns=named["end_ns"].shift()).iloc[1:].astype({"start_ns": "int64"})
