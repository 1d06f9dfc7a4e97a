"""What warm-up costs, from small tables done by hand."""

import pandas as pd
import pytest

from tests.studies.tables import printed, table
from workflow_src.common.words import DASH
from workflow_src.paper.show import Printer
from workflow_src.studies.warmup.chapter import Verdict, WarmUp, headline, result


def run(warmup_steps: int, mean: float, **other: object) -> dict[str, object]:
    """A forward pass whose first step takes 90 ms, and a settled one 10 ms."""
    about = {"size": "t", "phase": "forward", "context": 8, "warmup_steps": warmup_steps}
    times = {"first_step_ms": 90.0, "settled_ms": 10.0, "median_ms": 10.0, "mean_ms": mean}
    return about | times | {"settled_after_steps": 1} | other


def found(*rows: dict[str, object]) -> WarmUp:
    return result(table(*rows), pd.DataFrame())


@pytest.mark.parametrize(
    ("means", "enough"),
    [
        ({0: 20.0, 1: 10.4, 5: 10.0}, 1),
        ({0: 10.5, 1: 10.0, 5: 10.0}, 0),
        ({0: 20.0, 1: 11.0, 5: 10.6}, None),
        ({0: 20.0, 1: 10.0, 5: 11.0}, None),  # What a longer warm-up spoils isn't enough.
        ({0: 10.0, 1: 11.0, 5: 10.0}, 5),
        ({0: 20.0, 1: 9.0}, 1),  # A mean below a settled step is no fault of the first ones.
    ],
)
def test_the_fewest_steps_that_are_enough(means: dict[int, float], enough: int | None) -> None:
    steps = found(*(run(number, mean) for number, mean in means.items())).enough
    assert (steps and steps.number) == enough


def test_a_run_that_never_settles_says_nothing_of_how_much_is_enough() -> None:
    loose = run(5, 30.0, settled_after_steps=None)
    steps = found(run(0, 20.0), run(1, 10.0), loose).enough
    assert steps and steps.number == 1
    alone = found(loose)
    assert alone.enough is alone.worst is None
    assert "not within the run" in printed(alone.runs)[0]


def test_what_is_of_a_run_that_never_settles_is_shown_with_a_mark() -> None:
    loose, late = run(5, 11.4, settled_after_steps=None), run(0, 20.0, settled_after_steps=9)
    assert printed(found(late, loose).phases)[0][-3:] == ["9 °", "+100 %", "+14 % °"]
    assert printed(found(late, run(5, 10.0)).phases)[0][-3:] == ["1 to 9", "+100 %", "0 %"]


def test_a_row_per_size_and_phase_has_medians_over_its_runs() -> None:
    other = run(1, 10.0, first_step_ms=70.0, settled_ms=12.5)
    assert printed(found(run(0, 20.0), other, run(5, 10.1)).phases) == [
        ["t, forward", "90.0", "10.0", "9.0 x", "1", "+100 %", "-20 %", "+1 %"]
    ]


def test_times_of_several_hosts_are_not_of_one_median() -> None:
    """The slow host's first step doesn't count; its mean does, held against its own steps."""
    here, slow = {"host_id": "a"}, {"host_id": "b", "first_step_ms": 300.0, "settled_ms": 20.0}
    rows = [run(0, 20.0) | here, run(1, 10.0) | here, run(2, 21.0) | slow]
    assert printed(found(*rows).phases) == [
        ["t, forward", "90.0", "10.0", "9.0 x", "1", "+100 %", "0 %", "+5 %"]
    ]


def test_a_phase_that_ran_out_of_memory_says_so() -> None:
    times = dict.fromkeys(("first_step_ms", "settled_ms", "mean_ms", "median_ms"))
    oom = run(0, 0.0, status="oom", reason="full", size="u") | times
    rows = found(run(0, 20.0), oom)
    assert printed(rows.phases)[1] == ["u, forward", "OOM", *[DASH] * 4]
    assert printed(rows.unmeasured) == [["u, forward", "OOM", "full", "1"]]


def trial(loading: str, prepared: bool | None, first: float) -> dict[str, object]:
    about = {"size": "t", "phase": "forward", "sweep": "loading", "loading": loading}
    times = {"first_step_ms": first, "settled_ms": 10.0, "build_ms": 200.0}
    return about | {"prepared": prepared} | times


PLAIN = [trial("LAZY", False, 190.0), trial("LAZY", False, 188.0)]


def saved(*rows: dict[str, object]) -> tuple[str, str]:
    """What starting cuBLAS and loading code save, as printed."""
    (row,) = found(*rows).cause.trials.to_dict("records")
    made = printed(pd.DataFrame([row]))[0]
    cells = dict(zip(map(str, row), made, strict=True))
    return cells.get("saved, cuBLAS started", DASH), cells.get("saved, code loaded, too", DASH)


def test_what_trials_save_of_the_extra_time() -> None:
    """Of 179 ms: 59 with cuBLAS started, and 149 with code loaded, too."""
    started, loaded = trial("LAZY", True, 130.0), trial("EAGER", True, 40.0)
    assert saved(*PLAIN, started, loaded) == ("about a third", "about nine tenths")
    assert saved(*PLAIN, trial("LAZY", True, 189.0), loaded) == (DASH, "about nine tenths")
    nothing_more = trial("EAGER", True, 130.0)
    assert saved(*PLAIN, started, nothing_more) == ("about a third", "about a third")


def test_both_savings_count_from_the_step_as_it_is() -> None:
    """Of 90 ms, 80 are saved, whatever the step takes after starting cuBLAS, or if it overlaps."""
    plain, loaded = [trial("LAZY", False, 70.0), trial("LAZY", False, 130.0)], 20.0
    for started in (80.0, 250.0):
        rows = [*plain, trial("LAZY", True, started), trial("EAGER", True, loaded)]
        assert saved(*rows) == (DASH, "about nine tenths")


def test_what_processes_barely_tell_is_not_shown() -> None:
    """As of 2.7B on the H200s: starting cuBLAS saves 63 to 317 ms, and 190 by medians."""
    plain = [trial("LAZY", False, 389.0), trial("LAZY", False, 625.0)]
    started = [trial("LAZY", True, 327.0), trial("LAZY", True, 308.0)]
    assert saved(*plain, *started, trial("EAGER", True, 177.0)) == (DASH, "about two thirds")


def test_start_up_stands_without_and_with_code_loaded() -> None:
    """In seconds, of all processes: no median of two says what a process took."""
    loaded = [trial("EAGER", False, 40.0) | {"build_ms": ms} for ms in (2172.0, 3125.0)]
    cause = found(*PLAIN, *loaded).cause
    assert [Printer()(cell) for cell in (cause.started, cause.loaded)] == ["0.20", "2.2 to 3.1"]
    assert found(*PLAIN).cause.loaded is None


def test_trials_of_earlier_versions_start_no_cublas() -> None:
    assert saved(*PLAIN, trial("EAGER", None, 54.0)) == (DASH, "about three quarters")
    assert saved(*PLAIN, trial("EAGER", None, 2000.0)) == (DASH, DASH)


def test_a_capture_without_the_whole_step_is_shown() -> None:
    """A section once ended in KeyError 'whole'."""
    part = {"size": "t", "phase": "forward", "sweep": "traced", "part": "load"}
    times = {"first_step_ms": 100.0, "settled_ms": 1.0, "extra_ms": 99.0, "first_calls": 5}
    assert printed(found(part | times).cause.parts) == [
        ["t, forward", "loading and looking up code", "100", "1.00", "99.0", "5"]
    ]


@pytest.mark.parametrize(
    ("means", "verdict", "said"),
    [
        (
            {0: 10.1, 1: 10.0},
            Verdict.ALWAYS,
            "tried left out, 0, means of the 2 of 3 runs that settle are 0 % to +1 % off",
        ),
        (
            {0: 20.0, 1: 11.0, 5: 10.0},
            Verdict.ENOUGH,
            "With 5 or more left out, means of the 1 of 2 runs that settle are 0 % off it",
        ),
        ({0: 20.0, 1: 12.0}, Verdict.NOT_ENOUGH, "with 1, up to +20 % (t, forward)"),
        ({}, Verdict.CANT_TELL, "can't be told"),
    ],
)
def test_verdicts(means: dict[int, float], verdict: Verdict, said: str) -> None:
    rows = [run(steps, mean) for steps, mean in means.items()]
    never = run(7, 99.0, settled_after_steps=None)
    found = headline(result(table(*rows, never), pd.DataFrame()))
    assert found.verdict is verdict
    assert said in found.text(Printer())


@pytest.mark.parametrize(
    ("phase", "name"), [("forward", "forward"), ("forward_backward", "forward + backward")]
)
def test_the_worst_has_its_name_in_the_tables(phase: str, name: str) -> None:
    rows = [run(0, 20.0, phase=phase), run(1, 10.0, phase=phase)]
    assert headline(result(table(*rows), pd.DataFrame())).text(Printer()) == (
        "By medians, first steps take 9.0 x a settled one's time. With 1 or more left out, means "
        f"of the 1 of 1 runs that settle are 0 % off it; with fewer, up to +100 % (t, {name})."
    )
