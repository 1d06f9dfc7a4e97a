"""Files that can't be read end in one sentence that names them, whatever their content."""

import bz2
import lzma
import sqlite3
import sys
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.captures.building import Export, busy, notes, packed, tables_in
from tests.captures.damage import failure
from tests.examples import seeds
from tests.test_fuzz import CELLS, ends_well, few, folder
from workflow_src.captures.files import content
from workflow_src.captures.reading import read
from workflow_src.cli import read_capture
from workflow_src.common.errors import TraceError
from workflow_src.placing.attributed import attributed
from workflow_src.tables import capture_tables as tables

SQLITE = b"SQLite format 3\0"


@pytest.fixture
def export(tmp_path: Path) -> Export:
    export = Export(tmp_path)
    export.range("step", 0, 100)
    export.work(10, 1)
    return export


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("c.sqlite", b"", "is empty; export or copy it again"),
        ("c.json", b"", "is empty; export or copy it again"),
        ("c.json.gz", packed(b""), "is empty; export or copy it again"),
        ("c.json", b"{}", "of traceEvents; give an SQLite"),
        ("c.json", b'{"traceEvents": {}}', "of traceEvents; give an SQLite"),
        ("c.json", b"3", "of traceEvents; give an SQLite"),
        ("c.json", b"[]", "no event .*; record CPU"),
        ("c.json", b'{"traceEvents": [', "no event .*; record CPU"),
        ("c.json", b"[" * 9999, "no event .*; record CPU"),
        ("c.json", b'[{"ph": "X", "cat": "x", "ts": 1, "dur": 1}]', "no event .*; record CPU"),
        ("c.json", b'[{"ph": "X", "cat": "runtime", "ts": 1, "dur": 1}]', "; record some"),
        ("c.txt", b"hello", "neither an export .*; give an SQLite"),
        ("c.json", b'{"data": []}\n{"Type": 1}\n', "holds JSON lines, .*nsys export --type sqlite"),
        ("c.nsys-rep", b"binary", "export it first"),
        ("c.sqlite", SQLITE + b"garbage", "is not .*; export or copy it again"),
        ("c.sqlite.gz", packed(SQLITE * 99)[:-9], "is cut off.; export or"),
        ("c.json.gz", b"\x1f\x8b" + b"damaged", "is not a capture .*; copy it again, or"),
        ("c.json.gz", packed(b"[]")[:-8] + bytes(8), "incorrect data check.; copy it again"),
        ("c.json", b"<html>\n404", r"begins with '<html>\\n404'; give"),
        ("c.json.gz", packed(packed(b"[]")), "compressed by gzip twice, .*unpack it"),
        (
            "c.json",
            b"PK\3\4" + b"zip",
            "compressed by zip, which isn't read: unpack it, or use gzip",
        ),
        ("c.json.xz", lzma.compress(b"[]"), "compressed by xz"),
        ("c.json.bz2", bz2.compress(b"[]"), "compressed by bzip2"),
        ("c.json.zst", b"\x28\xb5\x2f\xfd" + b"[]", "compressed by Zstandard"),
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


@pytest.mark.parametrize(
    ("data", "cut_off"),
    [
        (b"".join(packed(b"[]"[n : n + 1]) for n in range(2)), 0),
        (packed(b"") * 3000 + packed(b"[]"), 0),
        (packed(b"[]") + bytes(2**17), 0),
        (packed(b"[]") + b"garbage", 1),
    ],
)
def test_a_gzip_file_may_have_many_members_and_zeros_after_them(
    tmp_path: Path, data: bytes, cut_off: int
) -> None:
    (tmp_path / "c.json.gz").write_bytes(data)
    assert content(tmp_path / "c.json.gz") == ("[]", not cut_off)


def test_what_cannot_be_opened_is_named(tmp_path: Path) -> None:
    (tmp_path / "c.json").symlink_to("c.json")
    with pytest.raises(TraceError, match=r"c\.json: it can't be read \(Too many levels of symbol"):
        read(tmp_path / "c.json")
    with pytest.raises(TraceError, match=r"c\.sqlite is not a capture"):
        read(tmp_path / "c.sqlite")


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("ALTER TABLE NVTX_EVENTS RENAME COLUMN globalTid TO tid", "NVTX_EVENTS has no column glo"),
        ("ALTER TABLE NVTX_EVENTS DROP COLUMN eventType", "NVTX_EVENTS has no column eventType"),
        (
            "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN end",
            "CUPTI_ACTIVITY_KIND_KERNEL has no column end",
        ),
        (
            "ALTER TABLE CUPTI_ACTIVITY_KIND_RUNTIME RENAME COLUMN correlationId TO id",
            "CUPTI_ACTIVITY_KIND_RUNTIME has no column correlationId",
        ),
        (
            "ALTER TABLE NVTX_EVENTS RENAME TO NVTX_EVENTS_V2;"
            "ALTER TABLE NVTX_EVENTS_V2 DROP COLUMN globalTid",
            "NVTX_EVENTS_V2 isn't one of ranges that this reader knows",
        ),
    ],
)
def test_a_missing_column_is_named_with_its_table(export: Export, sql: str, said: str) -> None:
    for statement in sql.split(";"):
        export.sql(statement)
    with pytest.raises(TraceError, match=said) as caught:
        export.read()
    assert "c.sqlite" in str(caught.value)


def test_a_folder_that_cannot_be_read_is_named_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TraceError, match=f"^{tmp_path}: the folder holds no table that nsys"):
        read(tmp_path)
    (tmp_path / "NVTX_EVENTS.parquet").touch()
    monkeypatch.delattr("workflow_src.captures.arrow_store", raising=False)
    monkeypatch.delitem(sys.modules, "workflow_src.captures.arrow_store", raising=False)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(TraceError, match=f"^{tmp_path}: .* pyarrow: pip install pyarrow$"):
        read(tmp_path)


def test_tables_of_others_and_columns_may_have_names_in_any_letters(export: Export) -> None:
    export.sql("ALTER TABLE NVTX_EVENTS RENAME COLUMN globalTid TO GlobalTID")
    export.sql('CREATE TABLE "a""; DROP TABLE StringIds; --" (x INTEGER)')
    assert busy(export.tables()) == {"step": 1}


def test_a_kernel_has_the_first_of_its_names_that_is_there(export: Export) -> None:
    kernel = "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL"
    named = []
    for column in ("demangledName", "shortName", "mangledName"):
        export.sql(f"{kernel} ADD COLUMN mangledName INTEGER") if not named else None
        export.sql(f"UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET {column} = ?", export.string(column))
        named += [column]
    for column in named:
        assert export.read().work["name"].tolist() == [column]
        export.sql(f"{kernel} DROP COLUMN {column}")
    assert notes(export.tables())["lost names"] == 1


def test_a_database_of_another_kind_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "c.sqlite")) as connection:
        connection.execute("CREATE TABLE photos (id)")
        connection.commit()
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


@few
@given(
    st.sampled_from([(table, column) for table, names in CELLS.items() for column in names]),
    st.none() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text() | st.binary(),
    st.integers(1, 5),
)
def test_a_changed_value_of_an_export_ends_in_tables_or_a_sentence(
    cell: tuple[str, str], value: Any, row: int
) -> None:
    """Two ranges are no steps: diagnoses of changed captures are tried below."""
    with folder() as here:
        export = Export(here)
        for start in (0, 100):
            export.range("step", start, start + 100)
            export.work(start + 10, 20)
            export.wait(start + 20, start + 40)
        with suppress(sqlite3.Error, UnicodeEncodeError):
            update = f"UPDATE OR IGNORE {cell[0]} SET {cell[1]} = ? WHERE rowid % ? = 0"
            export.sql(update, value, row)
        said = ends_well(read_capture.main, "--capture", export.write(), "--output", here / "t")
        assert not said or "c.sqlite" in said, said
        assert (here / "t").exists() != bool(said)


@pytest.mark.parametrize("seed", seeds(range(8)))
def test_a_recorded_capture_that_was_changed_ends_in_right_tables_or_a_sentence(seed: int) -> None:
    assert failure(seed) == ""


def test_the_command_writes_all_tables_or_none(
    export: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    given = ["--capture", str(export.write()), "--output", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", ["tables", *given])
    read_capture.main()
    found = sorted(path.name for path in (tmp_path / "out").iterdir())
    drawn = ("step.svg", "step.trace.json.gz")
    assert found == sorted([*(f"{name}.csv" for name in tables.TABLES), *drawn])
    assert capsys.readouterr().out == (
        "1 ns of device time in 1 activities: 1 ns in 1 paths, 0 ns in none\n"
    )
    monkeypatch.setattr(sys, "argv", ["tables", *given[:3], str(tmp_path / "b"), "--domains", "x"])
    with pytest.raises(SystemExit, match="--domains: the capture has no domain 'x'"):
        read_capture.main()
    assert not (tmp_path / "b").exists()


def test_a_total_that_does_not_come_out_is_not_written(export: Export) -> None:
    found = attributed(export.read(), None)
    lost = replace(found, work=found.work.assign(duration_ns=0))
    with pytest.raises(TraceError, match="0 ns in ranges and 0 ns outside are not the 1 ns"):
        tables.tables_of(lost)
