"""An nsys export in an SQLite database."""

import math
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from workflow_src.captures.capture import LATEST_NS
from workflow_src.captures.files import connected
from workflow_src.captures.store import Among, Reference, Wanted
from workflow_src.common.intervals import Indices

JOINED = 2**18
"""Rows whose numbers are joined as text at a time: few megabytes."""


@dataclass(frozen=True)
class Database:
    """A database that is open: its tables, views among them, with their columns."""

    path: Path
    connection: sqlite3.Connection
    columns: dict[str, tuple[str, ...]]
    views: frozenset[str]

    def rows(self, table: str) -> int:
        """How many rows a table has."""
        return self._number(f'SELECT count(*) FROM "{table}"')

    def integers(
        self, table: str, wanted: Sequence[Wanted], among: Among | None = None
    ) -> list[Indices]:
        """Columns of a table, or of some of its rows.

        SQLite joins each as text, because a tuple for each row takes twice the time. Bytes that
        grow take less memory than parts that are put together at last.
        """
        columns = [bytearray() for _ in wanted]
        for texts in self._joined(table, wanted, _where(among)):
            for column, text in zip(columns, texts, strict=True):
                column += np.fromstring(text, dtype=np.int64, sep=",").data
        return [np.frombuffer(column, dtype=np.int64) for column in columns]

    def _joined(
        self, table: str, wanted: Sequence[Wanted], where: str
    ) -> Iterator[tuple[str, ...]]:
        """Each column's numbers, joined by commas, of some rows after others."""
        inner = ", ".join(f"{_integer(each)} AS c{n}" for n, each in enumerate(wanted))
        outer = ", ".join(f"group_concat(c{n})" for n in range(len(wanted)))
        # A view has no rowid: its rows are joined at once, as if all had the same.
        row, limit = ("0", -1) if table in self.views else ("rowid", JOINED)
        query = (
            f'SELECT max(at), {outer} FROM (SELECT {row} AS at, {inner} FROM "{table}" '
            f"WHERE {row} > ? AND ({where}) ORDER BY at LIMIT {limit})"
        )
        last: float = -math.inf
        while (found := self.connection.execute(query, (last,)).fetchone())[0] is not None:
            last, *texts = found
            yield tuple(texts)

    def values(self, table: str, column: str, among: Among | None = None) -> list[object]:
        """A column, whatever its type; None where it is missing."""
        row = "0" if table in self.views else "rowid"
        query = f'SELECT "{column}" FROM "{table}" WHERE {_where(among)} ORDER BY {row}'
        return [value for (value,) in self.connection.execute(query)]

    def referred(self, reference: Reference) -> dict[int, object]:
        """The values that a column refers to, by number."""
        query = (
            f'SELECT "{reference.key}", "{reference.value}" FROM "{reference.keys}" WHERE '
            f'"{reference.key}" IN (SELECT DISTINCT "{reference.column}" FROM "{reference.table}")'
        )
        return dict(self.connection.execute(query).fetchall())

    def duration_ns(self, table: str, start: str, end: str) -> int:
        """The sum of end - start of the rows that start and end, in this order, at good times."""
        return self._number(
            f'SELECT coalesce(sum("{end}" - "{start}"), 0) FROM "{table}" WHERE '
            f"typeof(\"{start}\") = 'integer' AND typeof(\"{end}\") = 'integer' AND "
            f'"{end}" >= "{start}" AND "{start}" > -{LATEST_NS} AND "{end}" < {LATEST_NS}'
        )

    def apart(self) -> AbstractContextManager["Database"]:
        """The same database by a connection of its own, which another thread may use."""
        return opened(self.path)

    def _number(self, query: str) -> int:
        return int(self.connection.execute(query).fetchone()[0])


@contextmanager
def opened(path: Path) -> Iterator[Database]:
    """The tables of an SQLite file, which is only read."""
    with connected(path) as connection:
        query = "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view')"
        types = dict(connection.execute(query).fetchall())
        columns = {
            name: tuple(row[1] for row in connection.execute(f'PRAGMA table_info("{name}")'))
            for name in types
        }
        views = frozenset(name for name in types if types[name] == "view")
        yield Database(path, connection, columns, views)


def _integer(wanted: Wanted) -> str:
    return (
        f'CASE WHEN "{wanted.column}" IS NULL THEN {wanted.missing} '
        f'WHEN typeof("{wanted.column}") = \'integer\' THEN "{wanted.column}" '
        f"ELSE {wanted.no_integer} END"
    )


def _where(among: Among | None) -> str:
    return f'"{among.column}" IN ({", ".join(map(str, among.values))})' if among else "1"
