"""Reads an nsys export of any program, of nsys 2023.4 and later."""

import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.captures import autograd
from workflow_src.captures.capture import (
    GRAPH,
    LATEST_NS,
    RANGES,
    REUSED_NUMBERS,
    THREADS,
    UNKNOWN,
    WORK,
    Capture,
    as_small,
    calls_frame,
    coded,
    counted,
    frame,
)
from workflow_src.captures.domains import DEFAULT
from workflow_src.captures.launches import Numbered, all_calls, launched
from workflow_src.captures.nsys_recording import recording
from workflow_src.captures.nsys_work import LOWER, copies_of, nsys_waits, process_of, read_work
from workflow_src.captures.rows import Mask, checked, in_order
from workflow_src.captures.store import EVENTS, OVERHEADS, RUNTIME, Columns, Store
from workflow_src.common.errors import TraceError
from workflow_src.common.intervals import Integers
from workflow_src.common.printable import printable

PUSH_POP, START_END, DOMAIN = 59, 60, 75
IMPORTED_PUSH_POP, IMPORTED_START_END = 70, 71
"""Types of events, since nsys 2023.4; imported ones come from a text file."""

TIMED = ("eventType", (PUSH_POP, START_END, IMPORTED_PUSH_POP, IMPORTED_START_END))
CREATED = ("eventType", (DOMAIN,))
OF_RANGES = ("start", "end", "eventType", "globalTid", "endGlobalTid", "textId", "domainId")
OF_CALLS = ("start", "end", "globalTid", "correlationId", "nameId")

VERSION = re.compile(r"_v\d+$")
"""What nsys appends to a call's name: cudaLaunchKernel_v7000."""

Lost = Counter[str]
"""How many events were left out or changed, by the note that says so."""


def read(store: Store) -> Capture:
    """The capture in an nsys export. Raises TraceError, or what reading the store raises."""
    store.check()
    lost = Lost()
    # The calls are read in another thread while this one reads all else.
    with ThreadPoolExecutor(1) as beside:
        reading = beside.submit(_calls, store, RUNTIME, lost)
        work, copies = read_work(store, lost)
        overheads = _calls(store, OVERHEADS, Lost())
        calls = reading.result()
    ranges = _ranges(store, lost)
    parts = {"ranges": ranges, "calls": calls, "overheads": overheads, "work": work}
    parts, unclosed, notes = checked(parts)
    ranges, calls, overheads, rows = parts.values()
    made, copies = Numbered.of(calls), copies_of(copies, rows)
    found = launched(rows, made)
    calls = all_calls(made, rows, copies, overheads)
    lost |= {"unclosed": unclosed, REUSED_NUMBERS: found.reused}
    lost["whole graphs"] = int((rows["kind"] == GRAPH).sum())
    processes = {*ranges["process"].unique(), *rows["process"].unique()}
    lengths = {"duration_ns": rows["end_ns"] - rows["start_ns"]}
    return Capture(
        frame(RANGES, ranges),
        frame(WORK, dict(rows.items()) | lengths | found.columns),
        calls,
        copies,
        _thread_names(store, processes),
        nsys_waits(store, made),
        (*counted(lost), *notes, *store.unread()),
        recording(store, found),
        autograd.pushed(ranges),
    )


def _calls(store: Store, table: str, lost: Lost) -> pd.DataFrame:
    """The calls, or the time that nsys recorded as its own, that have a start, as Capture.calls.

    What has no end ends where it begins; of nsys's own time, that is left out.
    """
    with store.apart() as own_store:
        rows = own_store.integers(table, OF_CALLS)
        # With ten million calls, each column that isn't let go at once takes 80 MB.
        code, own = pd.factorize(rows.pop("nameId"))
        texts = own_store.texts(own)
    start, end = rows["start"], rows["end"]
    good = (start > -LATEST_NS) & (start < LATEST_NS)
    ends = (end >= start) & (end < LATEST_NS)
    if table == OVERHEADS:
        good &= ends
    lost["bad calls"] += int((~good).sum())
    lost["endless calls"] += int((good & ~ends).sum())
    if not (good.all() and ends.all()):
        rows["end"] = np.where(ends, end, start)
        rows, code = {name: values[good] for name, values in rows.items()}, code[good]
    names = [VERSION.sub("", texts.get(number, "")) for number in own.tolist()]
    names = ["profiler overhead"] * len(own) if table == OVERHEADS else names
    thread = rows.pop("globalTid")
    numbers: dict[str, Integers] = {
        "start_ns": rows.pop("start"),
        "end_ns": rows.pop("end"),
        "correlation": rows.pop("correlationId"),
        "process": process_of(thread),
        "thread": as_small(np.where(thread == UNKNOWN, UNKNOWN, thread & LOWER)),
    }
    return calls_frame(
        coded(np.zeros(len(thread), dtype=np.int8), ["api"]), coded(code, names), numbers
    )


def _ranges(store: Store, lost: Lost) -> pd.DataFrame:
    """All ranges in order of time, of one start the longest first."""
    near = [name for name in store.tables if name.upper().startswith("NVTX_EVENT")]
    if near and not store.has(EVENTS):
        raise TraceError(f"its table {near[0]} isn't one of ranges that this reader knows")
    rows = store.integers(EVENTS, OF_RANGES, TIMED)
    start, end, thread = rows["start"], rows["end"], rows["globalTid"]
    good = (start > -LATEST_NS) & (end <= LATEST_NS) & (thread != UNKNOWN) & (start <= end)
    names, lost_names = _texts(store, rows, TIMED)
    crossing = (rows["endGlobalTid"] != UNKNOWN) & (rows["endGlobalTid"] != thread)
    lost["bad ranges"] += int((~good).sum())
    lost["crossing"] += int((good & crossing).sum())
    lost["lost names"] += int((good & lost_names).sum())
    domains = _domains(store, rows)
    keys = [each[good] for each in (start, -end, thread, names, domains)]
    order = in_order(keys)
    start, end, thread, names, domains = (key[order] for key in keys)
    columns = {
        "name": pd.Series(names, dtype=object),
        "domain": pd.Series(domains, dtype=object),
        "start_ns": start,
        "end_ns": -end,
        "process": process_of(thread),
        "thread": thread & LOWER,
    }
    return pd.DataFrame(columns, copy=False)


def _texts(store: Store, rows: Columns, among: tuple[str, tuple[int, ...]]) -> tuple[Any, Mask]:
    """The name of each of these events, and whether the file lacks it.

    An event has a text of its own, or the number of a registered string.
    """
    count = len(rows["textId"])
    own = store.values(EVENTS, "text", among) or [None] * count
    strings = store.texts(rows["textId"])
    names, lost = np.empty(count, dtype=object), np.zeros(count, dtype=bool)
    for row, (text, number) in enumerate(zip(own, rows["textId"].tolist(), strict=True)):
        lost[row] = text is None and number not in strings
        instead = "(no name)" if number == UNKNOWN else f"(string {number})"
        names[row] = printable(text) if text is not None else strings.get(number, instead)
    return names, lost


def _domains(store: Store, ranges: Columns) -> npt.NDArray[np.object_]:
    """Each range's domain by name: its number counts within its process only."""
    created = store.integers(EVENTS, OF_RANGES, CREATED)
    texts, lost = _texts(store, created, CREATED)
    keys, of_ranges = (
        zip(process_of(rows["globalTid"]).tolist(), rows["domainId"].tolist(), strict=True)
        for rows in (created, ranges)
    )
    names = {key: text for key, text, is_lost in zip(keys, texts, lost, strict=True) if not is_lost}
    each = [
        DEFAULT if key[1] in (0, UNKNOWN) else names.get(key, f"domain {key[1]}")
        for key in of_ranges
    ]
    return np.array(each, dtype=object)


def _thread_names(store: Store, processes: set[int]) -> pd.DataFrame:
    """The names of the threads of some processes, with THREADS; nsys lists all of the host."""
    rows = store.integers("ThreadNames", ("nameId", "globalTid"))
    number, thread = rows["nameId"], rows["globalTid"]
    process = process_of(thread)
    own = np.isin(process, list(processes)) & (thread != UNKNOWN)
    texts = store.texts(number[own])
    names = [texts.get(name, "") for name in number[own].tolist()]
    columns = {"process": process[own], "thread": thread[own] & LOWER, "name": names}
    return frame(THREADS, columns)
