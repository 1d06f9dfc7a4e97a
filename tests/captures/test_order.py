"""Rows of an export in any order give the same tables (nsys from 2025.6)."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pandas as pd

from tests.captures.building import Export, tables_in


def made(folder: Path) -> Path:
    """Ranges, calls and kernels of the same times, on several streams and devices."""
    export = Export(folder, "made.sqlite")
    for name in ("b", "a", "c"):
        export.range(name, 0, 100)
    for number, (device, stream) in enumerate([(0, 7), (0, 8), (1, 7)] * 3):
        where = dict(device=device, stream=stream, start=40 + 10 * (number % 2))
        export.range(f"step {number % 2}", 10, 30, thread=number % 3 + 1, process=number % 2 + 1)
        export.work(20, 10 + number % 2, thread=number % 3 + 1, process=number % 2 + 1, **where)
        export.work(20, 5, kind="MEMCPY", copyKind=1, **where)
    return export.write()


def shuffle(database: Path, seed: int) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (name,) in names:
            rows = connection.execute(f'SELECT * FROM "{name}"').fetchall()
            random.Random(seed).shuffle(rows)
            connection.execute(f'DELETE FROM "{name}"')
            if rows:
                marks = ", ".join("?" * len(rows[0]))
                connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', rows)


def test_the_order_of_rows_changes_nothing(tmp_path: Path) -> None:
    database = made(tmp_path)
    before = tables_in(database, diagnosed=True)
    shuffle(database, seed=0)
    for name, table in tables_in(database, diagnosed=True).items():
        pd.testing.assert_frame_equal(table, before[name])
