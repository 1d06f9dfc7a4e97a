"""Copy an nsys export, SOURCE, to TARGET without what names a machine, to be published or tested.

It holds host names, thread names, paths and the environment; of the copy only what is read stays.
"""

import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

EXPORTED = (
    "META_DATA_EXPORT",
    "ENUM_CUDA_MEMCPY_OPER",
    "NVTX_EVENTS",
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    "CUPTI_ACTIVITY_KIND_RUNTIME",
    "PROFILER_OVERHEAD",
    "StringIds",
)
"""The tables of an nsys export that are kept."""

TEXTS = ("textId", "demangledName", "nameId")
"""Their columns that refer to StringIds."""


def clean_export(source: Path, target: Path) -> None:
    """Copy an nsys SQLite export, keeping only what attribution and reports read."""
    shutil.copy(source, target)
    with closing(sqlite3.connect(target)) as connection:
        _drop_the_rest(connection)


def _drop_the_rest(connection: sqlite3.Connection) -> None:
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    used = set[int]()
    for (table,) in connection.execute(query).fetchall():
        if table not in EXPORTED:
            connection.execute(f'DROP TABLE "{table}"')
            continue
        described = connection.execute(f'PRAGMA table_info("{table}")').fetchall()
        for column in set(TEXTS).intersection(name for _, name, *_ in described):
            used |= {row for (row,) in connection.execute(f'SELECT "{column}" FROM "{table}"')}
    ids = ", ".join(str(each) for each in used if each is not None)
    connection.execute(f"DELETE FROM StringIds WHERE id NOT IN ({ids})")
    # The other rows name the host, the user and the folders that nsys export ran in.
    connection.execute("DELETE FROM META_DATA_EXPORT WHERE name NOT LIKE 'EXPORT_PRODUCT%'")
    connection.commit()
    connection.execute("VACUUM")


if __name__ == "__main__":
    clean_export(Path(sys.argv[1]), Path(sys.argv[2]))
