"""Captures as strangers bring them: what can be is read, and what can't is told and not counted."""

from pathlib import Path

import pytest

from tests.captures.building import (
    Export,
    busy,
    event,
    launched,
    notes,
    tables_in,
    thread_name,
    trace_file,
    unplaced,
)
from workflow_src.captures.launches import NO_CALL, REUSED
from workflow_src.captures.reading import read
from workflow_src.common.errors import TraceError
from workflow_src.placing.attributed import attributed
from workflow_src.tables.capture_tables import placed_tables

STRANGERS = Path(__file__).parents[1] / "data" / "strangers"
STEPS = {"step": 0, "step/forward": 36_000, "step/backward": 72_000}
SMALL = {"step": 0, "step/forward": 360, "step/backward": 720}


@pytest.mark.parametrize(
    ("name", "expected", "said"),
    [
        ("c_BE_ranges.json", STEPS, {}),
        ("q_xpu.json", STEPS, {}),
        ("h_negative_call.json", STEPS, {"endless calls": 1}),
        ("cd_duplicate_events.json", STEPS, {"twice": 33}),
        ("cc_overflow_dur.json", STEPS | {"step/forward": 31_000}, {"impossible": 1}),
        ("ca_clock_jump.json", dict.fromkeys(STEPS, 0), {"impossible": 12}),
        ("sl_overflow.sqlite", SMALL | {"step/forward": 310}, {"impossible": 1}),
        ("ss_blob.sqlite", SMALL, {}),
        ("sj_reused_corr_launch.sqlite", {"A": 100, "B": 200}, {"reused numbers": 2}),
    ],
)
def test_what_is_there_is_counted_once_and_the_rest_told(
    name: str, expected: dict[str, int], said: dict[str, int]
) -> None:
    found = tables_in(STRANGERS / name, diagnosed=True)
    assert busy(found) == expected and not unplaced(found)
    assert {code: n for code, n in notes(found).items() if code in said} == said
    assert not {"no work", "bad calls", "bad ranges"} & set(notes(found))


@pytest.mark.parametrize("name", ["s_ascend.json", "t_tf_jax.json"])
def test_another_profilers_trace_is_named_with_what_to_do(name: str) -> None:
    with pytest.raises(TraceError, match=r"6 events of no category.*: nsys profile -t cuda,nvtx"):
        tables_in(STRANGERS / name)


@pytest.mark.parametrize("category", ["mtia_ccp_events", ""])
def test_operators_beside_work_that_is_not_read_are_no_devices(
    tmp_path: Path, category: str
) -> None:
    events = [
        event("user_annotation", "step", 0, 100),
        event("cpu_op", "aten::mm", 0, 10),
        event(category, "pe_exe", 5, 50, tid=7, args={"stream": 7}),
    ]
    found = tables_in(trace_file(tmp_path, events))
    assert found["summary"]["total_ns"].tolist() == [0, 0]
    assert notes(found)["unread events"] == 1


def test_what_coroutines_do_is_a_guess_that_the_certificate_tells() -> None:
    found = tables_in(STRANGERS / "asyncio.json")["certificate"].set_index("check")
    assert found.loc["ranges that overlap on their thread", "verdict"] == "doubt"


def test_names_hold_no_control_characters() -> None:
    found = tables_in(STRANGERS / "names_raw.json")
    names = [*found["paths"]["path"], *found["kernels"]["name"]]
    assert len(set(names)) == 45 and all(name.isprintable() for name in names)
    assert {"step <b>/␛[31mred", "step <b>/<U+202E>gnp", "step <b>/nul␁ctl"} <= set(names)


@pytest.mark.parametrize(
    ("marks", "expected", "said"),
    [
        ([("B", "a", 0), ("B", "b", 2), ("E", "b", 8), ("E", "a", 9)], {"a": 0, "a/b": 1_000}, {}),
        (
            [("B", "a", 0), ("B", "b", 2), ("E", None, 4), ("E", None, 9)],
            {"a": 1_000, "a/b": 0},
            {},
        ),
        ([("E", "a", 9), ("B", "a", 0)], {"a": 1_000}, {}),
        ([("B", "a", 0), ("E", "a", 4), ("B", "a", 4), ("E", "a", 9)], {"a": 1_000}, {}),
        ([("B", "a", 0)], {"a": 1_000}, {"unclosed": 1}),
        ([("B", "a", 0), ("E", "a", 9), ("E", "a", 9)], {"a": 1_000}, {"bad events": 1}),
    ],
)
def test_beginnings_and_ends_are_ranges_by_thread_and_time(
    tmp_path: Path,
    marks: list[tuple[str, str | None, int]],
    expected: dict[str, int],
    said: dict[str, int],
) -> None:
    other = event("user_annotation", "elsewhere", 0, 0, ph="B", tid=2)
    ranges = [
        event("user_annotation" if phase == "B" else "", name, at, 0, ph=phase)
        for phase, name, at in marks
    ]
    end = event("", "elsewhere", 10, 0, ph="E", tid=2)
    found = tables_in(trace_file(tmp_path, [other, *ranges, end, *launched(1, 5)]))
    assert busy(found) == expected | {"elsewhere": 0} and notes(found) == said


def test_work_that_begins_and_never_ends_is_left_out(tmp_path: Path) -> None:
    call, work = launched(1, 5)
    found = tables_in(trace_file(tmp_path, [call, work | {"ph": "B"}, *launched(2, 7)]))
    assert busy(found) == {"(whole)": 1_000} and notes(found)["bad events"] == 1


def test_ranks_merged_under_one_process_number_are_told_not_mixed(tmp_path: Path) -> None:
    """Both ranks number their launches from 1; whose kernel is whose can't be told."""
    first = [event("user_annotation", "step", 0, 100), *launched(1, 5), *launched(2, 50)]
    second = [event("user_annotation", "step", 1, 99), *launched(1, 5.2), *launched(3, 60)]
    found = tables_in(trace_file(tmp_path, first + second))
    assert unplaced(found) == {REUSED: 2_000} and notes(found)["reused numbers"] == 2


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("merged_by_sglang.json", {0: [(1000, 405)] * 5, 1: [(1000, 810)] * 5}),
        ("nested_updates.json", {100: [(1500, 1000)] * 3}),
        ("one_profiler_step.json", {100: [(100_000, 44_550)]}),
    ],
)
def test_steps_are_found_with_their_length_and_device_time(
    name: str, expected: dict[int, list[tuple[int, int]]]
) -> None:
    """Both in us, by process."""
    steps = tables_in(STRANGERS / name)["steps"].groupby("process")
    us = {number: own[["wall_ns", "busy_ns"]].to_numpy() // 1000 for number, own in steps}
    assert {number: [*map(tuple, own.tolist())] for number, own in us.items()} == expected


@pytest.mark.parametrize("name", ["[TP0{rank}] {number}", "[TP0{rank} {number}]"])
def test_ranks_merged_under_names_are_processes(tmp_path: Path, name: str) -> None:
    """Process 9 of both, each on its container's device 0, whose launches have the same numbers.

    Autograd's thread launches half; a kernel's launch lies before the trace of the second rank.
    """
    events = []
    for rank in (0, 1):
        of = [
            *(event("user_annotation", "step", 100 * n, 90, pid=9, tid=9) for n in range(3)),
            *(e for n in range(3) for e in launched(2 * n + 2, 100 * n + 5, 3 + rank, tid=9)),
            *(e for n in range(3) for e in launched(2 * n + 3, 100 * n + 50, 6, tid="autograd")),
            thread_name(9, "main"),
            launched(1, 1)[rank],
        ]
        for each in of:
            number = 0 if each.get("cat") == "kernel" else 9
            events.append(each | {"pid": name.format(rank=rank, number=number)})
    found = read(trace_file(tmp_path, events))
    assert found.work.groupby("process")["duration_ns"].sum().to_dict() == {0: 27_000, 1: 31_000}
    tables = placed_tables(attributed(found, None))
    steps = tables["steps"].groupby("process")["busy_ns"].agg(list).to_dict()
    assert steps == {0: [9_000] * 3, 1: [10_000] * 3}
    unplaced = tables["kernels"][tables["kernels"]["path"].str.startswith("(")]
    assert unplaced["process"].tolist() == [1] and notes(tables)["named processes"] == 2
    assert found.work.groupby("process")[["device", "thread"]].nunique().to_numpy().tolist() == [
        [1, 2],
        [1, 3],
    ]


def test_ranges_and_calls_of_another_epoch_are_left_out(tmp_path: Path) -> None:
    step = event("user_annotation", "step", 10**15, 100)
    late = event("user_annotation", "late", 0, 1)
    lost = [*launched(2, 0)[:1], *launched(2, 10**15 + 9)[1:]]
    content = [step, late, *launched(1, 10**15 + 5), *lost]
    found = tables_in(trace_file(tmp_path, content))
    assert busy(found) == {"step": 1_000} and unplaced(found) == {NO_CALL: 1_000}
    assert notes(found) == {"impossible": 2}


def test_work_that_runs_on_after_the_last_call_is_counted(tmp_path: Path) -> None:
    step = event("user_annotation", "step", 0, 100)
    found = tables_in(trace_file(tmp_path, [step, *launched(1, 5, 30_000_000)]))
    assert busy(found) == {"step": 30_000_000_000} and not notes(found)


def test_a_graph_without_a_number_has_a_name(tmp_path: Path) -> None:
    export = Export(tmp_path)
    export.work(5, kind="GRAPH_TRACE", graphId=None)
    assert export.tables()["kernels"]["name"].tolist() == ["CUDA graph"]
