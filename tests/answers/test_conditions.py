"""Warnings from what environments.csv says of each case, also in tables of older versions."""

from typing import Any

import pandas as pd
import pytest

from tests.synthetic_tables import FORWARD, TRAIN, Sample, write_tables
from workflow_src.answers import doubts
from workflow_src.answers.conditions import Conditions, conditions, disturbed
from workflow_src.answers.doubts import Warned
from workflow_src.answers.questions import QUESTIONS
from workflow_src.answers.tables import Tables
from workflow_src.answers.times import phase_times
from workflow_src.report.warnings import warnings

QUIET = {"other_processes_before": "0", "host_launch_us_before": "4", "host_launch_us_after": "4.6"}


def measured(**cells: str) -> Conditions:
    row = pd.DataFrame([{"case": "a", **QUIET, **cells}], index=[2], dtype="object")
    (found,) = conditions(Tables({"environments": row}))
    return found


@pytest.mark.parametrize(
    ("cells", "warned"),
    [
        ({}, ()),
        ({"warning": "throttled (power cap)"}, ()),
        ({"throttled": "power cap"}, (Warned.THROTTLED,)),
        ({"other_processes_most": "2"}, (Warned.SHARED,)),
        ({"other_processes_after": "1"}, (Warned.SHARED,)),
        ({"load_average_before": "9.0", "cpu_cores": "2"}, (Warned.BUSY,)),
        ({"load_average_before": "9.0", "cpu_cores": "8"}, ()),
        ({"host_launch_us_after": "3.0"}, (Warned.HOST_CHANGED,)),
        ({"host_change_most": "1.3"}, (Warned.HOST_CHANGED,)),
        ({"host_change_most": "1.1", "host_launch_us_after": "9"}, ()),
        ({"locks_are_shared": "False"}, (Warned.NOT_LOCKED,)),
    ],
)
def test_warnings_follow_from_codes_and_numbers(cells, warned):
    assert measured(**cells).warnings == warned


@pytest.mark.parametrize(
    ("recorded", "during", "warned"),
    [
        ("", ("0.58", "0"), (Warned.THROTTLED,)),
        ("power cap", ("0", "0"), ()),
        ("heat", ("0", "0"), (Warned.THROTTLED,)),
        ("power cap", ("", "", ""), (Warned.THROTTLED,)),
    ],
)
def test_power_throttles_a_case_if_it_limits_the_clock_during_steps(
    tmp_path, recorded, during, warned
):
    """A reading before or after a case counts only where none was taken during its steps."""
    write_tables(tmp_path, Sample(environment={"throttled": recorded}))
    timings = pd.read_csv(tmp_path / "timings.csv")
    shares = [*during, "0"][: len(timings)]
    timings.assign(power_capped_share=shares).to_csv(tmp_path / "timings.csv", index=False)
    (found,) = conditions(Tables.read(tmp_path, ("timings",), ("environments",)))
    assert found.warnings == warned


@pytest.mark.parametrize(("limit", "throttled"), [(0.0, True), (0.19, True), (0.2, False)])
def test_one_limit_decides_of_power_in_the_warning_its_row_and_the_mark(
    tmp_path, monkeypatch, limit, throttled
):
    write_tables(tmp_path, Sample())
    timings = pd.read_csv(tmp_path / "timings.csv").assign(power_capped_share=0.2)
    timings.to_csv(tmp_path / "timings.csv", index=False)
    tables = Tables.read(tmp_path, ("timings",), ("environments", "ranges", "captures"))
    monkeypatch.setattr(doubts, "THROTTLED_BEYOND", limit)
    (found,), (case,) = conditions(tables), tables.cases
    assert (Warned.THROTTLED in found.warnings) is throttled
    assert ("readings with the clock capped for power" in warnings(tables)) is throttled
    assert phase_times(tables, case, "forward").power_limited is throttled


def test_a_change_of_the_hosts_speed_is_the_same_either_way():
    slower, faster = measured(host_launch_us_after="6"), measured(host_launch_us_before="6.9")
    assert slower.recorded.changed.number == 1.5 == pytest.approx(faster.recorded.changed.number)
    assert slower.recorded.changed.sources[0].numbers == (2,)


def test_what_was_not_recorded_is_none():
    found = measured(host_launch_us_before="", other_processes_before="")
    row = found.recorded
    assert (row.changed, row.others, row.load, row.launch_us) == (None,) * 4


def test_cases_measured_at_once_on_one_host_are_a_warning_and_on_others_not():
    spans = [
        ("a", "h", 1, 3),
        ("b", "h", 2, 4),
        ("c", "h", 4, 5),
        ("d", "i", 1, 9),
        ("e", "", 1, 9),
    ]
    rows = pd.DataFrame(spans, columns=["case", "host_id", "started_at", "ended_at"]).astype(str)
    found = conditions(Tables({"environments": rows.set_index(pd.RangeIndex(2, 7))}))
    assert [each.meanwhile for each in found] == ["b", "a", "", "", ""]
    assert found[0].warnings == (Warned.OVERLAPPED,) and found[2].warnings == ()


NAMES = [*dict.fromkeys(name for each in QUESTIONS.values() for name in each.tables)]
PLAIN = {"forward": 12.0, "forward_backward": 36.0, "train_step": 50.0}


def of_cpu(context: int, factor: float = 1.0, plain: float = 12.0) -> Sample:
    """A case on a CPU; what isn't a product takes `factor` times as long as in the others."""

    def slower(kernels: list[Any]) -> list[Any]:
        return [(*k[:4], k[4] if k[2] == "gemm" else round(factor * k[4])) for k in kernels]

    kernels = {"forward": slower(FORWARD), "train_step": slower(TRAIN)}
    median = PLAIN | {"forward": plain}
    return Sample(context=context, device="cpu", kernels=kernels, median_ms=median)


@pytest.fixture
def read(tmp_path):
    def reading(*samples: Sample) -> Tables:
        return Tables.read(write_tables(tmp_path, *samples), [*NAMES, "environments"])

    return reading


def test_operators_that_took_longer_than_the_plain_step_are_a_warning(read):
    """They take 10 ms, which is over 10 % more than 9 ms; on a GPU that says nothing."""
    on_gpu = Sample(context=512, median_ms=PLAIN | {"forward": 9.0})
    tables = read(of_cpu(128, plain=9.2), of_cpu(256, plain=9.0), on_gpu)
    assert [*disturbed(tables).values()] == [(), ("forward",)]
    found = conditions(tables)
    assert [each.disturbed for each in found] == ["", "forward", None]
    assert [Warned.DISTURBED in each.warnings for each in found] == [False, True, False]


@pytest.mark.parametrize(("host", "warned"), [("aa", ()), ("bb", (Warned.ELSEWHERE,)), ("", ())])
def test_a_capture_says_on_which_host_and_at_which_speed_it_was_made(read, host, warned):
    frames = dict(read(Sample()).frames)
    frames["environments"] = frames["environments"].assign(host_id="aa")
    frames["captures"] = frames["captures"].assign(host_id=host, host_operation_us="7.5")
    (found,) = conditions(Tables(frames))
    assert found.warnings == warned
    assert found.captured_us.number == 7.5
