"""An nsys export as tables whose names and columns may differ from version to version."""

import math
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from workflow_src.captures.capture import UNKNOWN, Note, printable
from workflow_src.captures.files import GIVE
from workflow_src.common.errors import TraceError
from workflow_src.traces.intervals import Indices
from workflow_src.traces.trace import LATEST_NS

Columns = dict[str, Indices]

WORK_TABLES = {
    name: f"CUPTI_ACTIVITY_KIND_{name}" for name in ("KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE")
}
RUNTIME, RANGES, STRINGS = "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS", "StringIds"
LATER = "export it with nsys 2023.4 or later"
OVERHEADS = "PROFILER_OVERHEAD"
COPY_KINDS = "ENUM_CUDA_MEMCPY_OPER"
NOT_EXPORTED = "NOT_EXPORTED"
"""The only table of a database in place of an export that failed: it says why."""

NEEDED = {
    **dict.fromkeys(WORK_TABLES.values(), ("start", "end", "globalPid", "correlationId")),
    RUNTIME: ("start", "end", "globalTid", "correlationId"),
    RANGES: ("start", "end", "eventType", "globalTid"),
    OVERHEADS: ("start", "end"),
}
"""Columns without which a table can't be used; a table of another name has to have them."""

JOINED = 2**18
"""Rows whose numbers are joined as text at a time: few megabytes."""

NOT_WORK = re.compile(r"SYNCHRONIZATION|CUDA_EVENT|OVERHEAD|RUNTIME|DRIVER|MARKER")
"""Tables of activities that take no time of a device."""


class NotExportedError(TraceError):
    """Why a report of nsys, which it names, could not be exported."""


@dataclass(frozen=True)
class Exported:
    """An export: its tables, views among them, with their columns, and which table is read for
    each expected one."""

    connection: sqlite3.Connection
    tables: dict[str, tuple[str, ...]]
    views: frozenset[str]
    stand_ins: dict[str, str]

    def has(self, table: str) -> bool:
        """Whether an expected table is there, under its own or another name."""
        return table in self.tables or table in self.stand_ins

    def name(self, table: str) -> str:
        """The name under which an expected table is there."""
        return table if table in self.tables else self.stand_ins[table]

    def column(self, table: str, name: str) -> str:
        """A column's name, whatever its case. Raises TraceError if it isn't there."""
        here = self.tables[self.name(table)]
        found = [column for column in here if column.casefold() == name.casefold()]
        if not found:
            columns = ", ".join(here)[:150]
            raise TraceError(
                f"its table {self.name(table)} has no column {name}, it has {columns}; {LATER}"
            )
        return found[0]

    def has_column(self, table: str, name: str) -> bool:
        """Whether an expected table has a column."""
        return name.casefold() in [column.casefold() for column in self.tables[self.name(table)]]

    def timed(self, table: str, names: tuple[str, ...]) -> Columns:
        """Columns, `start` and `end` among them, of the rows for which `valid` holds."""
        rows = self.integers(table, names)
        start, end = rows["start"], rows["end"]
        good = (end >= start) & (start > -LATEST_NS) & (end < LATEST_NS)
        return rows if good.all() else {name: column[good] for name, column in rows.items()}

    def integers(self, table: str, names: tuple[str, ...], where: str = "1") -> Columns:
        """Columns of the rows for which `where` holds, as they lie in the table.

        What is missing or no integer is UNKNOWN, or of times -LATEST_NS. SQLite joins each column
        as text, because a tuple for each row takes twice the time.
        """
        parts = [[np.array([], dtype=np.int64)] for _ in names]
        for texts in self._joined(table, names, where):
            for part, text in zip(parts, texts, strict=True):
                part.append(np.fromstring(text, dtype=np.int64, sep=","))
        return {name: np.concatenate(parts.pop(0)) for name in names}

    def _joined(self, table: str, names: tuple[str, ...], where: str) -> Iterator[tuple[str, ...]]:
        """Each column's numbers, joined by commas, of some rows after others."""
        inner = ", ".join(f"{self._integer(table, name)} AS c{n}" for n, name in enumerate(names))
        outer = ", ".join(f"group_concat(c{n})" for n in range(len(names)))
        # A view has no rowid: its rows are joined at once, as if all had the same.
        row, limit = ("0", -1) if self.name(table) in self.views else ("rowid", JOINED)
        query = (
            f'SELECT max(at), {outer} FROM (SELECT {row} AS at, {inner} FROM "{self.name(table)}" '
            f"WHERE {row} > ? AND ({where}) ORDER BY at LIMIT {limit})"
        )
        last: float = -math.inf
        while (found := self.connection.execute(query, (last,)).fetchone())[0] is not None:
            last, *texts = found
            yield tuple(texts)

    def _integer(self, table: str, name: str) -> str:
        if name not in NEEDED[table] and not self.has_column(table, name):
            return str(UNKNOWN)
        column = self.column(table, name)
        missing = -LATEST_NS if name in ("start", "end") else UNKNOWN
        return f'CASE typeof("{column}") WHEN \'integer\' THEN "{column}" ELSE {missing} END'

    def valid(self, table: str) -> str:
        """SQL that holds for rows that start and end, in this order, at plausible times."""
        start, end = (self.column(table, name) for name in ("start", "end"))
        return (
            f"typeof(\"{start}\") = 'integer' AND typeof(\"{end}\") = 'integer' AND "
            f'"{end}" >= "{start}" AND "{start}" > -{LATEST_NS} AND "{end}" < {LATEST_NS}'
        )

    def number(self, query: str) -> int:
        """The one integer that a query returns."""
        return int(self.connection.execute(query).fetchone()[0])

    def rows(self, table: str) -> int:
        """How many rows an expected table has."""
        return self.number(f'SELECT count(*) FROM "{self.name(table)}"')

    def texts(self, table: str, column: str) -> dict[int, str]:
        """The strings that a column of a table refers to, by number."""
        if not self.has(STRINGS) or not self.has_column(table, column):
            return {}
        key, value = (self.column(STRINGS, name) for name in ("id", "value"))
        query = (
            f'SELECT "{key}", "{value}" FROM "{self.name(STRINGS)}" WHERE "{key}" IN '
            f'(SELECT DISTINCT "{self.column(table, column)}" FROM "{self.name(table)}")'
        )
        return {number: printable(text) for number, text in self.connection.execute(query)}


def exported(connection: sqlite3.Connection) -> Exported:
    """The tables of an nsys export. Raises TraceError if it is another kind of database."""
    _require_exported(connection)
    query = "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view')"
    types = dict(connection.execute(query).fetchall())
    names = list(types)
    tables = {
        name: tuple(row[1] for row in connection.execute(f'PRAGMA table_info("{name}")'))
        for name in names
    }
    views = frozenset(name for name in names if types[name] == "view")
    found = Exported(connection, tables, views, _stand_ins(tables))
    if not any(found.has(name) for name in NEEDED) and "META_DATA_EXPORT" not in tables:
        here = ", ".join(names)[:150] or "none"
        raise TraceError(f"it isn't an export of nsys: its tables are {here}; {GIVE}")
    return found


def _require_exported(connection: sqlite3.Connection) -> None:
    """Raise NotExportedError with the reason if this stands in place of an export that failed."""
    query = "SELECT count(*) FROM sqlite_master WHERE name = ?"
    if connection.execute(query, (NOT_EXPORTED,)).fetchone()[0]:
        query = f"SELECT why FROM {NOT_EXPORTED}"
        raise NotExportedError(str(connection.execute(query).fetchone()[0]))


def _stand_ins(tables: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """For expected tables that aren't there: the one unknown table like it, if there is one."""
    found = {}
    for wanted, columns in NEEDED.items():
        word = wanted.removeprefix("CUPTI_ACTIVITY_KIND_").removesuffix("_EVENTS")
        needed = {column.casefold() for column in columns}
        alike = [
            name
            for name, here in tables.items()
            if word in name.upper() and name not in NEEDED
            and needed <= {column.casefold() for column in here}
        ]  # fmt: skip
        if wanted not in tables and len(alike) == 1:
            found[wanted] = alike[0]
    return found


def version(found: Exported) -> str:
    """The version of nsys that wrote the export, or "unknown"."""
    if not {"name", "value"} <= set(found.tables.get("META_DATA_EXPORT", ())):
        return "unknown"
    query = "SELECT value FROM META_DATA_EXPORT WHERE name = 'EXPORT_PRODUCT_VERSION'"
    return printable((found.connection.execute(query).fetchone() or ["unknown"])[0])


def table_notes(found: Exported) -> tuple[Note, ...]:
    """Tables read for others, and tables of activities that this reader doesn't know."""
    notes = [
        Note("other table", 1, f"{name} for {wanted}") for wanted, name in found.stand_ins.items()
    ]
    known = {*NEEDED, *found.stand_ins.values()}
    for name, columns in found.tables.items():
        is_work = {"start", "end", "correlationId", "streamId"} <= set(columns)
        if is_work and name not in known and not NOT_WORK.search(name):
            notes.append(
                Note("unread tables", found.number(f'SELECT count(*) FROM "{name}"'), name)
            )
    return tuple(note for note in notes if note.count)
