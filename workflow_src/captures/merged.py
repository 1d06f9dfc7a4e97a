"""Traces of several ranks that a tool merged into one, whose processes are named by text.

SGLang's merge_profiles (python/sglang/srt/utils/profile_merger.py) makes "[TP00] 500" of process
500 of rank 0, and "[TP00] 0" of its device, and leaves numbers of launches as they were. A launch
is of its own rank: of a process whose text is that of the device but for one number.
"""

import re
from collections.abc import Mapping

import pandas as pd

from workflow_src.captures.capture import UNKNOWN, Note
from workflow_src.captures.rows import Parts
from workflow_src.common.printable import printable

DEVICES = 2**16
"""More than a rank has. Ranks of one job never share one, whatever number it has in each."""

LAUNCH_BITS = 32
"""Of a profiler's number of a launch. In a merged trace its rank, from 1, stands above them."""

NAMED, NUMBER = "named", re.compile(r"(\d+)(?=\D*$)")
"""A column of work: the process that its device's name says, or UNKNOWN; and the last number in a
text, that of the process or device itself."""

HOST = ("ranges", "calls", "operators")


def told_apart(parts: Parts, texts: Mapping[str, int]) -> tuple[Parts, list[Note]]:
    """The parts of a trace with launches and devices numbered apart by rank, and processes that the
    file names by text numbered in its order, as a note says.

    texts: the number that each has in events.
    """
    on_host = pd.concat([parts[n]["process"] for n in HOST if n in parts]).unique()
    if not {*on_host} & {*texts.values()}:
        return parts, []
    names = pd.DataFrame({"text": [*texts]}, [*texts.values()], dtype=object)
    label = names["text"].str.replace(NUMBER, "", regex=True)
    hosts = names["text"][names.index.isin(on_host)]
    shown = pd.Series(range(len(hosts)), hosts.index)
    only = shown.groupby(label).agg(lambda some: UNKNOWN if len(some) > 1 else some.iloc[0])
    names["rank"] = pd.factorize(label)[0] + 1
    names["shown"] = shown.reindex(names.index).fillna(label.map(only)).fillna(UNKNOWN)
    about = ", ".join(f"{n} is {printable(text)}" for n, text in enumerate(hosts))
    found = {part: _apart(rows, names) for part, rows in parts.items()}
    return found, [Note("named processes", len(hosts), about)]


def _apart(rows: pd.DataFrame, names: pd.DataFrame) -> pd.DataFrame:
    own = rows["process"]
    rank, shown = (own.map(names[name]) for name in ("rank", "shown"))
    above = rank.fillna(0).astype("int64")
    if "correlation" in rows:
        launch = rows["correlation"]
        rows = rows.assign(correlation=launch + (above * 2**LAUNCH_BITS).where(launch > 0, 0))
    if "device" not in rows:
        return rows.assign(process=shown.fillna(own).astype("int64"))
    device = rows["device"].where(rows["device"] != UNKNOWN, own) + above * DEVICES
    return rows.assign(device=device, **{NAMED: shown.fillna(UNKNOWN).astype("int64")})
