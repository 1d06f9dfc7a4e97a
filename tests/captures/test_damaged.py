"""Files that can't be read end in one sentence that names them, whatever their content."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.captures.building import Export, busy, packed, tables_in
from tests.captures.damage import failure
from tests.examples import seeds
from workflow_src.captures.reading import read
from workflow_src.cli import read_capture
from workflow_src.common.errors import TraceError
from workflow_src.placing.attributed import attributed
from workflow_src.tables import capture_tables as tables

SQLITE = b"SQLite format 3\0"


@pytest.fixture
def export(export: Export) -> Export:
    export.range("step", 0, 100)
    export.work(10, 1)
    return export


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("c.json.gz", packed(b""), "is empty; export or copy it again"),
        ("c.json", b"{}", "of traceEvents, and begin .*; give an SQLite"),
        ("c.json", b'{"traceEvents": [', "ends in the middle, before any event"),
        ("c.json", b"[" * 9999, "ends in the middle, before any event"),
        ("c.json", b'[{"ph": "X", "cat": "x", "ts": 1, "dur": 1}]', "no event .*; record CPU"),
        ("c.json", b'[{"ph": "X", "cat": "cuda_runtime", "ts": 1, "dur": 1}]', "; record some"),
        ("c.json", b"<html>\n404", r"begin with '<html>\\n404'; give"),
        ("c.sqlite", SQLITE + b"garbage", "is not .*; export or copy it again"),
        ("c.sqlite.gz", packed(SQLITE * 99)[:-9], "end-of-stream marker.*; export or"),
        ("c.json.gz", b"\x1f\x8b" + b"damaged", "is not a capture .*; export or copy it again, or"),
        (
            "c.json.gz",
            packed(packed(b"[]")),
            "nor a trace of torch.profiler: .*; give an SQLite export",
        ),
        ("c.nsys-rep", b"binary", r"begin with 'binary'; give an SQLite export of nsys \(nsys exp"),
    ],
)
def test_a_file_of_another_kind_is_named_with_what_is_wrong(
    tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(TraceError, match=said) as caught:
        read(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_a_missing_column_is_named_with_its_table(export: Export) -> None:
    export.sql("ALTER TABLE NVTX_EVENTS RENAME COLUMN globalTid TO tid")
    with pytest.raises(TraceError, match=r"c\.sqlite: its table NVTX_EVENTS has no column gl"):
        export.read()


def test_tables_of_others_may_have_any_names(export: Export) -> None:
    export.sql('CREATE TABLE "a""; DROP TABLE StringIds; --" (x INTEGER)')
    assert busy(export.tables()) == {"step": 1}


def test_a_database_of_another_kind_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "c.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE photos (id)")
    with pytest.raises(TraceError, match="isn't an export of nsys: its tables are photos"):
        read(tmp_path / "c.sqlite")


@pytest.mark.parametrize("name", ["c?d#.sqlite", "c%20.sqlite.gz"])
def test_names_of_files_may_hold_anything_and_what_is_unpacked_leaves_nothing_behind(
    export: Export, tmp_path: Path, name: str
) -> None:
    data = export.write().read_bytes()
    export.path.unlink()
    (tmp_path / name).write_bytes(packed(data) if name.endswith("gz") else data)
    assert busy(tables_in(tmp_path / name)) == {"step": 1}
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("seed", seeds(range(5)))
def test_a_recorded_capture_that_was_changed_ends_in_right_tables_or_a_sentence(seed: int) -> None:
    assert failure(seed) == ""


def test_the_command_writes_all_tables_or_none(export: Export, tmp_path: Path) -> None:
    given = ["--capture", str(export.write()), "--output"]
    read_capture.main([*given, str(tmp_path / "out")])
    found = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert found == sorted([*(f"{name}.csv" for name in tables.TABLES), "step.svg"])
    with pytest.raises(SystemExit, match="--domains: the capture has no domain 'x'"):
        read_capture.main([*given, str(tmp_path / "b"), "--domains", "x"])
    assert not (tmp_path / "b").exists()


def test_a_total_that_does_not_come_out_is_not_written(export: Export) -> None:
    found = attributed(export.read(), None)
    lost = replace(found, work=found.work.assign(duration_ns=0))
    with pytest.raises(TraceError, match="0 ns in ranges and 0 ns outside are not the 1 ns"):
        tables.tables_of(lost)
