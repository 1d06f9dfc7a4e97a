"""The energy of a step: what is repeated, what tells it, and where it is shown."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.answers.chapters import chapter
from tests.synthetic_tables import Sample, write_tables
from workflow_src.answers.energy import energy, opened
from workflow_src.answers.forward_time.chapter import facts as answer
from workflow_src.measure import benchmark
from workflow_src.measure import energy as measured
from workflow_src.paper.run import Run
from workflow_src.plan.suites import make_plan
from workflow_src.tables.measured import timings

CASE = Sample().case
CARD = ["energy of a step, J", "energy of a token, mJ"]


def phase(**found: Any) -> dict[str, Any]:
    """A timed phase that was repeated 10 times in 4 s."""
    row = {"status": "ok", "reason": "", "samples_ns": [1], "peak_memory_mib": 1.0}
    energy = {"status": "ok", "reason": "", "steps": 10, "ns": 4 * 10**9}
    return row | {"energy": energy | {"counter_mj": [None, None]} | found}


def told(**found: Any) -> dict[str, Any]:
    (row,) = timings({"phases": {"forward": phase(**found)}}).to_dict("records")
    return row


def test_the_counter_tells_it_within_one_of_its_steps() -> None:
    """2,800 J in 4 s are 700 W; what it adds up may be of 0.1 s more or less."""
    row = told(counter_mj=[1_000_000, 3_800_000], readings=[[1980, 600.0, []]])
    assert (row["watts"], row["joules_per_step"]) == (700, 280)
    assert (row["joules_least"], row["joules_most"]) == (273, 287)


def test_without_a_counter_nothing_tells_it() -> None:
    assert "joules_per_step" not in told(readings=[[1980, 600.0, []]])


def test_a_phase_is_repeated_for_the_seconds_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of 5 steps takes 0.7 s by a clock of its own; before, it runs to wake the device."""
    now, counted = [0], iter([7, 9])
    monkeypatch.setattr(measured.time, "monotonic_ns", lambda: now[0])
    monkeypatch.setattr(measured, "wake", lambda step, device, seconds: step())
    monkeypatch.setattr(measured, "counter_mj", lambda: next(counted))

    def step() -> None:
        now[0] += 7 * 10**8

    found = measured.repeat(step, "cpu", 3)
    assert (found["steps"], found["ns"], found["counter_mj"]) == (5, 35 * 10**8, [7, 9])
    assert found["window_ns"] == [7 * 10**8, 42 * 10**8]


def test_a_benchmark_has_it_of_each_phase_that_was_timed_and_a_cpu_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = make_plan({"sizes": {"s": {"d_model": 8, "d_ff": 8, "layers": 1, "heads": 2}},
                      "suites": {"quickstart": {"sizes": ["s"], "contexts": [4]}},
                      "device": "cpu", "cpu_threads": 1, "energy_seconds": 3})  # fmt: skip
    assert plan.benchmark_row("s-ctx4-fp32")["energy_seconds"] == 3
    measure = partial(benchmark.measure_all, plan.cases[0], 0, 1)
    assert "energy" not in measure([], 3)[1]["forward"]
    found = [("forward", {"status": "ok", "window_ns": [10, 20]})]
    monkeypatch.setattr(benchmark, "energies", lambda workload, rows, seconds: found)
    _, rows = measure([(15, ["clock", 700.0, []], [])], 3)
    assert rows["forward"]["energy"]["readings"] == [["clock", 700.0, []]]


def run(folder: Path, joules: Callable[[str], float] | None = None) -> Path:
    """A run of one case, with the energy of each phase, if any, and 512 tokens a step."""
    write_tables(folder / "tables", Sample())
    path = folder / "tables" / "timings.csv"
    rows = pd.read_csv(path)
    if joules:
        known = rows["phase"].map(joules)
        rows = rows.assign(joules_per_step=known, tokens_per_step=512, watts=700.0)
        rows = rows.assign(joules_least=0.97 * known, joules_most=1.03 * known)
    rows.to_csv(path, index=False)
    return folder


def scaled(factor: float, name: str) -> float:
    return factor * (40.0 if name == "train_step" else 10.0)


of_step = partial(scaled, 1.0)


def test_joules_and_those_of_a_token_stand_in_the_card_and_the_table_of_medians(
    tmp_path: Path,
) -> None:
    tables = Run.of(run(tmp_path / "a", of_step) / "tables")
    row = energy(tables).loc[(CASE, "train_step")]
    assert (str(row["joules"]), str(row["per_token"])) == ("40", "78")
    assert [float(end) for end in row["joules"].ends] == pytest.approx([38.8, 41.2])
    line = answer(tables)["opening"].set_index("").loc["energy of a training step, mJ a token"]
    assert str(line["fp32"]) == "78.1"
    card = chapter("cards", tables).markdown["appendix"]
    assert [name for name in CARD if name in card] == CARD
    without = Run.of(run(tmp_path / "b") / "tables")
    ((cells, _),) = opened(without).values()
    assert cells.isna().all() and not [
        name for name in CARD if name in str(chapter("cards", without))
    ]
