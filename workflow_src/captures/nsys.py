"""Reads an nsys export of any program, of nsys 2023.4 and later."""

import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd

from workflow_src.captures import autograd
from workflow_src.captures.capture import (
    GRAPH,
    LATEST_NS,
    REUSED_NUMBERS,
    UNKNOWN,
    Capture,
    Recording,
    as_small,
    coded,
    counted,
)
from workflow_src.captures.cards import PROPERTY, one_card
from workflow_src.captures.domains import DEFAULT
from workflow_src.captures.launches import Numbered, all_calls, launched
from workflow_src.captures.nsys_work import LOWER, process_of, read_work
from workflow_src.captures.rows import checked
from workflow_src.captures.store import ABOUT, EVENTS, OVERHEADS, RUNTIME, Store, opened
from workflow_src.common.printable import printable

DOMAIN, READ = 75, (59, 60, 70, 71, 75)
"""Types of events, since nsys 2023.4: of ranges pushed, started, and imported from a text file."""

OF_RANGES = ("start", "end", "eventType", "globalTid", "textId", "domainId")
OF_CALLS = ("start", "end", "globalTid", "correlationId", "nameId")

VERSION = re.compile(r"_v\d+$")
"""What nsys appends to a call's name, as _v7000."""

GPUS = "TARGET_INFO_GPU"
SYSTEM, DRIVER = "TARGET_INFO_SYSTEM_ENV", "NvDriverVersion"
PRODUCT = "EXPORT_PRODUCT_VERSION"


def read(store: Store) -> Capture:
    """The capture in an nsys export. Raises TraceError, or what reading the store raises."""
    store.check()
    lost = Counter[str]()
    # Calls are read in another thread meanwhile.
    with ThreadPoolExecutor(1) as beside:
        reading = beside.submit(_calls, store, RUNTIME, lost)
        work, copies = read_work(store, lost)
        overheads = _calls(store, OVERHEADS, Counter())
        parts = {"calls": reading.result(), "overheads": overheads, "work": work}
    parts, notes = checked({"ranges": _ranges(store, lost), **parts})
    ranges, calls, overheads, work = parts.values()
    copies["work"] = work.index.get_indexer(pd.Index(copies["work"]))
    copies = copies[copies["work"] >= 0]
    made = Numbered.of(calls)
    launches, lost[REUSED_NUMBERS], counts = launched(work, made)
    # With ten million activities, calls that aren't let go at once take a GB.
    del parts, calls
    lost["whole graphs"] = int((work["kind"] == GRAPH).sum())
    lengths = {"duration_ns": work["end_ns"] - work["start_ns"]}
    tables = {
        "ranges": ranges,
        "work": dict(work.items()) | lengths | launches,
        "calls": all_calls(made, work, copies, overheads),
        "copies": copies,
        "thread_names": _thread_names(store),
        "operators": autograd.pushed(ranges),
    }
    notes = [*counted(lost), *notes, *store.unread()]
    return Capture.of(tables, tuple(notes), recording(store, counts))


def _calls(store: Store, table: str, lost: Counter[str]) -> pd.DataFrame:
    """The calls, or nsys's own time, as Capture.calls with `correlation`; one without an end ends
    where it begins."""
    # A connection of its own, as it may be used in another thread.
    with opened(store.path) as own_store:
        rows = own_store.integers(table, OF_CALLS)
        # Of ten million calls, a column that isn't let go takes 80 MB.
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
    columns: dict[str, Any] = {
        "name": coded(code, names),
        "start_ns": rows.pop("start"),
        "end_ns": rows.pop("end"),
        "process": as_small(process_of(thread)),
        "thread": as_small(np.where(thread == UNKNOWN, UNKNOWN, thread & LOWER)),
        "correlation": as_small(rows.pop("correlationId")),
    }
    return pd.DataFrame(columns, copy=False)


def _ranges(store: Store, lost: Counter[str]) -> pd.DataFrame:
    rows = pd.DataFrame(store.integers(EVENTS, OF_RANGES), copy=False)
    rows["process"] = process_of(rows["globalTid"].to_numpy())
    rows["name"] = _texts(store, rows["textId"].tolist())
    rows = rows[rows["eventType"].isin(READ)]
    # The number of a domain counts within its process only.
    created, by = rows["eventType"] == DOMAIN, ["process", "domainId"]
    domains = rows[created].drop_duplicates(by, keep="last")
    rows = rows[~created].merge(domains[[*by, "name"]], "left", on=by, suffixes=("", "_of"))
    number = rows["domainId"]
    domain = rows["name_of"].fillna("domain " + number.astype(str).astype(object))
    rows["domain"] = domain.mask(number.isin((0, UNKNOWN)), DEFAULT)
    start, end, thread = (rows[n] for n in ("start", "end", "globalTid"))
    good = (start > -LATEST_NS) & (end <= LATEST_NS) & (thread != UNKNOWN) & (start <= end)
    lost["bad ranges"] += int((~good).sum())
    rows = rows[good].iloc[np.lexsort((-end[good], start[good]))].reset_index(drop=True)
    times = {"start_ns": rows["start"], "end_ns": rows["end"]}
    return rows[["name", "domain", "process"]].assign(thread=rows["globalTid"] & LOWER, **times)


def _texts(store: Store, numbers: list[int]) -> list[str]:
    """The name of each event: a text of its own, or the number of a registered string."""
    own = store.values(EVENTS, "text") or [None] * len(numbers)
    strings = {UNKNOWN: "(no name)", **store.texts(numbers)}
    return [
        strings.get(number, f"(string {number})") if text is None else printable(text)
        for text, number in zip(own, numbers, strict=True)
    ]


def _thread_names(store: Store) -> dict[str, Any]:
    number, thread = store.integers("ThreadNames", ("nameId", "globalTid")).values()
    texts = store.texts(number)
    names = [texts.get(name, "") for name in number.tolist()]
    return {"process": process_of(thread), "thread": thread & LOWER, "name": names}


def recording(store: Store, counts: dict[str, Any]) -> Recording:
    """How the export's capture was recorded; counts: what Recording has of launches."""
    about = dict[str, str]()
    for table in (SYSTEM, ABOUT):
        pairs = zip(*(store.values(table, name) for name in ("name", "value")), strict=False)
        about |= {printable(name): printable(value) for name, value in pairs if value is not None}
    numbers = (column.tolist() for column in store.integers(GPUS, PROPERTY[1:]).values())
    cards = zip(store.values(GPUS, PROPERTY[0]), *numbers, strict=False)
    card = one_card(cards, about.get(DRIVER, ""))
    return Recording("nsys", about.get(PRODUCT, "unknown"), card=card, **counts)
