"""An nsys export in an SQLite database."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from workflow_src.captures.store import Among, Store
from workflow_src.common.intervals import Indices

JOINED = 2**18
"""Rows whose numbers are joined as text at a time: few megabytes."""

PLAIN, TYPED = (
    'ifnull("{0}", {1})',
    'CASE WHEN typeof("{0}") = \'integer\' THEN "{0}" ELSE {1} END',
)
"""A column with what stands instead of a missing value, and of any that is no integer."""


@dataclass(frozen=True)
class Database(Store):
    """A database that is open."""

    path: Path
    connection: sqlite3.Connection

    def apart(self) -> AbstractContextManager["Database"]:
        """The same database by a connection of its own, which another thread may use."""
        return opened(self.path)

    def _integers(
        self, table: str, columns: Mapping[str, int], among: Among | None
    ) -> list[Indices]:
        """SQLite joins each column as text, because a tuple for each row takes twice the time.

        Values are looked at one by one only where what it joined isn't as many numbers.
        """
        queries = [_joined(table, columns, self._where(table, among), f) for f in (PLAIN, TYPED)]
        # Bytes that grow take less memory than parts that are put together at last.
        found, last = [bytearray() for _ in columns], -(2**63)
        while True:
            for query in queries:
                rows, at, *cells = self.connection.execute(query, (last,)).fetchone()
                if not rows:
                    return [np.frombuffer(column, dtype=np.int64) for column in found]
                parts = [_numbers(text) for text in cells]
                if all(len(part) == rows for part in parts):
                    break
            last = at
            for column, part in zip(found, parts, strict=True):
                column += part.data

    def _values(self, table: str, column: str, among: Among | None) -> list[Any]:
        query = f'SELECT "{column}" FROM "{table}" WHERE {self._where(table, among)} ORDER BY rowid'
        return [value for (value,) in self.connection.execute(query)]

    def _where(self, table: str, among: Among | None) -> str:
        if not among:
            return "1"
        return f'"{self._column(table, among[0])}" IN ({", ".join(map(str, among[1]))})'


def _joined(table: str, columns: Mapping[str, int], where: str, form: str) -> str:
    """How many of the next rows there are, the last one, and columns joined by commas."""
    values = (form.format(name, instead) for name, instead in columns.items())
    inner = ", ".join(f"{value} AS c{n}" for n, value in enumerate(values))
    joined = ", ".join(f"CAST(group_concat(c{n}) AS BLOB)" for n in range(len(columns)))
    return (
        f'SELECT count(*), max(at), {joined} FROM (SELECT rowid AS at, {inner} FROM "{table}" '
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
    uri = f"{path.resolve().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        connection.text_factory = lambda text: text.decode("utf-8", "backslashreplace")
        query = "SELECT name FROM sqlite_master WHERE type = 'table'"
        # nsys has no such name, and others need not be asked for.
        names = [name for (name,) in connection.execute(query) if '"' not in name]
        about = {n: connection.execute(f'PRAGMA table_info("{n}")').fetchall() for n in names}
        tables = {name: tuple(row[1] for row in rows) for name, rows in about.items()}
        yield Database(tables, path, connection)
