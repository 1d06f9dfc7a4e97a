"""What devices did, in an nsys export."""

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals

from workflow_src.captures.capture import (
    COPY,
    GRAPH,
    KERNEL,
    LATEST_NS,
    SET,
    UNKNOWN,
    UNKNOWN_TEXT,
    as_small,
    coded,
    frame,
)
from workflow_src.captures.store import WORK_TABLES, Columns, Store
from workflow_src.common.intervals import Indices
from workflow_src.common.printable import printable

KINDS = {"KERNEL": KERNEL, "MEMCPY": COPY, "MEMSET": SET, "GRAPH_TRACE": GRAPH}
AT = {
    "start": "start_ns",
    "end": "end_ns",
    "globalPid": "process",
    "correlationId": "correlation",
    "deviceId": "device",
    "streamId": "stream",
}
"""What is read of each table, and its name then."""

SMALL = ("correlation", "device", "stream")
MORE: dict[str, tuple[str, ...]] = {
    "KERNEL": ("demangledName",),
    "MEMCPY": ("bytes", "copyKind", "srcKind", "dstKind"),
    "MEMSET": ("bytes", "memKind"),
    "GRAPH_TRACE": ("graphId",),
}

OPERATIONS = {1: "HtoD", 2: "DtoH", 8: "DtoD", 9: "HtoH", 10: "PtoP"}
MEMORIES = dict(enumerate(("pageable", "pinned", "device", "device", "managed", "device")))
"""Numbers of copies and memories, as CUPTI's."""

LOWER = 2**24 - 1
"""The bits of a thread in nsys's number of it; above them are those of its process."""


def process_of(number: Indices) -> Indices:
    """The process of nsys's number of a thread or process, if it is one."""
    return np.where(number == UNKNOWN, UNKNOWN, (number >> 24) & LOWER)


def read_work(store: Store, lost: Counter[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The device work of an export, a table after the other, each by time; and its copies.

    Both as in Capture, but of launches the number alone, as `correlation`. lost: counts bad rows.
    """
    keys = [key for key, table in WORK_TABLES.items() if store.has(table)]
    names, parts, counts = [coded(np.array([], np.int8), [])], [], list[int]()
    copies = [frame("copies", {})]
    for key in keys:
        rows = _in_time(store, WORK_TABLES[key], (*AT, *MORE[key]), lost)
        names.append(_names(store, key, rows))
        if key in ("MEMCPY", "MEMSET"):
            copies.append(_copies(key == "MEMCPY", rows, sum(counts)))
        counts.append(len(rows["start"]))
        rows["globalPid"] = process_of(rows["globalPid"])
        parts.append({name: rows.pop(own) for own, name in AT.items()})
        # Each column is let go once it is small, as there may be ten million rows.
        parts[-1] |= {name: as_small(parts[-1][name]) for name in SMALL}
    kinds = np.repeat(np.arange(len(keys)), counts)
    columns: dict[str, object] = {
        "kind": coded(kinds, [KINDS[key] for key in keys]).remove_unused_categories(),
        "name": union_categoricals(names),
    }
    for name in AT.values():
        some = [part.pop(name) for part in parts]
        columns[name] = some[0] if len(some) == 1 else np.concatenate([np.array([], int), *some])
    return pd.DataFrame(columns, copy=False), frame("copies", pd.concat(copies))


def _in_time(store: Store, table: str, names: tuple[str, ...], lost: Counter[str]) -> Columns:
    rows = store.integers(table, names)
    start, end = rows["start"], rows["end"]
    good = (end >= start) & (start > -LATEST_NS) & (end < LATEST_NS)
    lost["bad work"] += int((~good).sum())
    if not good.all():
        rows = {name: column[good] for name, column in rows.items()}
    order = np.argsort(rows["start"], kind="stable")
    if (order[1:] < order[:-1]).any():
        # A column of ten million is let go before the next one is made.
        for name in rows:
            rows[name] = rows[name][order]
    return rows


def _names(store: Store, key: str, rows: Columns) -> "pd.Categorical[str]":
    if key == "MEMSET":
        return coded(np.zeros(len(rows["start"]), dtype=np.int8), ["[CUDA memset]"])
    column = {"KERNEL": "demangledName", "MEMCPY": "copyKind", "GRAPH_TRACE": "graphId"}[key]
    code, own = pd.factorize(rows.pop(column) if key == "KERNEL" else rows[column])
    if key == "GRAPH_TRACE":
        texts = {n: "CUDA graph" if n == UNKNOWN else f"CUDA graph {n}" for n in own.tolist()}
    elif key == "KERNEL":
        texts = store.texts(own)
    else:
        labels = store.named("ENUM_CUDA_MEMCPY_OPER").items()
        texts = {n: printable(f"[CUDA memcpy {label}]") for n, label in labels}
    return coded(code, [texts.get(n, f"({KINDS[key]} {n})") for n in own.tolist()])


def _copies(is_copy: bool, rows: Columns, before: int) -> pd.DataFrame:
    """Capture.copies of one table's rows, which have so many rows of work before them."""

    def meant(column: str, known: dict[int, str]) -> Any:
        code, own = pd.factorize(rows[column])
        return coded(code, [known.get(number, UNKNOWN_TEXT) for number in own.tolist()])

    columns = {
        "work": before + np.arange(len(rows["bytes"])),
        "direction": meant("copyKind", OPERATIONS) if is_copy else SET,
        "source": meant("srcKind", MEMORIES) if is_copy else UNKNOWN_TEXT,
        "target": meant("dstKind" if is_copy else "memKind", MEMORIES),
        "bytes": rows["bytes"],
    }
    return pd.DataFrame(columns)
