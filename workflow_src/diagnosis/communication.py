"""Communication between ranks: what of it waits for another rank, and what nothing hides."""

import numpy as np
import pandas as pd

from workflow_src.common.intervals import Union
from workflow_src.diagnosis.subject import Subject, once
from workflow_src.placing.ranks import COLLECTIVE


@once
def communication(subject: Subject) -> pd.DataFrame:
    """The work of Subject.work that communicates, with wait_ns, exposed_ns and `bucket`.

    wait_ns: the part in which another rank was waited for, 0 where that isn't known; exposed_ns:
    of the rest, that in which the process's devices do nothing else; bucket: the how-manieth of its
    step and stream.
    """
    is_moving = subject.work["family"] == COLLECTIVE
    moving, others = subject.work[is_moving], subject.work[~is_moving]
    waits = subject.attributed.work["wait_ns"].reindex(moving["activity"]).to_numpy()
    start, end = (moving[name].to_numpy() for name in ("start_ns", "end_ns"))
    busy = Union.of(others["start_ns"].to_numpy(), others["end_ns"].to_numpy())
    alone = moving["device_ns"] - (busy.until(end) - busy.until(start))
    return moving.assign(
        wait_ns=waits,
        exposed_ns=np.minimum(alone, moving["device_ns"] - waits),
        bucket=moving.groupby(["step", "lane"]).cumcount(),
    )


def room_ns(subject: Subject) -> int:
    """The time in which the devices work and none communicates: so much can be hidden behind it."""
    both, moving = (
        Union.of(rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy()).total()
        for rows in (subject.work, communication(subject))
    )
    return both - moving
