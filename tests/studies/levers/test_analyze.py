"""How times are tabulated, and predictions scored."""

from tests.studies.levers.points import point
from workflow_src.studies.levers import analyze


def test_a_miss_is_put_down_to_the_term_that_was_wrong() -> None:
    row = {"median_ms": 50.0, "device_ms": 20.0}
    expected = {"predicted_ms": 30.0, "predicted_low": 25.0, "predicted_high": 35.0,
                "predicted_device_ms": 21.0, "why": "w"}  # fmt: skip
    found = analyze.scored(row, 100.0, expected)
    assert found["verdict"] == "outside" and found["term"] == "host"
    assert (found["off_device_ms"], found["off_rest_ms"]) == (-1.0, 21.0)
    assert (found["saving_ms"], found["predicted_saving_ms"]) == (50.0, 70.0)
    slow = analyze.scored(row | {"device_ms": 40.0}, 100.0, expected)
    assert slow["term"] == "device"
    assert analyze.scored(row | {"median_ms": 33.0}, 100.0, expected)["verdict"] == "inside"


def test_the_time_of_compiling_is_that_of_the_process_that_compiled() -> None:
    """The next process finds in a cache on disk what the first one compiled."""
    about = {"measurement": "compile", "status": "ok", "median_ms": 4000.0}
    rows = [about | {"samples_ns": [s * 10**9, 4 * 10**9, 4 * 10**9]} for s in (24, 55)]
    phase = {"measurement": "phase", "phase": "forward", "status": "oom", "reason": "r"}
    (row,) = analyze.derive(point("compile"), [*rows, phase])
    assert row["compile_s"] == 79


def test_a_variant_that_did_not_run_has_a_prediction_and_no_verdict() -> None:
    expected = {"predicted_ms": 30.0, "predicted_low": 25.0, "predicted_high": 35.0, "why": "w"}
    found = analyze.scored({"status": "not_supported"}, 100.0, expected)
    assert "verdict" not in found and found["predicted_saving_ms"] == 70.0


def test_each_process_s_median_counts_per_batch() -> None:
    row = {"samples_ns": [10**7, 3 * 10**7, 2 * 10**7, 5 * 10**7], "process": [0, 0, 0, 1]}
    assert analyze._processes(row, 2) == {
        "processes": 2, "fastest_process_ms": 10.0, "slowest_process_ms": 25.0
    }  # fmt: skip
    assert analyze._processes({"samples_ns": [1, 2]}, 1) == {"processes": 1}
