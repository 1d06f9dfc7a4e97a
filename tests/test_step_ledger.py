"""The ledger of a step as answer (a) shows it: shares of the wall time, exact and by cause."""

import pandas as pd
import pytest

from workflow_src.answers import step_ledger

STEPS = pd.DataFrame(
    {
        "wall_ns": [10_000_000, 20_000_000, 40_000_000],
        "device_active_ns": [6_000_000, 10_000_000, 10_000_000],
        "idle_launch_ns": [4_000_000, 8_000_000, 30_000_000],
        "idle_queued_ns": [0, 2_000_000, 0],
    }
).assign(idle_synchronization_ns=0, idle_tail_ns=0, idle_profiler_ns=0, idle_unexplained_ns=0)
CASE = {"case": "small-ctx256-fp32", "precision": "fp32"}


def test_each_term_is_the_median_over_steps_of_its_share() -> None:
    found = step_ledger.measure("cuda", STEPS)
    assert found["device_active_share"] == 0.5 and found["idle_launch_share"] == 0.4
    assert found["device_active_ledger_ms"] == 10.0 and found["idle_launch_ledger_ms"] == 8.0
    assert found["idle_unexplained_share"] == 0


@pytest.mark.parametrize(
    ("device", "steps"),
    [("cpu", STEPS), ("cuda", STEPS.iloc[:0]), ("cuda", STEPS[["wall_ns"]])],
    ids=["a CPU", "no ledger", "an older ledger"],
)
def test_without_a_ledger_nothing_is_found(device: str, steps: pd.DataFrame) -> None:
    assert step_ledger.measure(device, steps) == {}


def test_the_largest_unexplained_share_is_that_of_a_step() -> None:
    steps = STEPS.assign(idle_unexplained_ns=[0, 0, 4_000_000])
    row = CASE | step_ledger.measure("cuda", steps)
    assert row["idle_unexplained_share"] == 0
    assert step_ledger.summarize([row])[0]["unexplained"] == 0.1
    facts = {fact.name: fact for fact in step_ledger.facts_of(row, (4, 5, 6))}
    assert facts[step_ledger.WORST].value == 0.1 and facts[step_ledger.WORST].rows == (4, 5, 6)


def test_only_terms_that_take_some_time_have_a_column() -> None:
    rows = step_ledger.summarize([CASE | step_ledger.measure("cuda", STEPS), CASE])
    assert [(row["precision"], row["cases"]) for row in rows] == [("fp32", 1)]
    header = str(step_ledger.table(rows)).splitlines()[0]
    assert [cell.strip() for cell in header.strip("|").split("|")] == [
        "precision", "cases", "the device works", "waits for a launch",
    ]  # fmt: skip


def test_each_value_names_its_rows() -> None:
    facts = step_ledger.facts_of(CASE | step_ledger.measure("cuda", STEPS), (4, 5, 6))
    assert {fact.name for fact in facts} >= {"idle_launch_share", "idle_launch_ledger_ms"}
    assert all((fact.table, fact.rows) == ("ledger", (4, 5, 6)) for fact in facts)
