"""Device work of every kind: what is counted, where, whatever order rows have; folded names."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest

from tests.captures.building import Export, busy, notes, tables_in
from workflow_src.common.errors import TraceError
from workflow_src.placing.attributed import attributed
from workflow_src.placing.paths import MANY, shape
from workflow_src.placing.placing import WHOLE
from workflow_src.tables.capture_tables import placed_tables

WORK = "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET {} WHERE end - start = 2"
RANGE = "UPDATE NVTX_EVENTS SET {} WHERE text = 'inner'"
COPIED = "CREATE TABLE CUPTI_ACTIVITY_KIND_{} AS SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL;"
LESS = "ALTER TABLE {0} DROP COLUMN {1}; ALTER TABLE {0} ADD COLUMN newColumn TEXT DEFAULT 'x';"
BOTH = {"step": 1 + 2, "step/inner": 0}
CASES = [
    # What is changed of a step of 1 and 2 ns and a range in it; device time by path, and notes.
    *[(WORK.format(each), BOTH | {"step": 1}, {"bad work": 1}) for each in (
        "end = start - 1", "end = NULL")],
    *[(RANGE.format(each), {"step": 3}, {"bad ranges": 1})
      for each in ("end = start - 1", "globalTid = NULL")],
    # Names that are no UTF-8.
    (RANGE.format("text = CAST(x'73ff' AS TEXT)"), {"step": 3, "step/s\\\\xff": 0}, {}),
    # A table of work that isn't known, and others that are none.
    (COPIED.format("NEWCOPY") + COPIED.format("SYNCHRONIZATION")
     + "DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY", BOTH, {"unread tables": 2}),
    # Columns that nobody needs are missing, and others added.
    ("".join(LESS.format(*of) for of in (
        ("NVTX_EVENTS", "endGlobalTid"), ("CUPTI_ACTIVITY_KIND_KERNEL", "streamId"),
        ("CUPTI_ACTIVITY_KIND_RUNTIME", "nameId")))
     + "ALTER TABLE NVTX_EVENTS DROP COLUMN domainId; ALTER TABLE NVTX_EVENTS DROP COLUMN textId;"
     , BOTH, {}),
    # Tables exist only where there were events.
    ("".join(f"DROP TABLE {name};" for name in (
        "NVTX_EVENTS", "ENUM_CUDA_MEMCPY_OPER", "META_DATA_EXPORT", "CUPTI_ACTIVITY_KIND_MEMCPY",
        "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE")), {WHOLE: 3}, {}),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "expected", "said"), CASES)
def test_what_is_missing_or_odd_is_left_out_and_counted(
    export: Export, sql: str, expected: dict[str, int], said: dict[str, int]
) -> None:
    export.range("step", 0, 100)
    export.range("inner", 10, 50)
    export.work(60, 1)
    export.work(70, 2)
    export.connection.executescript(sql)
    tables = export.tables()
    assert busy(tables) == expected and notes(tables) == said
    assert tables["kernels"]["name"].unique().tolist() == ["gemm"]
    if "unread tables" in said:
        assert tables["notes"]["about"].tolist() == ["CUPTI_ACTIVITY_KIND_NEWCOPY"]
    if "META_DATA_EXPORT" in sql:
        assert tables["summary"]["version"].unique().tolist() == ["unknown"]


@pytest.mark.parametrize("value", ["'soon'", "1e300", "x'33362c34'", "''"])
def test_a_column_of_other_things_than_integers_ends_in_a_sentence(
    export: Export, value: str
) -> None:
    """`36,4` as bytes joins as numbers of two rows would."""
    export.work(60, 1)
    export.sql(f"UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = {value}")
    with pytest.raises(TraceError, match=r"c\.sqlite is not a capture .*; export or copy it again"):
        export.read()


def test_without_strings_names_are_numbers_and_counted(export: Export) -> None:
    export.range("step", 0, 100, registered=True)
    export.work(10, 1)
    export.sql("DROP TABLE StringIds")
    tables = export.tables()
    assert busy(tables) == {"(string 1)": 1} and not notes(tables)
    assert tables["kernels"]["name"].tolist() == ["(kernel 2)"]


def made(folder: Path) -> Path:
    """Ranges, calls and kernels that begin at a time, on several streams and devices."""
    export = Export(folder, "made.sqlite")
    for length, name in enumerate(("b", "a", "c"), start=98):
        export.range(name, 0, length)
    for number, (device, stream) in enumerate([(0, 7), (0, 8), (1, 7)] * 3):
        where = dict(device=device, stream=stream, start=40 + 10 * (number % 2))
        at = dict(thread=number % 3 + 1, process=number % 2 + 1)
        export.range(f"step {number % 2}", 10, 30 + number, **at)
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


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("step 3", "step *"),
        ("Conv2d", "Conv2d"),
        ("aten::mm, seq = 12, sizes = [[8, 16], []]", "aten::mm, seq = *, sizes = *"),
        ("aten::add, op_id = 3, input_op_ids = [(1,0), (,)]", "aten::add, op_id = *, "
         "input_op_ids = *"),
        ("cache 0x7f3a at 1.5", "cache * at *"),
        ("request 3f2a9c1e-12ab-4cde-8f01-23456789abcd", "request *"),
        ("execute_context_1(888_788544)_generation_0(0)", "execute_context_*"),
        ("execute_32_context_0(sq0sk0)_generation_32(sq32sk32785sqsq32)", "execute_*"),
    ],
)  # fmt: skip
def test_a_shape_has_no_numbers(name: str, expected: str) -> None:
    assert shape(name) == expected


def with_layers(folder: Path, count: int) -> Export:
    export = Export(folder)
    export.range("forward", 0, 10 * count)
    for number in range(count):
        export.range(f"layer_{number}", 10 * number, 10 * number + 10)
        export.range("mm", 10 * number, 10 * number + 9)
        export.work(10 * number + 1, 2)
    return export


def test_many_numbered_ranges_of_one_path_are_one_and_a_note_says_so(tmp_path: Path) -> None:
    few = with_layers(tmp_path, MANY).tables()
    assert len(few["paths"]) == 1 + 2 * MANY and not notes(few)
    tables = with_layers(tmp_path, MANY + 1).tables()
    assert busy(tables, "busy_ms") == dict.fromkeys(
        ("forward", "forward/layer_*", "forward/layer_*/mm"), 2 * (MANY + 1)
    )
    note = tables["notes"].iloc[0]
    assert (note["note"], note["count"]) == ("folded names", MANY + 1)
    assert note["about"] == "layer_0 as layer_*"


def test_no_fold_at_all_keeps_names_and_a_pattern_comes_first(tmp_path: Path) -> None:
    capture = with_layers(tmp_path, MANY + 1).read()
    found = {
        fold: placed_tables(attributed(capture, None, fold=fold))["paths"]["path"].tolist()
        for fold in ("", r"_\d+")
    }
    assert len(found[""]) == 1 + 2 * (MANY + 1)
    assert found[r"_\d+"] == ["forward", "forward/layer", "forward/layer/mm"]


@pytest.mark.parametrize(("count", "moved_ns"), [(10, 0), (11, 3000)])
def test_a_device_whose_clock_is_ahead_is_put_on_the_hosts(
    export: Export, count: int, moved_ns: int
) -> None:
    for n in range(count):
        export.work(10_000 * n + 5000, 10, start=10_000 * n + 2000)
    capture = export.read()
    assert (capture.work["start_ns"] - capture.work["launch_ns"] == moved_ns - 3000).all()
    told = [(note.count, note.about) for note in capture.notes if note.code == "clocks"]
    assert told == ([(count, "by 3.0 us at most")] if moved_ns else [])
