"""Device work of every kind in small exports of nsys: what is counted, and where."""

import pytest

from tests.captures.building import Export, busy, notes
from workflow_src.common.errors import TraceError
from workflow_src.placing.placing import WHOLE

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
