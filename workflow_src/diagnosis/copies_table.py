"""Copies between host and device, with the calls that made them and that waited for them."""

from math import inf

import numpy as np
import pandas as pd

from workflow_src.common.intervals import Indices
from workflow_src.common.nesting import NOWHERE
from workflow_src.diagnosis.finding import Subject, rows_of
from workflow_src.diagnosis.recording import SYNCHRONIZE

TO_DEVICE, TO_HOST = "HtoD", "DtoH"

SMALL_BYTES = 1024
"""A copy of at most so much carries numbers, not data: its time doesn't depend on its size."""

RARE = 0.5
"""What happens in at most this share of steps is rare."""

SHORT_KINDS = ("elementwise", "reduction", "fill", "copy", "optimizer")
"""Families of the small kernels that compute one number of a tensor."""

FILL = "fill"

LONGEST_LEAD = 6
"""Activities that compute a number before it is fetched: isfinite and all take so many."""


def transfers(subject: Subject) -> pd.DataFrame:
    """A row per copy between host and device, by its row of work.

    call, step, path_text; wait: the synchronization directly after it on its thread, or NOWHERE;
    last: the later one of both; direction; memory: the host's; bytes; device_ns; host_ns: of both
    calls, with the time between.
    """
    copies = subject.copies
    copies = copies[copies["direction"].isin([TO_DEVICE, TO_HOST])]
    work, calls = subject.work.loc[copies.index], subject.calls
    own = rows_of(subject.own)
    call = work["call"].to_numpy(dtype=np.int64)
    following = np.append(own, NOWHERE)[np.searchsorted(own, call, side="right")]
    kind = calls["kind"].reindex(following).to_numpy()
    same = calls["thread"].reindex(following).to_numpy() == calls["thread"].loc[call].to_numpy()
    wait = np.where((kind == SYNCHRONIZE) & same, following, NOWHERE)
    last = np.where(wait == NOWHERE, call, wait)
    to_device = (copies["direction"] == TO_DEVICE).to_numpy()
    return pd.DataFrame(
        {
            "call": call,
            "wait": wait,
            "last": last,
            "step": calls["step"].loc[call].to_numpy(),
            "path_text": calls["path_text"].loc[call].to_numpy(),
            "direction": copies["direction"].astype(object),
            "memory": np.where(to_device, copies["source"], copies["target"]),
            "bytes": copies["bytes"],
            "device_ns": work["device_ns"],
            "host_ns": calls["end_ns"].loc[last].to_numpy()
            - calls["start_ns"].loc[call].to_numpy(),
        },
        index=copies.index,
    ).sort_values("call")


def of_size(subject: Subject, direction: str, least: float, most: float = inf) -> pd.DataFrame:
    """The transfers in one direction of so many bytes."""
    every = subject.cached(transfers)
    return every[(every["direction"] == direction) & every["bytes"].between(least, most)]


def leads(subject: Subject, fetched: pd.DataFrame) -> Indices:
    """The calls, directly before all of some copies, whose work computes the number that is copied.

    They launch small kernels of the same families before each of the copies, between fills if need
    be, and come after the copy before it.
    """
    own, names = rows_of(subject.own), subject.own["family"].tolist()
    at = np.searchsorted(own, fetched["call"].to_numpy(dtype=np.int64)).tolist()
    ends = np.searchsorted(own, fetched["last"].to_numpy(dtype=np.int64)).tolist()
    before = [_before(names, n, end) for n, end in zip(at, [NOWHERE, *ends[:-1]], strict=True)]
    length, families = 0, [[names[n] for n in rows if names[n] != FILL] for rows in before]
    while all(len(each) > length and each[length] == families[0][length] for each in families):
        length += 1
    rows = [n for found in before for n in _first(found, names, length)]
    return np.sort(own[rows])


def _before(names: list[str], at: int, end: int) -> list[int]:
    """The calls before one, back to `end` or to one that launches no small kernel, latest first."""
    rows: list[int] = []
    for n in range(at - 1, max(end, at - 1 - 2 * LONGEST_LEAD), -1):
        if names[n] not in SHORT_KINDS:
            break
        rows.append(n)
    return rows


def _first(rows: list[int], names: list[str], length: int) -> list[int]:
    """So many of the calls, and the fills between them."""
    others = np.cumsum([names[n] != FILL for n in rows])
    return [n for n, count in zip(rows, others.tolist(), strict=True) if 0 < count <= length]
