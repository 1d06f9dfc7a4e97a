"""Folders of Arrow and Parquet files say what the SQLite export of the same report says."""

import gzip
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.captures.building import Export, tables_in
from tests.captures.folders import as_folder, write_table
from tests.test_nsys import requires_nsys
from workflow_src.captures.reading import read
from workflow_src.common.errors import TraceError
from workflow_src.measure import capture as nsys

pa = pytest.importorskip("pyarrow")
pc = pytest.importorskip("pyarrow.compute")

DATA = Path(__file__).parents[1] / "data"
EXPORTS = ("captures/llama.sqlite.gz", "nsys/autograd_thread_nsys2023.4.sqlite")
each_kind = pytest.mark.parametrize("suffix", [".arrow", ".parquet"])


def same(database: Path, folder: Path) -> None:
    theirs = tables_in(as_folder(database, folder, folder.name))
    for name, table in tables_in(database).items():
        pd.testing.assert_frame_equal(theirs[name], table)


@each_kind
@pytest.mark.parametrize("recorded", EXPORTS)
def test_a_recorded_export_has_the_same_tables(recorded: str, tmp_path: Path, suffix: str) -> None:
    database = tmp_path / "c.sqlite"
    data = (DATA / recorded).read_bytes()
    database.write_bytes(gzip.decompress(data) if recorded.endswith(".gz") else data)
    same(database, tmp_path / suffix)


@each_kind
def test_what_is_missing_or_odd_is_read_alike(tmp_path: Path, suffix: str) -> None:
    export = Export(tmp_path)
    export.domain(1, "trainer", registered=True)
    export.range("step", 0, 200, domain=1)
    export.range("never closed", 20, None, registered=True)
    export.range("loader", 30, 60, ended_on=2)
    export.range(None, 40, 50)
    export.range("no beginning first", 90, 70)
    export.work(10, 7, kind="MEMCPY", copyKind=1, srcKind=0, dstKind=2)
    export.work(30, 5, kind="GRAPH_TRACE", graphId=3)
    export.work(None, 5, number=99)
    export.work(50, -9)
    export.work(60, 5, demangledName=1234)
    export.work(65, 5, process=-7)
    export.wait(70, 95)
    export.insert("PROFILER_OVERHEAD", start=100, end=110, globalTid=None)
    export.sql("CREATE TABLE KERNEL_V2 AS SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL")
    same(export.write(), tmp_path / suffix)


@pytest.mark.nsys
@requires_nsys
def test_folders_of_a_real_nsys_have_the_same_tables(tmp_path: Path) -> None:
    program = (
        "import nvtx\n"
        "with nvtx.annotate('step'), nvtx.annotate('forward', domain='trainer'): pass\n"
        "nvtx.push_range('never closed')"
    )
    recorded = tmp_path / "c.nsys-rep"
    nsys.profile(recorded, [sys.executable, "-c", program], "cpu")
    for kind in ("sqlite", "arrowdir", "parquetdir"):
        command = ["nsys", "export", "--quiet=true", "--type", kind, "--lazy=false"]
        subprocess.run([*command, "-o", tmp_path / kind, recorded], check=True)
    expected = tables_in(tmp_path / "sqlite")
    assert [*expected["paths"]["path"]] == ["never closed", "step", "step/forward"]
    for kind in ("arrowdir", "parquetdir"):
        for name, table in tables_in(tmp_path / kind).items():
            pd.testing.assert_frame_equal(table, expected[name])


@pytest.fixture
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    export = Export(tmp_path)
    export.range("step", 0, 100)
    export.work(10, 7)
    return as_folder(export.write(), tmp_path / "theirs_pqtdir", request.param)


def changed(path: Path, change: Callable[[Any], Any]) -> None:
    """Change the table of one file, which doesn't change its folder."""
    from workflow_src.captures.arrow_store import stored

    columns = stored(path, None).column_names
    new = path.parent.parent / path.name
    write_table(new, change(stored(path, columns)))
    path.write_bytes(new.read_bytes())


@pytest.mark.parametrize("folder", [".arrow", ".parquet"], indirect=True)
def test_names_that_are_no_utf8_and_rows_in_parts_are_read(folder: Path) -> None:
    odd = pa.array([b"caf\xe9"], pa.binary()).view(pa.string())
    path = next(folder.glob("NVTX_EVENTS*"))
    changed(path, lambda table: pa.concat_tables([table, table.set_column(3, "text", [odd])]))
    assert [*tables_in(folder)["paths"]["path"]] == ["caf\\\\xe9", "caf\\\\xe9/step"]


@pytest.mark.parametrize("folder", [".arrow", ".parquet"], indirect=True)
@pytest.mark.parametrize(
    ("table", "change", "said"),
    [
        ("NVTX_EVENTS", lambda t: t.drop_columns("globalTid"), "NVTX_EVENTS has no column global"),
        (
            "CUPTI_ACTIVITY_KIND_KERNEL",
            lambda t: t.set_column(0, "start", pc.cast(t["start"], "duration[ns]")),
            r"_KERNEL has duration\[ns\] in column start, not integers; export",
        ),
    ],
)
def test_a_column_that_cannot_be_used_is_named(
    folder: Path, table: str, change: Callable[[Any], Any], said: str
) -> None:
    changed(next(folder.glob(f"{table}.*")), change)
    with pytest.raises(TraceError, match=f"^{folder}: its table .*{said}"):
        read(folder)


@pytest.mark.parametrize("folder", [".arrow", ".parquet"], indirect=True)
@pytest.mark.parametrize("left", [4, -8])
def test_a_file_that_was_cut_off_is_named(folder: Path, left: int) -> None:
    path = next(folder.glob("CUPTI_ACTIVITY_KIND_KERNEL*"))
    path.write_bytes(path.read_bytes()[:left])
    with pytest.raises(TraceError, match=rf"its file {path.name} can't be read \(.*; export or"):
        read(folder)


@pytest.mark.parametrize("folder", [".arrow", ".parquet"], indirect=True)
def test_a_column_in_which_nothing_stands_may_have_no_type(folder: Path) -> None:
    path = next(folder.glob("NVTX_EVENTS*"))
    changed(path, lambda table: table.set_column(6, "textId", [pa.nulls(len(table))]))
    assert [*tables_in(folder)["paths"]["path"]] == ["step"]
