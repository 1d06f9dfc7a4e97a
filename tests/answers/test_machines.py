"""Which cases were measured at once."""

import pandas as pd

from workflow_src.answers.machines import meanwhile


def test_cases_measured_at_once_on_one_host_are_told_process_by_process() -> None:
    rows = [
        ("a", "h", "1", "3", ""),
        ("b", "h", "2", "4", ""),
        ("c", "h", "4", "9", "4 5; 8 9"),
        ("between its processes", "h", "5", "8", ""),
        ("at its second", "h", "8", "9", "6 7; 8 9"),
        ("elsewhere", "i", "1", "9", ""),
        ("unknown", "", "1", "9", ""),
    ]
    columns = ["case", "host_id", "started_at", "ended_at", "processes_at"]
    found = meanwhile(pd.DataFrame(rows, columns=columns))
    assert found.to_dict() == {
        "a": "b", "b": "a", "c": "at its second", "at its second": "between its processes; c",
        "between its processes": "at its second",
    }  # fmt: skip
