"""The names of threads in an nsys export."""

import numpy as np
import pandas as pd

from workflow_src.captures.capture import THREADS, UNKNOWN, empty, frame
from workflow_src.captures.exported import Exported

TABLE, NAME, THREAD = "ThreadNames", "nameId", "globalTid"


def thread_names(found: Exported, shown: dict[int, int]) -> pd.DataFrame:
    """The names of the threads of some processes, with THREADS; nsys lists all of the host.

    shown: the number to show for each process, by nsys's own.
    """
    if not found.has_columns(TABLE, NAME, THREAD):
        return empty(THREADS)
    rows = found.integers(TABLE, (NAME, THREAD))
    number, thread = rows[NAME], rows[THREAD]
    own = np.isin(thread >> 24, list(shown)) & (thread != UNKNOWN)
    texts = found.texts(number[own])
    columns = {
        "process": [shown[process] for process in (thread[own] >> 24).tolist()],
        "thread": thread[own] & 0xFFFFFF,
        "name": [texts.get(name, "") for name in number[own].tolist()],
    }
    return frame(THREADS, columns)
