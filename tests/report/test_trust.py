"""Checks of a run: each result, and whether it is beyond its limit."""

from dataclasses import replace

import pandas as pd
import pytest

from tests.report.written import write_plan
from tests.synthetic_tables import Sample, write_tables
from workflow_src.answers.tables import Tables, read_table
from workflow_src.common.atomic_write import write_csv
from workflow_src.paper.show import Printer
from workflow_src.paper.value import Value
from workflow_src.report.opening import several, spread, with_each
from workflow_src.report.parts import Part, Printed
from workflow_src.report.run import OPTIONAL, REPORT_TABLES, Run
from workflow_src.report.trust import BEYOND, trust

EMPTY = Printed("", "")  # type: ignore[arg-type]
NOTHING = Part("", "", EMPTY, EMPTY, "", (), (), {})


@pytest.fixture
def read(tmp_path):
    def reading(*samples: Sample) -> Run:
        write_tables(tmp_path / "tables", *samples)
        write_plan(tmp_path)
        tables = Tables.read(tmp_path / "tables", REPORT_TABLES, OPTIONAL)
        plan = read_table(tmp_path / "plan.csv", "plan")
        return Run("mine", "small", (), tables, plan, (), NOTHING, ())

    return reading


def results(run: Run) -> dict[str, str]:
    show = Printer()
    return {str(check): str(show(result)) for check, result, *_ in trust(run).table.to_numpy()}


def result(run: Run, start: str) -> str:
    return next(found for check, found in results(run).items() if check.startswith(start))


def test_a_run_that_passes_every_check_has_no_mark(read):
    found = results(read(Sample(), Sample(context=256)))
    assert not trust(read(Sample())).failed and BEYOND not in "".join(found.values())
    assert found["device time in ranges + outside = total, in ns; captures"] == "2 of 2"
    assert found["products ran in the precision asked for; cases"] == "2 of 2"
    assert found["unprofiled steps, least to most"] == "10"


def test_time_outside_of_ranges_is_the_most_of_a_capture(read):
    """0.2 of 100.2 ms in one of two captures."""
    run = read(Sample(), Sample(context=256, outside_ns=200_000))
    assert result(run, "device time outside") == f"0.2 % {BEYOND}"


def test_a_sum_that_does_not_come_out_is_marked(read, tmp_path):
    read(Sample(), Sample(context=256))
    captures = pd.read_csv(tmp_path / "tables" / "captures.csv")
    captures.loc[0, ["total_ns", "stats_total_ns"]] += 1
    write_csv(tmp_path / "tables" / "captures.csv", captures)
    run = Run(
        "mine",
        "small",
        (),
        Tables.read(tmp_path / "tables", REPORT_TABLES, OPTIONAL),
        read_table(tmp_path / "plan.csv", "plan"),
        (),
        NOTHING,
        (),
    )
    assert result(run, "device time in ranges") == f"1 of 2 {BEYOND}"
    assert result(run, "`nsys stats`") == f"1 of 2 {BEYOND}"


@pytest.mark.parametrize(
    ("ran", "said"), [("fp32", "1 of 1"), ("tf32", f"0 of 1 {BEYOND}"), ("", None)]
)
def test_the_precision_that_ran_is_checked_where_names_tell_it(read, ran, said):
    found = results(read(Sample(precision_ran=ran)))
    assert found.get("products ran in the precision asked for; cases") == said


def test_conditions_are_counted_and_hosts_compared(read):
    speed = {"host_launch_us_before": 4.0, "host_launch_us_after": 4.4, "throttled": ""}
    slow = {"host_launch_us_before": 9.0, "host_launch_us_after": 6.0, "throttled": "power cap"}
    run = read(Sample(environment=speed), Sample(context=256, environment=slow))
    assert result(run, "device throttled") == f"1 of 2: small-ctx256-fp32 {BEYOND}"
    assert result(run, "host's speed") == f"1.5 x {BEYOND}"
    assert result(run, "a launch on the host before a case") == f"2.2 x {BEYOND}"


def test_each_check_says_which_answers_it_touches(read):
    """A throttled device spoils all of its case, a slower host only what it decides."""
    environment = {"host_launch_us_before": 4.0, "host_launch_us_after": 9.0, "throttled": "heat"}
    table = trust(read(Sample(environment=environment))).table
    touched = dict(zip(table["check"], table.iloc[:, -1], strict=True))
    assert touched["device throttled; cases"].startswith("all answers, in these cases")
    assert touched["host's speed after a case against before, at most"].endswith(
        "(a), (d)'s rates, (f)"
    )
    assert all(touched.values())


def test_nothing_is_said_of_what_was_not_recorded(read):
    found = results(read(Sample(captured=False)))
    assert not any(check.startswith(("device time", "`nsys", "products")) for check in found)
    assert "device shared; cases" not in found and "machine busy; cases" not in found


def test_the_opening_says_which_warning_most_cases_have_and_how_many_tell_a_spread(read):
    """Both devices were hot; one case ran in two processes, of 10 and of 15 ms."""
    hot = {"throttled": "heat"}
    run = read(Sample(environment=hot), Sample(context=256, environment=hot))
    fastest, slowest = Value(10, "ms", ()), Value(15, "ms", ())
    times = (replace(run.times[0], fastest=fastest, slowest=slowest), *run.times[3:])
    show = Printer()
    assert show(with_each(run.tables)) == "2 of 2; device throttled: 2"
    busy = {"load_average_before": "64", "cpu_cores": "8"}
    run = read(Sample(environment=busy), Sample(context=256, environment=busy | hot))
    assert show(with_each(run.tables)) == "2 of 2; machine busy: 2; device throttled: 1"
    assert (show(spread(times)), show(several(times))) == ("1.5 x", "1")
