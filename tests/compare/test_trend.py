"""A trend over runs and captures: what differs, since when, what changed, and bad input."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.synthetic_tables import Sample
from tests.test_energy import run as run_of
from tests.test_energy import scaled
from workflow_src.answers import summary
from workflow_src.cli import steptime
from workflow_src.compare.summaries import number
from workflow_src.compare.trend import HIGHER, LOWER, SAME, UNKNOWN, judged
from workflow_src.paper.number import NAN, Number
from workflow_src.paper.plain import told

STEP = f"{Sample().case}, training step"


def of(value: float, low: float, high: float) -> Number:
    ends = (Number(low, "ms"), Number(high, "ms"))
    return Number(value, "ms", frozenset([("a", 2), ("a", 3), ("a", 5), ("b", 2)]), "x", ends)


def run(folder: Path, factor: float = 1.0, torch: str = "2.11") -> Path:
    """A run with a summary, whose device time and energy are `factor` times as high."""
    run_of(folder, partial(scaled, factor))
    path = folder / "tables" / "ranges.csv"
    rows = pd.read_csv(path)
    rows.assign(busy_ms=factor * rows["busy_ms"]).to_csv(path, index=False)
    path = folder / "tables" / "environments.csv"
    pd.DataFrame([Sample().front | {"torch": torch}]).to_csv(path, index=False)
    summary.main(["--run", str(folder)])
    return folder


def trend(output: Path, *runs: Path) -> dict[str, Any]:
    steptime.main(["trend", *map(str, runs), "--output", str(output)])
    found: dict[str, Any] = json.loads((output / "trend.json").read_text())
    return found


def test_numbers_differ_where_their_intervals_lie_apart_by_more_than_two_percent() -> None:
    a = of(10, 9.9, 10.1)
    assert judged(a, of(11, 10.9, 11.1)) == HIGHER and judged(of(11, 10.9, 11.1), a) == LOWER
    assert judged(a, of(10.15, 10.12, 10.2)) == SAME, "by 1.5 %"
    assert judged(a, of(11, 10, 12)) == SAME
    assert judged(a, Number(11, "ms")) == judged(a, NAN) == UNKNOWN


def test_a_number_that_programs_were_told_has_its_rows_again() -> None:
    again = number(told(of(10, 9, 11)), "run: x")
    assert sorted(again.rows) == [("run: a", 2), ("run: a", 3), ("run: a", 5), ("run: b", 2)]
    assert [float(end) for end in again.ends or ()] == [9, 11]


def test_a_trend_says_what_is_higher_since_when_and_what_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    factors = {"mon": 1.0, "tue": 1.0, "wed": 1.2, "thu": 1.2}
    runs = [
        run(tmp_path / name, factor, "2.13" if name == "wed" else "2.11")
        for name, factor in factors.items()
    ]
    found = trend(tmp_path / "out", *runs)
    rows = {(row["place"], row["time"]): row for row in found["times"]}
    for time, unit in (("device time", "ms"), ("energy", "J")):
        row = rows[STEP, time]
        assert (row["changed"], row["since"], row["mon"]["unit"]) == ("higher", "wed", unit)
        assert row["ratio"]["value"] == pytest.approx(1.2)
    assert rows[STEP, "unprofiled time"]["changed"] == "can't tell", "of one process"
    changed = [(row["run"], row["before"], row["after"]) for row in found["changes"]]
    assert changed == [("wed", "2.11", "2.13"), ("thu", "2.13", "2.11")]
    said = capsys.readouterr().out
    assert said.startswith("From `mon` to `thu` a step takes more in 6 of 9 numbers, most in ")
    assert "1.200 ×" in said and "since `wed`" in said
    text = (tmp_path / "out" / "trend.md").read_text()
    assert "\N{BLACK UP-POINTING TRIANGLE}" in text and "| wed | torch | 2.11 | 2.13 |" in text
    page = (tmp_path / "out" / "trend.html").read_text()
    assert "<h1>A trend over 4 runs</h1>" in page and page.count("<script") == 2
    lower = trend(tmp_path / "back", *runs[::-1])
    assert (
        lower["verdict"] == "lower" and "in none of 9 numbers, and less in 6" in lower["headline"]
    )


def test_what_is_no_summary_ends_in_one_sentence(tmp_path: Path) -> None:
    a = run(tmp_path / "a")
    (tmp_path / "empty").mkdir()
    capture = tmp_path / "capture" / "summary.json"
    capture.parent.mkdir()
    capture.write_text(json.dumps({"schema": 1, "kind": "capture", "recorded_by": "nsys",
                                   "processes": [], "findings": []}))  # fmt: skip
    for second, said in {
        tmp_path / "empty": "empty/summary.json is not a summary (No such file",
        capture: "a is a run, capture is a capture; give runs alone",
        a: "give two or more, each once",
    }.items():
        with pytest.raises(SystemExit) as end:
            trend(tmp_path / "out", a, second)
        assert said in str(end.value.code)
    assert not (tmp_path / "out").exists()
    again = tmp_path / "again" / "summary.json"
    again.parent.mkdir()
    again.write_text(capture.read_text())
    assert trend(tmp_path / "out", capture, again)["verdict"] == "nothing"
