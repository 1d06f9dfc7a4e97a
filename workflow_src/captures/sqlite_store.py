"""An nsys export in an SQLite database."""

import math
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from workflow_src.captures.capture import LATEST_NS, UNKNOWN
from workflow_src.captures.files import connected
from workflow_src.captures.store import Among, Instead, Store
from workflow_src.common.intervals import Indices

JOINED = 2**18
"""Rows whose numbers are joined as text at a time: few megabytes."""

FORMS = (
    'ifnull("{0}", {1})',
    'CASE WHEN "{0}" IS NULL THEN {1} WHEN typeof("{0}") = \'integer\' THEN "{0}" ELSE {2} END',
)
"""A column with what stands instead of a missing value, and of a value that is no integer."""


@dataclass(frozen=True)
class Database(Store):
    """A database that is open; `declared`: the columns that are declared to hold integers."""

    path: Path
    connection: sqlite3.Connection
    declared: frozenset[tuple[str, str]]

    def rows(self, table: str) -> int:
        """How many rows a table has."""
        return int(self.connection.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0])

    def apart(self) -> AbstractContextManager["Database"]:
        """The same database by a connection of its own, which another thread may use."""
        return opened(self.path)

    def _integers(self, table: str, columns: Instead, among: Among | None) -> list[Indices]:
        """SQLite joins each column as text, because a tuple for each row takes twice the time.

        Values are looked at one by one only where some aren't numbers. In a column declared to hold
        integers, SQLite stores all that could be taken for one as one, but for bytes, even digits.
        Of times, whose sums must be right, the greatest value tells: bytes come after all else.
        """
        declared = all((table, name) in self.declared for name in columns)
        queries = [_joined(table, columns, self._where(table, among), typed) for typed in (0, 1)]
        # Bytes that grow take less memory than parts that are put together at last.
        found = [bytearray() for _ in columns]
        last: float = -math.inf
        while True:
            for query in queries[not declared :]:
                rows, at, *cells = self.connection.execute(query, (last,)).fetchone()
                if not rows:
                    return [np.frombuffer(column, dtype=np.int64) for column in found]
                parts = [_numbers(text) for text in cells[: len(columns)]]
                has_bytes = any(isinstance(latest, bytes) for latest in cells[len(columns) :])
                if not has_bytes and all(len(part) == rows for part in parts):
                    break
            last = at
            for column, part in zip(found, parts, strict=True):
                column += part.data

    def _values(self, table: str, column: str, among: Among | None) -> list[Any]:
        query = f'SELECT "{column}" FROM "{table}" WHERE {self._where(table, among)} ORDER BY rowid'
        return [value for (value,) in self.connection.execute(query)]

    def _total_ns(self, table: str, start: str, end: str) -> int:
        # Text and bytes are later than any number, which leaves fractions to be left out.
        query = (
            f'SELECT coalesce(sum("{end}" - "{start}"), 0) FROM "{table}" WHERE '
            f'"{end}" >= "{start}" AND "{start}" > -{LATEST_NS} AND "{end}" < {LATEST_NS}'
        )
        integers = f"typeof(\"{start}\") = 'integer' AND typeof(\"{end}\") = 'integer'"
        (found,) = self.connection.execute(query).fetchone()
        if not isinstance(found, int):
            (found,) = self.connection.execute(f"{query} AND {integers}").fetchone()
        return int(found)

    def _where(self, table: str, among: Among | None) -> str:
        if not among:
            return "1"
        return f'"{self._column(table, among[0])}" IN ({", ".join(map(str, among[1]))})'


def _joined(table: str, columns: Instead, where: str, typed: int) -> str:
    """How many of the next rows there are, the last one, columns joined by commas, and the greatest
    value of those that hold times; typed: whether each value's type is looked at."""
    values = (FORMS[typed].format(name, *instead) for name, instead in columns.items())
    inner = ", ".join(f"{value} AS c{n}" for n, value in enumerate(values))
    times = [n for n, (_, other) in enumerate(columns.values()) if other != UNKNOWN]
    joined = [f"CAST(group_concat(c{n}) AS BLOB)" for n in range(len(columns))]
    outer = ", ".join([*joined, *(f"max(c{n})" for n in times)])
    return (
        f'SELECT count(*), max(at), {outer} FROM (SELECT rowid AS at, {inner} FROM "{table}" '
        f"WHERE rowid > ? AND ({where}) ORDER BY rowid LIMIT {JOINED})"
    )


def _numbers(text: bytes) -> Indices:
    """The numbers that are joined by commas; none if some aren't numbers."""
    try:
        return np.fromstring(text, dtype=np.int64, sep=",")
    except ValueError:
        return np.array([], dtype=np.int64)


@contextmanager
def opened(path: Path) -> Iterator[Database]:
    """The tables of an SQLite file, which is only read. A view, as nsys makes none, is no table."""
    with connected(path) as connection:
        query = "SELECT name FROM sqlite_master WHERE type = 'table'"
        # nsys has no such name, and others need not be asked for.
        names = [name for (name,) in connection.execute(query) if '"' not in name]
        about = {
            name: connection.execute(f'PRAGMA table_info("{name}")').fetchall() for name in names
        }
        tables = {name: tuple(row[1] for row in rows) for name, rows in about.items()}
        integers = {(t, row[1]) for t, rows in about.items() for row in rows if row[2] == "INTEGER"}
        yield Database(tables, path, connection, frozenset(integers))
