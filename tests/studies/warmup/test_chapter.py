"""What warm-up costs, from small tables done by hand."""

from typing import Any

import pytest

from tests.studies.chapters import facts
from tests.studies.tables import table
from workflow_src.common.words import DASH
from workflow_src.studies.warmup.chapter import LOADED, PLAIN, STARTED


def run(warmup_steps: int, mean: float, **other: object) -> dict[str, object]:
    """A forward pass whose first step takes 90 ms, and a settled one 10 ms."""
    about = {"size": "t", "phase": "forward", "context": 8, "warmup_steps": warmup_steps}
    times = {"first_step_ms": 90.0, "settled_ms": 10.0, "median_ms": 10.0, "mean_ms": mean}
    return about | times | {"settled_after_steps": 1, "sweep": None} | other


def found(*rows: dict[str, object]) -> dict[str, Any]:
    return facts("warmup", table(*rows))


def printed(frame: Any, row: int = 0) -> list[str]:
    """A row's cells, with their marks."""
    cells = frame.to_numpy(object)[row]
    parts = [cell if isinstance(cell, tuple) else (cell,) for cell in cells]
    return ["".join(DASH if part != part else str(part) for part in each) for each in parts]


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
    steps = found(*(run(number, mean) for number, mean in means.items()))["enough"]
    assert steps == enough if enough is not None else steps != steps


def test_a_run_that_never_settles_says_nothing_of_how_much_is_enough() -> None:
    loose = run(5, 30.0, settled_after_steps=None)
    assert found(run(0, 20.0), run(1, 10.0), loose)["enough"] == 1
    alone = found(loose)
    assert alone["verdict"] == "can't tell"
    assert alone["runs"]["until"].tolist() == ["not within the run"]


def test_times_of_several_hosts_are_not_of_one_median() -> None:
    """The slow host's first step doesn't count; its mean does, held against its own steps."""
    here, slow = {"host_id": "a"}, {"host_id": "b", "first_step_ms": 300.0, "settled_ms": 20.0}
    said = found(run(0, 20.0) | here, run(1, 10.0) | here, run(2, 21.0) | slow)
    assert printed(said["phases"])[1:4] == ["90.0", "10.0", "9.0 ×"]
    assert printed(said["off"])[1:] == ["+100 %", "0 %", "+5 %"]


def trial(loading: str, prepared: bool, first: float, **other: object) -> dict[str, object]:
    about = {"size": "t", "phase": "forward", "sweep": "loading", "loading": loading}
    times = {"first_step_ms": first, "settled_ms": 10.0, "build_ms": 200.0}
    return about | {"prepared": prepared} | times | other


def saved(*rows: dict[str, object]) -> tuple[str, str]:
    """What starting cuBLAS and loading code save, as printed."""
    trials = found(*rows)["trials"][["kind", "saved"]]
    cells = dict(printed(trials, row) for row in range(len(trials)))
    assert cells[PLAIN] == DASH
    return cells.get(STARTED, DASH), cells.get(LOADED, DASH)


def test_both_savings_count_from_the_step_as_it_is() -> None:
    """Of 90 ms, 80 are saved, whatever the step takes after starting cuBLAS, or if it overlaps."""
    plain, loaded = [trial("LAZY", False, 70.0), trial("LAZY", False, 130.0)], 20.0
    for started in (80.0, 250.0):
        rows = [*plain, trial("LAZY", True, started), trial("EAGER", True, loaded)]
        assert saved(*rows) == (DASH, "≈ 89 %")


def test_what_processes_barely_tell_is_not_shown() -> None:
    """As of 2.7B on the H200s: starting cuBLAS saves 63 to 317 ms, and 190 by medians."""
    plain = [trial("LAZY", False, 389.0), trial("LAZY", False, 625.0)]
    started = [trial("LAZY", True, 327.0), trial("LAZY", True, 308.0)]
    assert saved(*plain, *started, trial("EAGER", True, 177.0)) == (DASH, "≈ 66 %")


@pytest.mark.parametrize(
    ("means", "verdict", "settled"),
    [
        ({0: 10.1, 1: 10.0}, "always", "2 of 3"),
        ({0: 20.0, 1: 11.0, 5: 10.0}, "enough", "1 of 2"),
        ({0: 20.0, 1: 12.0}, "not enough", "2 of 3"),
        ({}, "can't tell", "0 of 1"),
    ],
)
def test_verdicts(means: dict[int, float], verdict: str, settled: str) -> None:
    rows = [run(steps, mean) for steps, mean in means.items()]
    said = found(*rows, run(7, 99.0, settled_after_steps=None))
    assert (said["verdict"], str(said["settled"])) == (verdict, settled)
