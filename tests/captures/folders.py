"""What nsys 2023.4 writes for --type arrowdir and parquetdir, made of an SQLite export: a file per
table, with the types of its columns, in streams that end with a mark."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

WITHOUT_SIGN = ("globalPid", "globalTid", "endGlobalTid", "streamId", "contextId", "domainId")
"""Columns of 64 bits without a sign, as those that end in Name and nameId."""
SHORT = ("eventType", "textId")
"""Columns of 32 bits without a sign in Arrow's files, and of 64 with one in Parquet's."""


def as_folder(database: Path, folder: Path, suffix: str) -> Path:
    """Write the tables of an export, but for those without rows, as files that end in `suffix`."""
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(database)) as connection:
        for name, table in _tables(connection, suffix):
            write_table(folder / f"{name}{suffix}", table)
    return folder


def write_table(path: Path, table: Any) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    if path.suffix == ".parquet":
        parquet.write_table(table, path, compression="none")
        return
    with pa.ipc.new_stream(path, table.schema) as stream:
        stream.write_table(table)


def _tables(connection: sqlite3.Connection, suffix: str) -> Iterator[tuple[str, Any]]:
    import pyarrow as pa

    names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    for (name,) in names:
        about = connection.execute(f'PRAGMA table_info("{name}")').fetchall()
        rows = connection.execute(f'SELECT * FROM "{name}"').fetchall()
        if rows:
            names = [column for _, column, *_ in about]
            columns = list(zip(*rows, strict=True))
            each = zip(names, (kind for _, _, kind, *_ in about), columns, strict=True)
            types = [_type(column, kind, values, suffix) for column, kind, values in each]
            arrays = [_array(*of) for of in zip(columns, types, strict=True)]
            yield name, pa.table(arrays, names=names)


def _array(values: tuple[Any, ...], kind: Any) -> Any:
    import pyarrow as pa

    if kind == pa.uint64():
        return pa.array(values, pa.int64()).cast(kind, safe=False)
    return pa.array(values, kind)


def _type(column: str, kind: str, values: tuple[Any, ...], suffix: str) -> Any:
    import pyarrow as pa

    # Tables that tests make don't always declare types.
    if kind == "TEXT" or any(isinstance(value, str) for value in values):
        return pa.string()
    if kind in ("REAL", "FLOAT"):
        return pa.float64()
    if column in SHORT and suffix == ".arrow":
        return pa.uint32()
    without_sign = column in WITHOUT_SIGN or column.endswith(("Name", "nameId"))
    return pa.uint64() if without_sign else pa.int64()
