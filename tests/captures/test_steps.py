"""Which ranges are steps, and where their time goes: to the nanosecond."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.captures.building import (
    Export,
    as_capture,
    busy,
    event,
    global_id,
    launched,
    notes,
    tables_in,
    trace_file,
)
from tests.captures.text import written
from workflow_src.capture_report import contents
from workflow_src.capture_report.screen import in_some
from workflow_src.captures.reading import read
from workflow_src.placing.attributed import attributed
from workflow_src.placing.ledger import CAUSES
from workflow_src.placing.placing import NO_RANGE
from workflow_src.placing.step_rules import Rule
from workflow_src.tables.capture_tables import placed_tables


def steps_in(path: Path, named: str = "", fold: str | None = None) -> pd.DataFrame:
    return placed_tables(attributed(read(path), None, fold=fold, step=named))["steps"]


def step_times(steps: pd.DataFrame) -> pd.DataFrame:
    return contents.steps(as_capture({"steps": steps}))


def causes(steps: pd.DataFrame, row: int = 0) -> dict[str, int]:
    """The causes of a step's idle time (ns) that aren't 0."""
    found = {cause: int(steps[f"idle_{cause}_ns"].iloc[row]) for cause in CAUSES}
    return {cause: ns for cause, ns in found.items() if ns}


THREE = "step 0-100; *10 10; step 100-200; *110 10; step 200-300; *210 10"
"""Three steps of 100 ns with a kernel each, launched at 10, from 15 on."""


def test_a_step_is_device_work_and_idle_time_by_cause(export: Export) -> None:
    steps = steps_in(written(THREE, export).write())
    columns = ["process", "path", "step", "wall_ns", "device_active_ns", "busy_ns", "idle_ns"]
    assert steps[columns].to_numpy().tolist() == [[1, "step", n, 100, 10, 10, 90] for n in range(3)]
    # The launch returns at 11 and its kernel starts at 15; after it, the host launches nothing.
    assert causes(steps) == {"launch": 11 + 75, "queued": 4}
    told = step_times(steps).set_index("part")["median"]
    assert "idle" not in told and str(told["whole step"]) == "0.000100"


def test_a_copy_from_memory_that_is_not_pinned_waits_and_overhead_is_the_profilers(
    export: Export,
) -> None:
    export.range("step", 0, 100)
    export.work(10, 10, kind="MEMCPY", copyKind=1, srcKind=0, dstKind=2)
    export.insert("PROFILER_OVERHEAD", start=30, end=37, globalTid=global_id(1, 1))
    export.insert("PROFILER_OVERHEAD", start=60, end=65, globalTid=global_id(2, 1))
    export.work(40, 10)
    found = causes(steps_in(export.write(), "step"))
    assert found == {"launch": 10 + 8 + 45, "synchronization": 1 + 1, "queued": 8, "profiler": 7}


def test_only_threads_that_launch_for_the_step_hold_it_up(export: Export) -> None:
    """A loader's wait, or one of a thread that launches nothing, keeps no launch of the step."""
    written(f"{THREE}; load 0-300 @2; *0 1 @2; ~ 120-190 @2; ~ 120-190 @3", export)
    assert causes(steps_in(export.write(), "step"), 2) == {"launch": 86, "queued": 4}
    written("*95 1 >96 @3; ~ 196-206 @3", export)
    assert causes(steps_in(export.write(), "step"), 2)["synchronization"] == 6


def test_without_calls_there_are_no_causes(export: Export, tmp_path: Path) -> None:
    written(THREE, export)
    export.sql("DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME")
    steps = steps_in(export.write(), "step")
    assert steps["idle_ns"].tolist() == [90] * 3 and steps["idle_launch_ns"].isna().all()
    assert step_times(steps)["part"].tolist() == ["whole step", "a device works", "idle"]
    on_cpu = [event("user_annotation", "step", 0, 9), event("cpu_op", "aten::mm", 1, 2)]
    found = steps_in(trace_file(tmp_path, on_cpu), "step")
    assert found[["device_active_ns", "idle_ns"]].to_numpy().tolist() == [[2000, 7000]]
    assert found["idle_launch_ns"].isna().all()


Spans = list[tuple[str, int]]
"""Names of ranges of 100 ns, and the device time that each launches."""


def in_turn(export: Export, spans: Spans) -> Export:
    """An export of ranges one after the other, each with a kernel of so many ns, if any."""
    for at, (name, length) in zip(range(0, 100 * len(spans), 100), spans, strict=True):
        written(f"{name} {at}-{at + 100}" + (f"; *{at + 10} {length}" if length else ""), export)
    return export


@pytest.mark.parametrize(
    ("spans", "rule", "paths"),
    [
        ([("step", 30)] * 3 + [("it 1", 1)], Rule.REPEATED, ["step"]),
        ([(f"iteration {n}", 30) for n in range(3)], Rule.NUMBERED, ["iteration *"]),
        ([(f"Train step é/{n}", 30) for n in range(3)], Rule.NUMBERED, ["Train step é\\/*"]),
        ([(f"step_{n}", 30) for n in (7, 8, 9)] + [("save", 9)], Rule.NUMBERED, ["step_*"]),
        ([("step 1", 30), ("step 2", 30)], Rule.NUMBERED, ["step *"]),
        ([("step", 30)], Rule.REPEATED, ["step"]),
        ([("epoch", 30)] * 2, Rule.REPEATED, ["epoch"]),
        ([("epoch", 30)], Rule.NONE, []),
        (
            [(f"Warm-up Step {n}", 5) for n in range(3)] + [("run", 90)],
            Rule.CALLED,
            ["Warm-up Step *"],
        ),
        ([("step 1", 30), ("eval 2", 30), ("save 3", 30)], Rule.NONE, []),
        ([("step", 30), ("data", 3)] * 3, Rule.REPEATED, ["step"]),
        ([("forward", 30), ("backward", 30)] * 3, Rule.TURNS, ["(step)"]),
        ([(f"ProfilerStep#{n}", 30) for n in range(2)], Rule.PROFILERS, ["ProfilerStep#*"]),
        # Each rule before the next one.
        ([("ProfilerStep#1", 0)] + [("step", 30)] * 3, Rule.REPEATED, ["step"]),
        (
            [("ProfilerStep#1", 30), *((f"it {n}", 30) for n in range(3))],
            Rule.PROFILERS,
            ["ProfilerStep#*"],
        ),
    ],
)
def test_steps_are_found_by_the_first_rule_that_finds_any(
    export: Export, spans: Spans, rule: Rule, paths: list[str]
) -> None:
    tables = in_turn(export, spans).tables()
    assert tables["summary"]["steps_by"].unique().tolist() == [rule]
    assert tables["steps"]["path"].unique().tolist() == paths


def test_ranges_that_run_at_the_same_time_are_no_steps(export: Export) -> None:
    text = "job 0 0-1000; job 1 10-1010; job 2 20-1020; *5 3; *15 3; *25 3"
    tables = written(text, export).tables()
    assert tables["steps"].empty and "job 0" in busy(tables)


def test_a_number_in_the_name_of_a_step_may_be_any(export: Export) -> None:
    path = in_turn(export, [("epoch", 30), *((f"it {n}", 5) for n in range(4))]).write()
    assert steps_in(path).empty
    assert steps_in(path, "it *")["path"].tolist() == ["it *"] * 4
    assert steps_in(path, "it 2")["path"].tolist() == ["it 2"]
    assert steps_in(path, fold="").empty


def profiled(number: int, at: int) -> list[dict[str, Any]]:
    """A step of torch.profiler, in us: what forward launches, and what another thread does."""
    return [
        event("user_annotation", f"ProfilerStep#{number}", at, 100),
        event("user_annotation", "Optimizer.step#SGD.step", at + 90, 5),
        event("user_annotation", "forward", at + 5, 40),
        *launched(2 * number + 1, at + 10, 6),
        *launched(2 * number + 2, at + 60, 24, tid=2),
    ]


def test_torchs_steps_count_where_nothing_else_is_one(tmp_path: Path) -> None:
    """Also with work launched on another thread; torch's other ranges still don't count."""
    path = trace_file(tmp_path, [e for n in range(2) for e in profiled(n, 1000 + 100 * n)])
    tables = tables_in(path)
    assert busy(tables) == {"ProfilerStep#*": 48_000, "ProfilerStep#*/forward": 12_000}
    steps = tables["steps"]
    assert steps[["wall_ns", "busy_ns"]].to_numpy().tolist() == [[100_000, 30_000]] * 2
    assert notes(tables)["libraries"] == 2
    asked = tables_in(path, "default")["steps"]
    assert set(asked["path"]) == {"forward"}, "domains that were asked for are all"


def test_values_per_step_leave_out_what_is_in_no_step(export: Export) -> None:
    """Three steps of 10 ns of work, a range between them, and work without a range in one of them.

    The latter is launched on a thread with ranges of its own.
    """
    more = "save 300-350; *310 3; load 400-410 @2; *150 12 @2; *420 99 @2"
    tables = written(f"{THREE}; {more}", export).tables()
    columns = ["steps", "instances_per_step", "busy_ms_per_step"]
    assert tables["paths"].set_index("path")[columns].T.to_dict("list") == {
        "load": [3, 0, 0], "save": [3, 0, 0], "step": [3, 1, 1e-5]
    }  # fmt: skip
    columns = ["busy_ns", "steps", "activities_per_step", "busy_ns_per_step"]
    placed = {"save": [3, 3, 0, 0], "step": [30, 3, 1, 10]}
    nowhere = {f"({NO_RANGE})": [111, 3, pytest.approx(1 / 3), 4]}
    assert tables["kernels"].set_index("path")[columns].T.to_dict("list") == placed | nowhere
    assert tables["summary"]["steps"].tolist() == [3, 3]


def updating(count: int, since: int = 0) -> list[dict[str, Any]]:
    """Iterations of 100 us that torch's range of an update ends, each with a kernel of 30 us."""
    begun = [since + 100 * n for n in range(count)]
    update = [event("user_annotation", "Optimizer.step#SGD.step", at + 80, 20) for at in begun]
    return update + [each for n, at in enumerate(begun) for each in launched(n + 1, at + 10, 30)]


def test_updates_that_emit_nvtx_numbers_are_alike_and_all_may_be_one_step(export: Export) -> None:
    for number in range(3):
        start = 100 * number
        export.range(f"Optimizer.step#SGD.step, op_id = {number}", start + 80, start + 100)
    path = written("*10 30; *110 30; *210 30", export).write()
    assert steps_in(path)[["wall_ns", "busy_ns"]].to_numpy().tolist() == [[100, 30]] * 2
    # From the first launch to the end of the last kernel.
    assert steps_in(path, "all")[["wall_ns", "busy_ns"]].to_numpy().tolist() == [[235, 90]]


@pytest.mark.parametrize("since", [0, 1_610_366_391_630_439])  # In 2021 since 1970, as Kineto then.
def test_steps_lie_between_updates_where_a_program_has_none(tmp_path: Path, since: int) -> None:
    tables = tables_in(trace_file(tmp_path, updating(4, since)))
    assert tables["summary"]["steps_by"].unique().tolist() == [Rule.UPDATES]
    assert (
        tables["steps"][["path", "wall_ns", "busy_ns"]].to_numpy().tolist()
        == [["(from update to update)", 100_000, 30_000]] * 3
    )


@pytest.mark.parametrize(
    ("ranges", "updates", "rule", "lengths"),
    [
        # It may be one step with updates of a model and its critic, or all that was recorded.
        ([("ProfilerStep#7", 0, 400)], 4, Rule.UPDATES, [100] * 3),
        ([("ProfilerStep#7", 0, 400)], 2, Rule.PROFILERS, [400]),
        ([("ProfilerStep#7", 0, 400), ("step", 0, 190)], 2, Rule.REPEATED, [190]),
        ([], 2, Rule.UPDATES, [100]),
        ([], 1, Rule.NONE, []),
        ([("epoch", 0, 300), ("epoch", 300, 300)], 6, Rule.UPDATES, [100] * 5),
        ([("step", 0, 300), ("step", 300, 300)], 6, Rule.REPEATED, [300] * 2),
        ([("step", 0, 200)], 2, Rule.REPEATED, [200]),
    ],
)
def test_of_few_ranges_torchs_own_steps_are_likelier(
    tmp_path: Path,
    ranges: list[tuple[str, int, int]],
    updates: int,
    rule: Rule,
    lengths: list[int],
) -> None:
    given = [event("user_annotation", *each) for each in ranges]
    tables = tables_in(trace_file(tmp_path, given + updating(updates)))
    assert tables["summary"]["steps_by"].unique().tolist() == [rule]
    assert (tables["steps"]["wall_ns"] / 1000).tolist() == lengths


TURN = "forward {0}0-{0}4; *{0}1 2; backward {0}4-{0}7; *{0}4 4; optimizer {0}7-{0}9; *{0}8 1"
"""The parts of a loop's turn that begins at ten times a number."""


@pytest.mark.parametrize(
    ("turns", "besides", "expected"),
    [
        ((1, 2, 3, 4), "", [(10, 10), (20, 10), (30, 10)]),
        ((1, 2), "", [(10, 10)]),
        # What is loaded between turns is of the step before.
        ((1, 3, 7), "", [(10, 20), (30, 40)]),
        # What was there once, before them, holds as much work.
        ((1, 2, 3), "run 0-90; setup 1-9; *2 90", [(10, 10), (20, 10)]),
        ((1, 2, 3), "epoch_1 0-90; zero 15-16", [(10, 10), (20, 10)]),
        ((1,), "", []),
        # No order: twice forward, once more without an update.
        ((1, 2, 4), "forward 30-34; *31 2; forward 34-38; *35 2", []),
        # Half of the work is in none of them.
        ((1, 2, 3), "*19 4; *29 4; *39 4", []),
    ],
)
def test_steps_are_turns_of_a_loop_whose_parts_alone_have_ranges(
    export: Export, turns: tuple[int, ...], besides: str, expected: list[tuple[int, int]]
) -> None:
    text = "; ".join([*(TURN.format(turn) for turn in turns), *([besides] if besides else [])])
    found = attributed(read(written(text, export).write()), None)
    steps = found.placed.ranges[found.steps.is_step]
    assert [(s, e - s) for s, e in zip(steps["start_ns"], steps["end_ns"], strict=True)] == expected
    assert found.steps.rule == (Rule.TURNS if expected else Rule.NONE)
    assert notes(placed_tables(found)) == {}


@pytest.mark.parametrize(
    ("updates", "expected"),
    [("012", {}), ("0", {"path": "step_*/update_*", "have": "1", "of": "3"}), ("", {})],
)
def test_a_part_that_not_each_step_has_is_named(
    export: Export, updates: str, expected: dict[str, str]
) -> None:
    parts = [f"step_{n} {n}00-{n}90; forward_{n} {n}10-{n}20; *{n}11 5" for n in range(3)]
    parts += [f"update_{n} {n}50-{n}60; *{n}51 5" for n in updates]
    tables = written("; ".join(parts), export).tables()
    assert in_some(as_capture({name: tables[name] for name in ("steps", "paths")})) == expected
