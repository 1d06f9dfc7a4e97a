"""The tables of an nsys export, an SQLite file, whose columns are looked up by name."""

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_src.captures.capture import LATEST_NS, UNKNOWN, Note
from workflow_src.captures.files import GIVE
from workflow_src.common.errors import TraceError
from workflow_src.common.intervals import Indices
from workflow_src.common.printable import printable

WORK_TABLES = {
    name: f"CUPTI_ACTIVITY_KIND_{name}" for name in ("KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE")
}
RUNTIME, EVENTS = "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"
OVERHEADS, ABOUT = "PROFILER_OVERHEAD", "META_DATA_EXPORT"
NEEDED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(WORK_TABLES.values(), ("start", "end", "globalPid", "correlationId")),
    RUNTIME: ("start", "end", "globalTid", "correlationId"),
    EVENTS: ("start", "end", "eventType", "globalTid"),
    OVERHEADS: ("start", "end"),
}
"""The tables of events that are read, and the columns without which one can't be."""

MISSING = {"start": -LATEST_NS, "end": LATEST_NS}
"""What stands for a missing number, so that the event never ends; in others UNKNOWN."""

NOT_WORK = re.compile(r"SYNCHRONIZATION|CUDA_EVENT|OVERHEAD|RUNTIME|DRIVER|MARKER")
"""Tables of activities that take no time of a device."""

JOINED = 2**18
"""Rows whose numbers are joined at a time: few megabytes."""

Columns = dict[str, Indices]


@dataclass(frozen=True)
class Store:
    """The open tables of an export by name, with the names of their columns."""

    tables: Mapping[str, tuple[str, ...]]
    path: Path
    connection: sqlite3.Connection

    def has(self, table: str, *columns: str) -> bool:
        """Whether a table is there, with these columns."""
        return table in self.tables and {*columns} <= {*self.tables[table]}

    def integers(self, table: str, names: Sequence[str]) -> Columns:
        """Columns of integers of a table by name, in one order; without rows if it isn't there.

        Missing values are those of MISSING, or UNKNOWN. Raises TraceError where a column is missing
        that NEEDED names, and ValueError if one holds other things.
        """
        columns = self.tables.get(table, ())
        lost = {*names} & {*NEEDED.get(table, ())} - {*columns}
        if columns and lost:
            raise TraceError(
                f"its table {table} has no column {min(lost)}, it has {', '.join(columns)[:150]}"
                "; export it with nsys 2023.4 or later"
            )
        here = {name: MISSING.get(name, UNKNOWN) for name in names if name in columns}
        found = dict(zip(here, self._integers(table, here) if here else (), strict=True))
        absent = np.full(max(map(len, found.values()), default=0), UNKNOWN)
        return {name: found.get(name, absent) for name in names}

    def values(self, table: str, name: str) -> list[Any]:
        """A column of text, None where it is missing; [] without such a column."""
        if not self.has(table, name):
            return []
        query = f'SELECT "{name}" FROM "{table}" ORDER BY rowid'
        return [value for (value,) in self.connection.execute(query)]

    def texts(self, numbers: Any) -> dict[int, str]:
        """The strings of these numbers, as far as the export has them."""
        own = pd.unique(np.asarray(numbers)).tolist()
        return {n: printable(self._strings[n]) for n in own if self._strings.get(n) is not None}

    @cached_property
    def _strings(self) -> dict[int, str]:
        return self.named("StringIds", "value")

    def named(self, table: str, text: str = "label") -> dict[int, str]:
        """What the numbers of a table mean."""
        numbers = self.integers(table, ("id",))["id"].tolist()
        return dict(zip(numbers, self.values(table, text), strict=False))

    def check(self) -> None:
        """Raise TraceError if this isn't an export of nsys."""
        if not {*NEEDED, ABOUT} & {*self.tables}:
            here = ", ".join(self.tables)[:150] or "none"
            raise TraceError(f"it isn't an export of nsys: its tables are {here}; {GIVE}")

    def unread(self) -> list[Note]:
        """The tables of activities that aren't read."""
        of_work = ("start", "end", "correlationId", "streamId")
        those = [n for n in self.tables if self.has(n, *of_work) and not NOT_WORK.search(n)]
        counts = {n: len(self.integers(n, ("start",))["start"]) for n in those if n not in NEEDED}
        return [Note("unread tables", count, name) for name, count in counts.items() if count]

    def _integers(self, table: str, columns: Mapping[str, int]) -> list[Indices]:
        """SQLite joins each column as text, because a tuple for each row takes twice the time.
        Raises ValueError where what it joined isn't as many integers."""
        query = _joined(table, columns)
        # Bytes that grow take less memory than parts that are put together at last.
        found, last = [bytearray() for _ in columns], -(2**63)
        while True:
            rows, last, *cells = self.connection.execute(query, (last,)).fetchone()
            if not rows:
                return [np.frombuffer(column, dtype=np.int64) for column in found]
            for name, column, text in zip(columns, found, cells, strict=True):
                part = np.fromstring(text, dtype=np.int64, sep=",")
                if len(part) != rows:
                    raise ValueError(f"column {name} of {table} holds other things than integers")
                column += part.data


def _joined(table: str, columns: Mapping[str, int]) -> str:
    """A query: how many rows come next, the last one, and columns joined by commas."""
    values = (f'ifnull("{name}", {instead})' for name, instead in columns.items())
    inner = ", ".join(f"{value} AS c{n}" for n, value in enumerate(values))
    joined = ", ".join(f"CAST(group_concat(c{n}) AS BLOB)" for n in range(len(columns)))
    return (
        f'SELECT count(*), max(at), {joined} FROM (SELECT rowid AS at, {inner} FROM "{table}" '
        f"WHERE rowid > ? ORDER BY rowid LIMIT {JOINED})"
    )


@contextmanager
def opened(path: Path) -> Iterator[Store]:
    """The tables of an SQLite file, which is only read; not its views."""
    uri = f"{path.resolve().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        connection.text_factory = lambda text: text.decode("utf-8", "backslashreplace")
        query = "SELECT name FROM sqlite_master WHERE type = 'table'"
        # nsys has no such name.
        names = [name for (name,) in connection.execute(query) if '"' not in name]
        about = {n: connection.execute(f'PRAGMA table_info("{n}")').fetchall() for n in names}
        tables = {name: tuple(row[1] for row in rows) for name, rows in about.items()}
        yield Store(tables, path, connection)
