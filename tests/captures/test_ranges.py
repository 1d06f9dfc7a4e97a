"""Ranges of every kind, in small exports of nsys: which of them a launch belongs to."""

from pathlib import Path

import pytest

from tests.captures.building import Export, busy, notes, unplaced
from workflow_src.captures.launches import NO_CALL
from workflow_src.common.errors import TraceError
from workflow_src.common.nesting import DEEPEST
from workflow_src.placing.placing import NO_RANGE, WHOLE


@pytest.fixture
def export(tmp_path: Path) -> Export:
    return Export(tmp_path)


def test_a_launch_belongs_to_the_innermost_open_range(export: Export) -> None:
    export.range("step", 0, 100)
    export.range("forward", 10, 50, registered=True)
    for moment, length in ((5, 1), (10, 2), (49, 4), (50, 8), (100, 16)):
        export.work(moment, length)
    tables = export.tables()
    assert busy(tables) == {"step": 1 + 8, "step/forward": 2 + 4}
    assert unplaced(tables) == {NO_RANGE: 16}


def test_a_range_may_begin_on_one_thread_and_end_on_another(export: Export) -> None:
    export.range("request", 0, 100, thread=1, ended_on=2)
    export.range("forward", 10, 50, thread=1)
    export.work(20, 1, thread=1)
    export.work(60, 2, thread=1)
    export.work(70, 4, thread=3)
    tables = export.tables()
    assert busy(tables) == {"request": 2 + 4, "request/forward": 1}
    assert notes(tables) == {"crossing": 1, "turns": 1}


@pytest.mark.parametrize("registered", [False, True])
def test_domains_have_names_within_their_process(export: Export, registered: bool) -> None:
    export.domain(1, "trainer", process=1, registered=registered)
    export.domain(1, "NCCL", process=2, registered=registered)
    export.range("step", 0, 100, domain=1, process=1)
    export.range("ncclAllReduce", 0, 100, domain=1, process=2)
    export.work(10, 1, process=1)
    export.work(10, 2, process=2)
    assert busy(export.tables()) == {"step": 1, WHOLE: 2}
    assert busy(export.tables("NCCL")) == {WHOLE: 1, "ncclAllReduce": 2}


def test_domains_of_one_thread_make_one_tree(export: Export) -> None:
    export.domain(3, "trainer")
    export.range("step", 0, 100)
    export.range("forward", 10, 50, domain=3)
    export.work(20, 1)
    assert busy(export.tables()) == {"step": 0, "step/forward": 1}
    assert busy(export.tables("default")) == {"step": 1}
    assert notes(export.tables("default")) == {"not asked for": 1}
    assert busy(export.tables("trainer")) == {"forward": 1}
    assert busy(export.tables("trainer", "default")) == {"step": 0, "step/forward": 1}


def test_a_librarys_domain_is_told_from_the_users(export: Export) -> None:
    libraries = ["CCCL", "NCCL", "cuBLAS", "cuDNN"]
    export.range("step", 0, 100)
    for number, library in enumerate(libraries, start=1):
        export.domain(number, library)
        export.range(f"in {library}", 10 * number, 10 * number + 9, domain=number)
    export.work(20, 1)
    tables = export.tables()
    assert busy(tables) == {"step": 1} and notes(tables) == {"libraries": 4}
    assert tables["domains"].query("is_library")["domain"].tolist() == libraries
    assert busy(export.tables("default", "NCCL")) == {"step": 0, "step/in NCCL": 1}


def test_a_domain_without_a_name_is_the_users(export: Export) -> None:
    export.range("step", 0, 100, domain=7)
    export.range("whole", 0, 200, domain=None)
    assert export.tables()["domains"]["domain"].tolist() == ["default", "domain 7"]
    assert set(busy(export.tables())) == {"whole", "whole/step"}


def test_a_domain_that_is_not_there_is_refused(export: Export) -> None:
    export.range("step", 0, 100)
    with pytest.raises(TraceError, match=r"no domain 'trainr', it has default$"):
        export.tables("trainr")


def test_marks_are_no_ranges_and_imported_ranges_are(export: Export) -> None:
    export.range("step", 0, 100)
    export.range("imported", 10, 50)
    export.range("mark", 20, None)
    for name, kind in (("imported", 70), ("mark", 34)):
        export.sql("UPDATE NVTX_EVENTS SET eventType = ? WHERE text = ?", kind, name)
    export.work(30, 1)
    tables = export.tables()
    assert busy(tables) == {"step": 0, "step/imported": 1} and notes(tables) == {}


def test_ranges_that_were_never_closed_end_with_the_capture(export: Export) -> None:
    export.range("program", 0, None)
    export.range("step", 10, 50)
    export.range("late", 60, None)
    export.work(20, 1)
    export.work(70, 2, start=90)
    export.work(95, 4)
    tables = export.tables()
    assert busy(tables) == {"program": 0, "program/step": 1, "program/late": 2 + 4}
    assert notes(tables) == {"unclosed": 2}
    assert (tables["paths"].set_index("path")["host_ms"] * 1e6).round().to_dict() == {
        "program": 104,
        "program/step": 40,
        "program/late": 44,
    }


def test_of_overlapping_ranges_the_latest_begun_that_is_open_counts(export: Export) -> None:
    export.range("a", 0, 50)
    export.range("b", 20, 80)
    export.range("c", 30, 40)
    for moment, length in ((10, 1), (25, 2), (35, 4), (60, 8), (80, 16)):
        export.work(moment, length)
    tables = export.tables()
    assert busy(tables) == {"a": 1, "b": 2 + 8, "b/c": 4}
    assert unplaced(tables) == {NO_RANGE: 16}
    assert notes(tables) == {"overlapping": 1}


def test_ranges_of_no_length_are_instances_without_work(export: Export) -> None:
    export.range("step", 0, 100)
    export.range("mark", 50, 50)
    export.range("outside", 200, 200)
    export.work(50, 1)
    tables = export.tables()
    assert busy(tables) == {"step": 1, "step/mark": 0, "outside": 0}
    assert tables["paths"]["instances"].tolist() == [1, 1, 1]


def test_the_same_name_at_several_depths_is_several_paths(export: Export) -> None:
    for start, end in ((0, 100), (10, 90), (20, 80)):
        export.range("block", start, end)
    export.range("block", 200, 300)
    for moment in (5, 15, 25, 250):
        export.work(moment, 1)
    tables = export.tables()
    assert busy(tables) == {"block": 2, "block/block": 1, "block/block/block": 1}
    assert busy(tables, "busy_ms") == {"block": 4, "block/block": 2, "block/block/block": 1}
    assert tables["paths"]["instances"].tolist() == [2, 1, 1]


def test_names_of_any_kind_give_different_paths(export: Export) -> None:
    """Non-ASCII names, "/" and backslashes in names, names that look like a path, empty ones."""
    names = ["é/1", "a", "a/b", "a\\", "日本\n語", "", "(whole)"]
    for number, name in enumerate(names):
        export.range(name, number * 10, number * 10 + 5)
        export.work(number * 10, 1)
    export.range("b", 11, 13)
    export.work(12, 2)
    expected = {"é\\/1", "a", "a\\/b", "a\\\\", "日本␊語", "", "(whole)", "a/b"}
    assert set(busy(export.tables())) == expected
    assert export.tables()["summary"]["ranges"].tolist() == [8, 8]


def test_without_ranges_on_the_first_thread_it_is_the_one_with_most(export: Export) -> None:
    export.range("load", 0, 100, thread=2)
    export.range("step", 0, 50, thread=3)
    export.range("step", 50, 100, thread=3)
    export.work(60, 1, thread=9)
    tables = export.tables()
    assert busy(tables) == {"load": 0, "step": 1}
    assert tables["summary"]["main_thread"][0] == 3


def test_a_library_thread_whose_ranges_do_not_count_has_no_tree(export: Export) -> None:
    """NCCL's ranges on autograd's thread don't take backward's kernels away from backward."""
    export.domain(1, "NCCL")
    export.range("backward", 0, 100, thread=1)
    export.range("ncclAllReduce", 30, 40, thread=2, domain=1)
    export.work(35, 1, thread=2)
    export.work(50, 2, thread=2)
    assert busy(export.tables()) == {"backward": 3}


def test_processes_are_apart_although_their_numbers_are_the_same(export: Export) -> None:
    for process, name in ((1, "first"), (2, "second")):
        export.range(name, 0, 100, process=process)
    export.work(10, 1, process=1, number=5, device=0)
    export.work(20, 2, process=2, number=5, device=1)
    export.work(None, 4, process=1, number=6, start=50)
    export.call(30, 6, process=2)
    export.range("idle", 0, 100, process=4)
    tables = export.tables()
    assert busy(tables) == {"first": 1, "second": 2, "idle": 0}
    assert unplaced(tables) == {NO_CALL: 4}
    assert tables["summary"]["process"].tolist() == ["1", "2", "4", "all"]
    assert tables["summary"]["devices"].tolist() == [1, 1, 0, 2]
    assert tables["summary"]["total_ns"].tolist() == [5, 2, 0, 7]


def test_processes_of_two_hosts_with_the_same_id_stay_apart(export: Export) -> None:
    export.range("step", 0, 100, process=1)
    export.range("step", 0, 100, process=1 | 1 << 25)
    paths = export.tables()["paths"]
    assert paths["process"].nunique() == 2 and paths["instances"].tolist() == [1, 1]


def test_work_whose_launch_is_unknown_is_in_no_range(export: Export) -> None:
    export.range("step", 0, 100)
    export.work(10, 1, number=50)
    export.work(None, 2, number=3, start=1)
    export.work(None, 4, number=70, start=50)
    export.work(None, 8, number=0, start=50)
    export.sql("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET correlationId = NULL WHERE end - start = 8")
    export.range("other", 0, 100, process=2)
    export.work(None, 16, process=2, start=50)
    tables = export.tables()
    assert busy(tables) == {"step": 1, "other": 0}
    assert unplaced(tables) == {NO_CALL: 2 + 4 + 8 + 16}


def test_of_two_calls_with_one_number_the_outer_one_launched(export: Export) -> None:
    export.range("outer", 0, 20)
    export.range("inner", 20, 40)
    export.call(25, 1)
    export.work(15, 1, number=1)
    assert busy(export.tables()) == {"outer": 1, "inner": 0}


def test_a_program_that_forgets_to_close_its_ranges_does_not_fill_the_memory(
    export: Export,
) -> None:
    """Each step lies in all steps before it: without a limit, paths are 7 MB of text."""
    for step in range(1_000):
        export.range("step", step * 10, None)
        export.range("forward", step * 10 + 1, step * 10 + 8)
        export.work(step * 10 + 2, 1)
    tables = export.tables()
    assert sum(busy(tables).values()) == 1_000
    assert busy(tables)["step/forward"] == 1 and busy(tables, "busy_ms")["step"] == 1_000
    deepest = "/".join(["step"] * (DEEPEST - 1))
    assert busy(tables)[f"{deepest}/forward"] == 1_000 - DEEPEST + 2
    assert tables["paths"]["instances"].sum() == 2_000
    assert notes(tables) == {"unclosed": 1_000, "too deep": 2 * (1_000 - DEEPEST) + 1}


def test_work_that_starts_before_its_launch_is_counted_and_noted(export: Export) -> None:
    export.range("step", 100, 200)
    export.work(110, 1)
    export.work(120, 2, start=0)
    tables = export.tables()
    assert busy(tables) == {"step": 3} and notes(tables) == {"early": 1}
