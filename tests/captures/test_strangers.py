"""Captures as strangers bring them: what can be is read, and what can't is told and not counted."""

from pathlib import Path

import pytest

from tests.captures.building import (
    busy,
    event,
    launched,
    notes,
    tables_in,
    trace_file,
    unplaced,
)
from workflow_src.common.errors import TraceError
from workflow_src.placing.placing import NO_CALL

STRANGERS = Path(__file__).parents[1] / "data" / "strangers"
STEPS = {"step": 0, "step/forward": 36_000, "step/backward": 72_000}
SMALL = {"step": 0, "step/forward": 360, "step/backward": 720}


@pytest.mark.parametrize(
    ("name", "expected", "said"),
    [
        ("q_xpu.json", STEPS, {}),
        ("h_negative_call.json", STEPS, {"endless calls": 1}),
        ("cd_duplicate_events.json", STEPS, {"twice": 33}),
        ("cc_overflow_dur.json", STEPS | {"step/forward": 31_000}, {"impossible": 1}),
        ("ca_clock_jump.json", dict.fromkeys(STEPS, 0), {"impossible": 12}),
        ("sl_overflow.sqlite", SMALL | {"step/forward": 310}, {"impossible": 1}),
        ("ss_blob.sqlite", SMALL, {}),
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
    with pytest.raises(TraceError, match=r"and 6 of kinds that aren't read here, as"):
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


def test_ranks_merged_under_one_process_number_are_told_not_mixed(tmp_path: Path) -> None:
    """Both ranks number their launches from 1; whose kernel is whose can't be told."""
    first = [event("user_annotation", "step", 0, 100), *launched(1, 5), *launched(2, 50)]
    second = [event("user_annotation", "step", 1, 99), *launched(1, 5.2), *launched(3, 60)]
    found = tables_in(trace_file(tmp_path, first + second))
    assert unplaced(found) == {NO_CALL: 2_000} and notes(found)["reused numbers"] == 2


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
