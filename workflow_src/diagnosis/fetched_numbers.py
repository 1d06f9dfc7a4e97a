"""Numbers that the host fetches from the device, by why, and the calls that are about checks."""

import numpy as np
import pandas as pd

from workflow_src.captures.call_kinds import matching
from workflow_src.common.intervals import Indices
from workflow_src.common.nesting import NOWHERE
from workflow_src.diagnosis.copies_table import SMALL_BYTES, TO_HOST, leads, of_size
from workflow_src.diagnosis.finding import Subject, rows_of
from workflow_src.diagnosis.selections import SELECTING

TRUTH_BYTES = 1
"""What a single truth takes, as isfinite(...).all() gives."""

MANY = 8
"""A number that is fetched so often a step from one place is one of many, as of each parameter."""

SELECTION, CHECK, OF_EACH, OTHER = range(4)


def fetched_numbers(subject: Subject) -> pd.DataFrame:
    """Copies of numbers to the host, with `reason`: one of the four above.

    selected: whether a kernel that selects comes directly before, and none after.
    """
    found = of_size(subject, TO_HOST, 0, SMALL_BYTES).copy()
    own, family, launched = rows_of(subject.own), subject.own["family"], subject.own["launched"]
    at = np.searchsorted(own, found["last"].to_numpy(dtype=np.int64))
    after = [" ".join(launched.iloc[n + 1 : n + 4]) for n in at.tolist()]
    selects = pd.Series(after, index=found.index, dtype=object).str.contains(SELECTING)
    before = np.searchsorted(own, found["call"].to_numpy(dtype=np.int64)) - 1
    last = np.maximum(before, 0)
    computed = family.to_numpy()[last] == "reduction"
    selected = matching(launched, SELECTING)[last]
    found["selected"] = selected & ~selects.to_numpy(dtype=bool)
    checks = (found["bytes"] == TRUTH_BYTES) & computed
    reason = np.select(
        [selects | found["selected"], checks, computed], [SELECTION, CHECK, OF_EACH], OTHER
    )
    found["reason"] = reason
    often = found.groupby("reason")["call"].transform("size") >= MANY * subject.step_count
    alone = found["reason"].isin([CHECK, OF_EACH]) & ~often
    found.loc[alone, "reason"] = OTHER
    return found


def check_calls(subject: Subject) -> Indices:
    """The calls that check results: what computes truths, and the copies and waits of these."""
    numbers = subject.cached(fetched_numbers)
    checks = numbers[numbers["reason"] == CHECK]
    if checks.empty:
        return np.empty(0, dtype=np.int64)
    waits = checks.loc[checks["wait"] != NOWHERE, "wait"]
    return np.concatenate([leads(subject, checks), checks["call"], waits]).astype(np.int64)
