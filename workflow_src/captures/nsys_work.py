"""What devices did, in an nsys export: kernels, copies, sets and whole graphs, and which streams
waited for each other."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals

from workflow_src.captures.capture import (
    COPY,
    GRAPH,
    KERNEL,
    LATEST_NS,
    SET,
    STREAM_WAITS,
    UNKNOWN,
    UNKNOWN_TEXT,
    WORK,
    as_small,
    coded,
    copies_frame,
    empty,
    joined_copies,
)
from workflow_src.captures.launches import Numbered, stream_waits
from workflow_src.captures.rows import in_order, repeated
from workflow_src.captures.store import WORK_TABLES, Columns, Store
from workflow_src.common.intervals import Indices

KINDS = {"KERNEL": KERNEL, "MEMCPY": COPY, "MEMSET": SET, "GRAPH_TRACE": GRAPH}
AT = ("start", "end", "globalPid", "correlationId", "deviceId", "streamId")
KERNEL_NAME = "demangledName"
MORE: dict[str, tuple[str, ...]] = {
    "KERNEL": (KERNEL_NAME,),
    "MEMCPY": ("bytes", "copyKind", "srcKind", "dstKind"),
    "MEMSET": ("bytes", "memKind"),
    "GRAPH_TRACE": ("graphId",),
}
"""What is read of each table besides."""

NODE = "graphNodeId"
"""Tells apart the kernels of one launch of a graph."""

COPY_KINDS, MEMORY_KINDS = "ENUM_CUDA_MEMCPY_OPER", "ENUM_CUDA_MEM_KIND"
OPERATIONS = {1: "HtoD", 2: "DtoH", 8: "DtoD", 9: "HtoH", 10: "PtoP"}
MEMORIES = dict(enumerate(("pageable", "pinned", "device", "device", "managed", "device")))
"""What nsys 2023.4 to 2025.3 means by the numbers, for exports without tables that say so."""

BETWEEN = re.compile(r"(\w)\w*-to-(\w)")
"""In the label of an operation: Host-to-Device, Unified Device-to-Host."""


COLUMNS = ("start_ns", "end_ns", "process", "correlation", "device", "stream")
SMALL = COLUMNS[3:]
NONE = np.array([], dtype=np.int64)


@dataclass
class Worked:
    """The work of devices: a table after the other, each by time and each activity once.

    rows: as in Capture.work, but of launches the number alone, as `correlation`; copies: as in
    Capture.copies; total_ns: what the file has of it, but for what stands there again: `twice`.
    """

    rows: pd.DataFrame
    copies: pd.DataFrame
    total_ns: int = 0
    twice: int = 0

    def copies_of(self, some: pd.DataFrame) -> pd.DataFrame:
        """The copies among some of the rows."""
        place = some.index.get_indexer(pd.Index(self.copies["work"]))
        return copies_frame(dict(self.copies.assign(work=place)[place >= 0].items()))


def read_work(store: Store, lost: Counter[str]) -> Worked:
    """The device work of an export; `lost`: how many rows are left out or lack their names."""
    found = Worked(empty(WORK), copies_frame({}))
    kinds, names, parts, copies = [], [coded(NONE, [])], [], []
    for key in (key for key, table in WORK_TABLES.items() if store.has(table)):
        rows = _once(store, WORK_TABLES[key], (*AT, *MORE[key]), found, lost)
        names.append(_names(store, key, rows, lost))
        copies.append((_copies(store, KINDS[key], rows), len(rows["start"])))
        rows["globalPid"] = rows["globalPid"] >> 24
        parts.append({name: rows.pop(own) for name, own in zip(COLUMNS, AT, strict=True)})
        parts[-1] |= {name: as_small(parts[-1][name]) for name in SMALL}
        kinds.append(np.full(copies[-1][1], [*KINDS].index(key)))
    columns: dict[str, object] = {
        "kind": coded(_joined(kinds), [*KINDS.values()]).remove_unused_categories(),
        "name": union_categoricals(names),
    }
    columns |= {name: _joined([part.pop(name) for part in parts]) for name in COLUMNS}
    found.rows, found.copies = pd.DataFrame(columns, copy=False), joined_copies(copies)
    return found


def _joined(columns: Sequence[Indices]) -> Indices:
    """That of a single table takes no memory of its own."""
    some = [column for column in columns if len(column)]
    return some[0] if len(some) == 1 else np.concatenate([NONE, *some])


def _once(
    store: Store, table: str, names: Sequence[str], found: Worked, lost: Counter[str]
) -> Columns:
    """The valid rows of one table by time, each once; adds up what the others were."""
    rows = store.integers(table, names)
    good = (rows["end"] >= rows["start"]) & (rows["start"] > -LATEST_NS)
    good &= rows["end"] < LATEST_NS
    lost["bad work"] += int((~good).sum())
    if not good.all():
        rows = {name: column[good] for name, column in rows.items()}
    keys = list(rows.values())
    order = in_order(keys)
    again = repeated(order, keys)
    if len(again) and store.has(table, NODE):
        keys.append(store.integers(table, (NODE,))[NODE][good])
        order = in_order(keys)
        again = repeated(order, keys)
    found.twice += len(again)
    found.total_ns += store.total_ns(table) - int((rows["end"][again] - rows["start"][again]).sum())
    if len(again):
        order = order[~np.isin(order, again)]
    del keys
    if len(again) or (order[1:] < order[:-1]).any():
        # A column of ten million is let go before the next one is made.
        for name in rows:
            rows[name] = rows[name][order]
    return rows


def _names(store: Store, key: str, rows: Columns, lost: Counter[str]) -> "pd.Categorical[str]":
    """The name of each activity; that of some is only a number."""
    if key == "MEMSET":
        return coded(np.zeros(len(rows["start"]), dtype=np.int8), ["[CUDA memset]"])
    column = {"KERNEL": KERNEL_NAME, "MEMCPY": "copyKind", "GRAPH_TRACE": "graphId"}[key]
    code, own = pd.factorize(rows.pop(column) if key == "KERNEL" else rows[column])
    if key == "GRAPH_TRACE":
        texts = {n: "CUDA graph" if n == UNKNOWN else f"CUDA graph {n}" for n in own.tolist()}
    elif key == "KERNEL":
        texts = store.texts(own)
    else:
        texts = {n: f"[CUDA memcpy {label}]" for n, label in store.labels(COPY_KINDS).items()}
    named = np.isin(own, list(texts))
    lost["lost names"] += int((~named)[code].sum())
    return coded(code, [texts.get(n, f"({KINDS[key]} {n})") for n in own.tolist()])


def _copies(store: Store, kind: str, columns: Columns) -> pd.DataFrame:
    """Copies or sets as in Capture.copies, numbered from 0; of other work, no rows."""
    if kind not in (COPY, SET):
        return copies_frame({})
    memory = MEMORIES | {n: _memory(label) for n, label in store.labels(MEMORY_KINDS).items()}
    count = len(columns["bytes"])
    rows: dict[str, object] = {"work": np.arange(count), "bytes": columns["bytes"]}
    if kind == SET:
        both = {"source": [UNKNOWN_TEXT] * count, "target": _meant(columns["memKind"], memory)}
        return copies_frame(rows | both | {"direction": [SET] * count})
    operations = {
        number: "to".join(ends.groups())
        for number, label in store.labels(COPY_KINDS).items()
        if (ends := BETWEEN.search(label))
    }
    both = {
        "source": _meant(columns["srcKind"], memory),
        "target": _meant(columns["dstKind"], memory),
    }
    direction = _meant(columns["copyKind"], OPERATIONS | operations)
    return copies_frame(rows | both | {"direction": direction})


def _memory(label: str) -> str:
    """Device Static and arrays lie on the device; Managed Static is managed."""
    word = label.lower().split()[0]
    return "device" if word == "array" else word


def _meant(numbers: Indices, known: Mapping[int, str]) -> "pd.Categorical[str]":
    code, own = pd.factorize(numbers)
    return coded(code, [known.get(number, UNKNOWN_TEXT) for number in own.tolist()])


SYNCHRONIZATIONS, RECORDS, CONTEXTS = (
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
    "TARGET_INFO_CUDA_CONTEXT_INFO",
)
STREAM_WAITS_FOR_EVENT = 2
"""In ENUM_CUPTI_SYNC_TYPE, as in CUpti_ActivitySynchronizationType."""

EVENT = ("globalPid", "eventId", "eventSyncId")
"""What a wait and the record that it waits for have in common."""

CALLED = ("contextId", "streamId", "correlationId")
CONTEXT = ("processId", "contextId")


def nsys_waits(store: Store, made: Numbered) -> pd.DataFrame:
    """Which stream waited for which record, with STREAM_WAITS and nsys's own numbers of processes.

    A wait's own deviceId is 0 whatever its device is: its context tells that.
    """
    needed = {SYNCHRONIZATIONS: (*CALLED, "syncType"), CONTEXTS: (*CONTEXT, "deviceId")}
    if not all(store.has(table, *names) for table, names in needed.items()):
        return empty(STREAM_WAITS)
    waits = pd.DataFrame(store.integers(SYNCHRONIZATIONS, (*CALLED, *EVENT, "start", "syncType")))
    waits = waits[waits["syncType"] == STREAM_WAITS_FOR_EVENT]
    records = pd.DataFrame(columns=[*EVENT, *CALLED], dtype="int64")
    if store.has(RECORDS, *EVENT, *CALLED):
        records = pd.DataFrame(store.integers(RECORDS, (*EVENT, *CALLED))).drop_duplicates(EVENT)
    contexts = pd.DataFrame(store.integers(CONTEXTS, (*CONTEXT, "deviceId")))
    device = contexts.drop_duplicates(CONTEXT, keep=False).set_index(list(CONTEXT))["deviceId"]
    both = waits.merge(records, "left", on=list(EVENT), suffixes=("", "_of")).fillna(UNKNOWN)
    process = both["globalPid"].to_numpy() >> 24
    columns: Columns = {"process": process, "seen_ns": both["start"].to_numpy()}
    for prefix, suffix in (("", ""), ("record_", "_of")):
        context, stream, number = (both[name + suffix].to_numpy(np.int64) for name in CALLED)
        places = device.reindex([process & 0xFFFFFF, context]).fillna(UNKNOWN)
        columns |= {f"{prefix}device": places.to_numpy(np.int64), f"{prefix}stream": stream}
        columns |= {f"{prefix}number": number}
    return stream_waits(pd.DataFrame(columns), made)
