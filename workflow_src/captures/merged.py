"""Traces of several ranks that a tool merged into one, whose processes are named by text.

SGLang's merge_profiles (python/sglang/srt/utils/profile_merger.py) makes "[TP00] 500" of process
500 of rank 0, and "[TP00] 0" of its device, and leaves numbers of launches as they were. A launch
is of its own rank: of a process whose text is that of the device but for one number.
"""

import re
from collections.abc import Mapping

import numpy as np
import pandas as pd

from workflow_src.captures.capture import UNKNOWN, Note, as_small
from workflow_src.captures.rows import Parts, of_each
from workflow_src.common.intervals import Indices, Integers
from workflow_src.common.printable import printable

OTHER_THREADS = 2**32
"""Added to threads' numbers but the main one's, which is its process's, as elsewhere on Linux."""

DEVICES = 2**16
"""More than a rank has. Ranks of one job never share one, whatever number it has in each."""

LAUNCH_BITS = 32
"""Of a profiler's number of a launch. In a merged trace its rank, from 1, stands above them."""

NAMED, NUMBER = "named", re.compile(r"\d+(?=\D*$)")
"""A column of work: the process that its device's name says, or UNKNOWN; and the last number in a
text, that of the process or device itself."""

Names = Mapping[int, int]


def numbered(rows: pd.DataFrame, number: Integers | int, first: Integers) -> pd.DataFrame:
    """Rows whose processes and their threads have another `number`, but for UNKNOWN.

    first: the number of the main thread of each row's process until now.
    """
    called = as_small(np.where(rows["process"] == UNKNOWN, UNKNOWN, number))
    if "thread" not in rows:
        return rows.assign(process=called)
    own = rows["thread"].to_numpy(dtype=np.int64)
    thread = np.where(own == first, number, own + OTHER_THREADS)
    return rows.assign(process=called, thread=np.where(own == UNKNOWN, UNKNOWN, thread))


def told_apart(parts: Parts, texts: Mapping[str, int]) -> tuple[Parts, list[Note]]:
    """The parts of a trace with launches and devices numbered apart by rank, and processes that the
    file names by text numbered in its order, as a note says.

    texts: the number that each has in events.
    """
    host = parts.keys() & {"ranges", "calls", "operators"}
    on_host = {n for part in host for n in parts[part]["process"].unique()}
    hosts = [text for text, number in texts.items() if number in on_host]
    if not hosts:
        return parts, []
    labels = {text: NUMBER.sub("", text) for text in texts}
    ranks = {label: n for n, label in enumerate(dict.fromkeys(labels.values()), start=1)}
    named, only = {text: n for n, text in enumerate(hosts)}, dict[str, int]()
    for text, n in named.items():
        only[labels[text]] = UNKNOWN if labels[text] in only else n
    shown = {n: named.get(text, only.get(labels[text], UNKNOWN)) for text, n in texts.items()}
    rank = {number: ranks[labels[text]] for text, number in texts.items()}
    first = {texts[text]: int(last[0]) for text in hosts if (last := NUMBER.search(text))}
    found = {part: _apart(rows, rank, shown, first) for part, rows in parts.items()}
    about = ", ".join(f"{n} is {printable(text)}" for text, n in named.items())
    return found, [Note("named processes", len(hosts), about)]


def _apart(rows: pd.DataFrame, rank: Names, shown: Names, first: Names) -> pd.DataFrame:
    own = rows["process"].to_numpy()
    above = _called(own, rank, 0)
    if "correlation" in rows:
        launch = rows["correlation"].to_numpy()
        rows = rows.assign(correlation=launch + np.where(launch > 0, above << LAUNCH_BITS, 0))
    if "device" not in rows:
        return numbered(rows, _called(own, shown), _called(own, first))
    device = rows["device"].to_numpy()
    device = np.where(device == UNKNOWN, own, device) + above * DEVICES
    return rows.assign(device=device, **{NAMED: _called(own, shown, UNKNOWN)})


def _called(values: Indices, names: Names, otherwise: int | None = None) -> Indices:
    called = of_each(values, lambda n: names.get(n, n if otherwise is None else otherwise))
    return called.astype(np.int64)
