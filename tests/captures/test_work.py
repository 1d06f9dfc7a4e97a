"""Device work of every kind in small exports of nsys: what is counted, and where."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.captures.building import Export, busy, notes, unplaced
from workflow_src.captures.capture import LATEST_NS
from workflow_src.captures.sqlite_store import opened
from workflow_src.placing.placing import NO_RANGE, WHOLE


@pytest.fixture
def export(tmp_path: Path) -> Export:
    return Export(tmp_path)


def test_kernels_copies_sets_and_graphs_all_count(export: Export) -> None:
    export.range("step", 0, 100)
    export.work(10, 1)
    export.work(20, 2, kind="MEMCPY", copyKind=1)
    export.work(30, 4, kind="MEMSET")
    export.work(40, 8, kind="GRAPH_TRACE", graphId=3)
    export.work(50, 16, demangledName=export.string("ncclDevKernel_AllReduce_Sum_f32_RING_LL"))
    tables = export.tables()
    rows = tables["kernels"][["kind", "family", "name", "busy_ns"]].to_numpy().tolist()
    assert sorted(rows, key=lambda row: row[3]) == [
        ["kernel", "gemm", "gemm", 1],
        ["copy", "copy", "[CUDA memcpy Host-to-Device]", 2],
        ["set", "fill", "[CUDA memset]", 4],
        ["graph", "graph", "CUDA graph 3", 8],
        ["kernel", "communication", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 16],
    ]
    assert busy(tables) == {"step": 31} and notes(tables) == {"whole graphs": 1}


def test_casts_are_told_from_copies_and_kernels_of_one_short_name_apart(export: Export) -> None:
    template = "void at::native::{}_kernel<4, at::native::{}>(int, T2)"
    direct = "direct_copy_kernel_cuda(at::TensorIteratorBase &)::[lambda({}) (instance 1)]"
    export.range("step", 0, 100)
    for place, (elementwise, functor) in enumerate(
        [
            ("vectorized_elementwise", "bfloat16_copy_kernel_cuda"),
            ("unrolled_elementwise", direct.format("float")),
            ("elementwise", direct.format("float")),
            ("elementwise", direct.format("c10::BFloat16")),
        ]
    ):
        name = export.string(template.format(elementwise, functor))
        export.work(10 + 10 * place, 2**place, demangledName=name)
    export.work(60, 16, kind="MEMCPY", copyKind=1)
    tables = export.tables()
    rows = tables["kernels"].sort_values("busy_ns")[["family", "short_name"]].to_numpy().tolist()
    assert rows == [
        ["cast", "vectorized_elementwise(bfloat16_copy)"],
        ["cast", "unrolled_elementwise(direct_copy)"],
        ["copy", "elementwise(direct_copy): float"],
        ["copy", "elementwise(direct_copy): BFloat16"],
        ["copy", "[CUDA memcpy Host-to-Device]"],
    ]
    families = tables["families"][["family", "busy_ns"]].to_numpy().tolist()
    assert families == [["copy", 4 + 8 + 16], ["cast", 1 + 2]]


def test_busy_is_a_sum_and_a_union_and_spans_are_per_instance(export: Export) -> None:
    export.range("step", 0, 100)
    export.range("step", 200, 300)
    export.range("forward", 10, 50)
    export.work(20, 10, start=30, stream=7)
    export.work(21, 10, start=35, stream=8)
    export.work(60, 10, start=70, stream=7)
    export.work(210, 5, start=220)
    row = export.tables()["paths"].set_index("path").loc["step"]
    assert row[["instances", "activities"]].tolist() == [2, 4]
    columns = ["host_ms", "busy_ms", "own_ms", "busy_union_ms", "span_ms"]
    assert [round(ms * 1e6) for ms in row[columns]] == [200, 35, 15, 30, 50 + 5]


def test_the_union_is_taken_on_each_device(export: Export) -> None:
    export.range("step", 0, 100)
    export.work(20, 10, start=30, device=0)
    export.work(21, 10, start=30, device=1)
    tables = export.tables()
    assert busy(tables, "busy_union_ms") == {"step": 20}
    assert tables["summary"][["devices", "streams"]].to_numpy().tolist() == [[2, 2], [2, 2]]


def test_families_of_a_path_include_its_inner_ranges(export: Export) -> None:
    export.range("step", 0, 100)
    export.range("forward", 10, 50)
    export.work(20, 1)
    export.work(60, 2)
    export.work(70, 4, kind="MEMSET")
    rows = export.tables()["families"][["path", "family", "activities", "busy_ns"]]
    assert sorted(rows.to_numpy().tolist()) == [
        ["step", "fill", 1, 4],
        ["step", "gemm", 2, 3],
        ["step/forward", "gemm", 1, 1],
    ]


@pytest.mark.parametrize(
    "damage",
    ["end = start - 1", "end = NULL", "start = 'soon'", "end = 1e300", "end = x'33362c34'"],
)
def test_one_activity_with_a_bad_time_is_left_out_and_counted(export: Export, damage: str) -> None:
    """Bytes stay bytes in a column of integers, and `36,4` joins as numbers of two rows would."""
    export.range("step", 0, 100)
    export.work(10, 1)
    export.work(20, 2)
    export.sql(f"UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET {damage} WHERE end - start = 2")
    tables = export.tables()
    assert busy(tables) == {"step": 1} and notes(tables) == {"bad work": 1}


@pytest.mark.parametrize("damage", ["end = start - 1", "start = 'x'", "globalTid = NULL"])
def test_one_bad_range_is_left_out_and_counted(export: Export, damage: str) -> None:
    export.range("step", 0, 100)
    export.range("bad", 10, 50)
    export.sql(f"UPDATE NVTX_EVENTS SET {damage} WHERE text = 'bad'")
    export.work(20, 1)
    tables = export.tables()
    assert busy(tables) == {"step": 1} and notes(tables) == {"bad ranges": 1}


def test_work_of_no_length_is_counted_as_an_activity(export: Export) -> None:
    export.range("step", 0, 100)
    export.work(10, 0)
    row = export.tables()["paths"].iloc[0]
    assert (row["activities"], row["busy_ms"], row["span_ms"]) == (1, 0, 0)


@pytest.mark.parametrize("declared", ["INTEGER", ""])
def test_what_is_no_integer_is_told_whatever_a_column_is_declared_as(
    tmp_path: Path, declared: str
) -> None:
    path = tmp_path / "c.sqlite"
    values = [5, None, "x", 2.5, b"7x", "", "1,2", -(2**60)]
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TABLE t (start {declared}, end {declared})")
        connection.executemany("INSERT INTO t VALUES (0, ?)", [(each,) for each in values])
    with opened(path) as database:
        found = database.integers("t", ("start", "end"))["end"]
        assert found.tolist() == [5, LATEST_NS, *[-LATEST_NS] * 5, -(2**60)]
        assert database.total_ns("t") == 5


def test_without_strings_names_are_numbers_and_counted(export: Export) -> None:
    export.range("step", 0, 100, registered=True)
    export.work(10, 1)
    export.sql("DROP TABLE StringIds")
    tables = export.tables()
    assert busy(tables) == {"(string 1)": 1} and notes(tables) == {"lost names": 2}
    assert tables["kernels"]["name"].tolist() == ["(kernel 2)"]


def test_names_that_are_no_utf8_are_read(export: Export) -> None:
    export.range("step", 0, 100)
    export.sql("UPDATE NVTX_EVENTS SET text = CAST(x'73ff' AS TEXT)")
    assert set(busy(export.tables())) == {"s\\\\xff"}


def test_columns_that_nobody_needs_may_be_missing_and_others_added(export: Export) -> None:
    export.range("step", 0, 100)
    export.work(10, 1)
    for table, column in {
        "NVTX_EVENTS": "endGlobalTid",
        "CUPTI_ACTIVITY_KIND_KERNEL": "streamId",
        "CUPTI_ACTIVITY_KIND_RUNTIME": "nameId",
    }.items():
        export.sql(f"ALTER TABLE {table} DROP COLUMN {column}")
        export.sql(f"ALTER TABLE {table} ADD COLUMN newColumn TEXT DEFAULT 'x'")
    for column in ("domainId", "textId"):
        export.sql(f"ALTER TABLE NVTX_EVENTS DROP COLUMN {column}")
    export.sql("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN demangledName")
    export.sql("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET shortName = 1")
    tables = export.tables()
    assert busy(tables) == {"step": 1} and notes(tables) == {}
    assert tables["kernels"]["name"].tolist() == ["gemm"]


def test_a_table_of_work_that_is_not_known_is_counted(export: Export) -> None:
    export.range("step", 0, 100)
    export.work(10, 1)
    for name in ("CUPTI_ACTIVITY_KIND_NEWCOPY", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"):
        export.sql(f"CREATE TABLE {name} AS SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL")
    export.sql("DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY")
    tables = export.tables()
    assert notes(tables) == {"unread tables": 1}
    assert tables["notes"]["about"].tolist() == ["CUPTI_ACTIVITY_KIND_NEWCOPY"]


def test_tables_exist_only_where_there_were_events(export: Export) -> None:
    export.work(10, 1)
    for table in ("NVTX_EVENTS", "ENUM_CUDA_MEMCPY_OPER", "META_DATA_EXPORT"):
        export.sql(f"DROP TABLE {table}")
    for kind in ("MEMCPY", "MEMSET", "GRAPH_TRACE"):
        export.sql(f"DROP TABLE CUPTI_ACTIVITY_KIND_{kind}")
    tables = export.tables()
    assert busy(tables) == {WHOLE: 1}
    assert tables["summary"]["version"].unique().tolist() == ["unknown"]


def test_of_a_process_without_ranges_work_without_launches_counts_too(export: Export) -> None:
    export.work(None, 1, start=20)
    export.sql("DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME")
    assert busy(export.tables()) == {WHOLE: 1}


def test_ranges_without_device_work_are_noted(export: Export) -> None:
    export.range("step", 0, 100)
    tables = export.tables()
    assert busy(tables) == {"step": 0} and notes(tables) == {"no work": 1}
    assert all(len(tables[name]) == 0 for name in ("kernels", "families"))


def test_work_outside_every_range_is_a_row(export: Export) -> None:
    export.range("step", 0, 100)
    export.work(200, 3)
    (row,) = export.tables()["kernels"].to_dict("records")
    about = {
        "process": 1,
        "path": f"({NO_RANGE})",
        "kind": "kernel",
        "family": "gemm",
        "name": "gemm",
    }
    assert row | about | {"activities": 1, "busy_ns": 3, "steps": 0} == row
    assert unplaced(export.tables()) == {NO_RANGE: 3}
