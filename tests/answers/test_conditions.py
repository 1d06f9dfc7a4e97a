"""Warnings from what environments.csv says of each case, also in tables of older versions."""

import pandas as pd
import pytest

from workflow_src.answers.conditions import Conditions, Warned, conditions
from workflow_src.answers.tables import Tables

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


def test_a_change_of_the_hosts_speed_is_the_same_either_way():
    slower, faster = measured(host_launch_us_after="6"), measured(host_launch_us_before="6.9")
    assert slower.changed.number == 1.5 == pytest.approx(faster.changed.number)
    assert slower.changed.sources[0].numbers == (2,)


def test_what_was_not_recorded_is_none():
    found = measured(host_launch_us_before="", other_processes_before="")
    assert (found.changed, found.others, found.load, found.launch_us) == (None,) * 4


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
