"""Whether the profiled time is the plain one, and where processes differ too much to tell."""

import pytest

from tests.synthetic_tables import Sample, tables
from workflow_src.answers.forward_time.agreement import UNTOLD, agrees
from workflow_src.answers.forward_time.result import result
from workflow_src.answers.tables import Tables
from workflow_src.answers.times import phase_times
from workflow_src.common.case import PHASES


def run(profiled: float, fastest: float, slowest: float, processes: int = 2) -> Tables:
    """A forward pass of 20 ms, of which the device works for 10, and its processes."""
    times = Sample().times_ms | {"forward": (profiled, 10.0, 11.0)}
    median = Sample().median_ms | {"forward": 20.0}
    frames = tables(Sample(times_ms=times, median_ms=median))
    ends = {"fastest_ms": fastest, "slowest_ms": slowest, "processes": processes}
    frames["timings"] = frames["timings"].assign(**ends)
    return Tables(frames)


@pytest.mark.parametrize(
    ("profiled", "fastest", "slowest", "processes", "agree"),
    [
        pytest.param(20.5, 19.0, 21.0, 2, True, id="of both: 8 % longer and 2 % shorter"),
        pytest.param(20.0, 15.0, 25.0, 2, None, id="by luck: 33 % longer and 20 % shorter"),
        pytest.param(22.0, 18.0, 21.0, 2, None, id="of one: 22 % longer, and 5 %"),
        pytest.param(30.0, 15.0, 25.0, 2, False, id="of neither: 100 % longer, and 20 %"),
        pytest.param(20.0, 15.0, 25.0, 1, True, id="one process, and no other spread is known"),
    ],
)
def test_times_agree_if_they_do_of_each_process(
    profiled: float, fastest: float, slowest: float, processes: int, agree: bool | None
) -> None:
    found = run(profiled, fastest, slowest, processes)
    assert agrees(found, phase_times(found, found.cases[0], PHASES[0])) is agree


def test_a_case_of_which_it_cannot_be_told_is_counted_and_left_out() -> None:
    found = result(run(20.0, 15.0, 25.0))
    assert (found.every.of.number, found.untold.number) == (0, 1)
    assert found.left_out["why"].tolist() == [UNTOLD[False]]


def test_one_process_is_held_to_have_others_as_far_off_as_those_of_the_run() -> None:
    """Of the other phases, processes are half of what stands beside device time off the median."""
    found = run(20.0, 15.0, 25.0)
    timed = found["timings"]
    alone = timed["phase"] == PHASES[0]
    found.frames["timings"] = timed.assign(  # type: ignore[index]
        processes=timed["processes"].where(~alone, 1),
        fastest_ms=timed["fastest_ms"].where(alone, timed["median_ms"] - 8),
        slowest_ms=timed["slowest_ms"].where(alone, timed["median_ms"] + 8),
    )
    assert agrees(found, phase_times(found, found.cases[0], PHASES[0])) is None
