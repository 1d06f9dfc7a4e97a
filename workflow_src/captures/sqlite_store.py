"""An nsys export in an SQLite database."""

import itertools
import math
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from workflow_src.captures.capture import LATEST_NS
from workflow_src.captures.files import AGAIN, connected
from workflow_src.captures.store import Among, Wanted
from workflow_src.common.errors import TraceError
from workflow_src.common.intervals import Indices

JOINED = 2**18
"""Rows whose numbers are joined as text at a time: few megabytes."""

STEPS, STEPS_PER_BYTE = 10**8, 1000
"""The most steps of SQLite's machine on a file: some seconds, and a hundred times what tables take,
which have tens of bytes a row."""

EVERY = 10**6
"""Steps after which they are counted."""


@dataclass(frozen=True)
class Database:
    """A database that is open: its tables, views among them, with their columns.

    declared: the tables and columns that are declared to hold integers.
    """

    path: Path
    connection: sqlite3.Connection
    columns: dict[str, tuple[str, ...]]
    views: frozenset[str]
    declared: frozenset[tuple[str, str]]

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
        for parts in self._parts(table, wanted, _where(among)):
            for column, numbers in zip(columns, parts, strict=True):
                column += numbers.data
        return [np.frombuffer(column, dtype=np.int64) for column in columns]

    def _parts(
        self, table: str, wanted: Sequence[Wanted], where: str
    ) -> Iterator[Sequence[Indices]]:
        """The columns of some rows after others.

        Values are looked at one by one only where some aren't numbers. In a column declared to hold
        integers, SQLite stores all that could be taken for one as one, but for bytes, even digits.
        Of times, whose sums must be right, the greatest value tells: bytes come after all else.
        """
        declared = all((table, each.column) in self.declared for each in wanted)
        forms = (_present, _integer) if declared else (_integer,)
        queries = [self._query(table, wanted, form, where) for form in forms]
        last: float = -math.inf
        while True:
            for query in queries:
                rows, at, *found = self.connection.execute(query, (last,)).fetchone()
                if not rows:
                    return
                texts, greatest = found[: len(wanted)], found[len(wanted) :]
                parts = [_numbers(text) for text in texts]
                bytes_too = any(isinstance(value, bytes) for value in greatest)
                if not bytes_too and all(len(part) == rows for part in parts):
                    break
            last = at
            yield parts

    def _query(
        self, table: str, wanted: Sequence[Wanted], form: Callable[[Wanted], str], where: str
    ) -> str:
        """How many of the next rows there are, the last one, columns joined by commas, and the
        greatest value of each that holds times."""
        inner = ", ".join(f"{form(each)} AS c{n}" for n, each in enumerate(wanted))
        joined = [f"CAST(group_concat(c{n}) AS BLOB)" for n in range(len(wanted))]
        times = [n for n, each in enumerate(wanted) if each.no_integer == -LATEST_NS]
        outer = ", ".join([*joined, *(f"max(c{n})" for n in times)])
        # A view has no rowid: its rows are joined at once, as if all had the same.
        row, limit = ("0", -1) if table in self.views else ("rowid", JOINED)
        return (
            f'SELECT count(*), max(at), {outer} FROM (SELECT {row} AS at, {inner} FROM "{table}" '
            f"WHERE {row} > ? AND ({where}) ORDER BY at LIMIT {limit})"
        )

    def values(self, table: str, column: str, among: Among | None = None) -> list[object]:
        """A column, whatever its type; None where it is missing."""
        order = "" if table in self.views else "ORDER BY rowid"
        query = f'SELECT "{column}" FROM "{table}" WHERE {_where(among)} {order}'
        return [value for (value,) in self.connection.execute(query)]

    def duration_ns(self, table: str, start: str, end: str) -> int:
        """The sum of end - start of the rows that start and end, in this order, at good times."""
        query = (
            f'SELECT coalesce(sum("{end}" - "{start}"), 0) FROM "{table}" WHERE '
            f'"{end}" >= "{start}" AND "{start}" > -{LATEST_NS} AND "{end}" < {LATEST_NS}'
        )
        found = self.connection.execute(query).fetchone()[0]
        # Text and bytes are later than any number, which leaves fractions to be left out.
        integers = f"typeof(\"{start}\") = 'integer' AND typeof(\"{end}\") = 'integer'"
        return found if isinstance(found, int) else self._number(f"{query} AND {integers}")

    def apart(self) -> AbstractContextManager["Database"]:
        """The same database by a connection of its own, which another thread may use."""
        return opened(self.path)

    def _number(self, query: str) -> int:
        return int(self.connection.execute(query).fetchone()[0])


@contextmanager
def opened(path: Path) -> Iterator[Database]:
    """The tables of an SQLite file, which is only read.

    Raises TraceError where a view, as a few bytes can define one, has far more rows than the file.
    """
    with connected(path) as connection, _within_steps(connection, path.stat().st_size):
        query = "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view')"
        # nsys has no such name, and others need not be asked for.
        types = {name: kind for name, kind in connection.execute(query) if '"' not in name}
        rows = [
            (name, column, declared)
            for name in types
            for _, column, declared, *_ in connection.execute(f'PRAGMA table_info("{name}")')
        ]
        columns = {
            name: tuple(column for table, column, _ in rows if table == name) for name in types
        }
        views = frozenset(name for name in types if types[name] == "view")
        integers = frozenset((name, column) for name, column, kind in rows if kind == "INTEGER")
        yield Database(path, connection, columns, views, integers)


@contextmanager
def _within_steps(connection: sqlite3.Connection, size_bytes: int) -> Iterator[None]:
    most = (STEPS + STEPS_PER_BYTE * size_bytes) // EVERY
    counted = itertools.count()
    connection.set_progress_handler(lambda: next(counted) >= most, EVERY)
    try:
        yield
    except sqlite3.OperationalError as error:
        if next(counted) <= most:
            raise
        raise TraceError(
            f"its tables take more than {most * EVERY:.0e} steps of SQLite to read, far more than "
            f"a file of this size: a view in it has too many rows; {AGAIN}, with tables alone"
        ) from error


def _numbers(text: bytes) -> Indices:
    """The numbers that are joined by commas; none if some aren't numbers."""
    try:
        return np.fromstring(text, dtype=np.int64, sep=",")
    except ValueError:
        return np.array([], dtype=np.int64)


def _present(wanted: Wanted) -> str:
    return f'ifnull("{wanted.column}", {wanted.missing})'


def _integer(wanted: Wanted) -> str:
    return (
        f'CASE WHEN "{wanted.column}" IS NULL THEN {wanted.missing} '
        f'WHEN typeof("{wanted.column}") = \'integer\' THEN "{wanted.column}" '
        f"ELSE {wanted.no_integer} END"
    )


def _where(among: Among | None) -> str:
    return f'"{among.column}" IN ({", ".join(map(str, among.values))})' if among else "1"
