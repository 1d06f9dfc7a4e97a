"""Rows of an export in any order give the same tables, byte for byte (nsys from 2025.6)."""

import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.captures.building import Export
from workflow_src.cli import read_capture

RECORDED = Path(__file__).parents[1] / "data" / "nsys" / "autograd_thread_nsys2025.3.sqlite"


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


def written(database: Path, folder: Path) -> dict[str, bytes]:
    read_capture.main(["--capture", str(database), "--output", str(folder)])
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("source", [made, lambda folder: RECORDED], ids=["made", "recorded"])
def test_the_order_of_rows_changes_nothing(tmp_path: Path, source: object) -> None:
    assert callable(source)
    database = source(tmp_path)
    expected = written(database, tmp_path / "tables")
    other = shutil.copy(database, tmp_path / "other.sqlite")
    shuffle(other, seed=0)
    assert written(other, tmp_path / "other" / "tables") == expected
