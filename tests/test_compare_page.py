"""What a comparison shows first, what it leaves to CSVs and HTML, and what it advises."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.synthetic_tables import FORWARD, Kernel, Sample
from tests.test_compare import compared, ended, extremes, page, run, with_ledger, written
from tests.workflow import SUITE, Project
from workflow_src.compare import gate
from workflow_src.compare.shown import by_short_name

SMALL = "small-ctx128-fp32"


def section(text: str, heading: str) -> str:
    """The text under a heading."""
    return re.split(r"^## ", text.split(f"## {heading}\n")[1], flags=re.MULTILINE)[0]


def rows_of(text: str) -> list[list[str]]:
    """The cells of its table's rows, without the heading."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def two_runs(folder: Path, ratios: Sequence[float]) -> tuple[Path, Path]:
    """Runs of a case per ratio of forward; all else takes as long in B as in A."""
    samples = [Sample(context=128 + n) for n in range(len(ratios))]
    others = [
        Sample(context=128 + n, median_ms=dict(Sample().median_ms) | {"forward": 12.0 * ratio})
        for n, ratio in enumerate(ratios)
    ]
    return run(folder / "a", *samples), run(folder / "b", *others)


def test_the_largest_ratios_come_first_in_both_directions(tmp_path: Path) -> None:
    ratios = [1 + 0.02 * n for n in range(11)] + [0.7, 1.005]
    found = compared(*two_runs(tmp_path, ratios))
    assert found.said.endswith(
        "As measured, in B 10 of 39 phases took more than 1 % longer (up to 1.200 times the time, "
        "small-ctx138-fp32, forward) and 1 of 39 phases took more than 1 % less time (0.700 times "
        "the time, small-ctx139-fp32, forward)."
    )
    text = page(found)
    first = section(text, "Largest changes of unprofiled time")
    assert text.index("## Largest changes") < text.index("## Means of unprofiled time")
    assert "11 of 39 phases took longer or less by more than 1 %; here are 10" in first
    assert [row[4] for row in rows_of(first)] == [
        *("0.700", "1.200", "1.180", "1.160", "1.140"),
        *("1.120", "1.100", "1.080", "1.060", "1.040"),
    ]


def test_what_has_a_verdict_comes_before_larger_ratios_without_one(tmp_path: Path) -> None:
    warned = Sample(context=256, environment={"throttled": "power cap"})
    a = run(tmp_path / "a", Sample(), Sample(context=256), seed=0)
    b = run(tmp_path / "b", Sample(), warned, seed=1, scale=1.05)
    (b / "benchmark" / "small-ctx256-fp32.json").write_text(
        json.dumps({"phases": {"forward": {"status": "ok", "samples_ns": [90_000_000]}}})
    )
    rows = rows_of(section(page(compared(a, b)), "Largest changes of unprofiled time"))
    assert [row[0] for row in rows] == [SMALL] * 3 + ["small-ctx256-fp32"] * 3


def test_beside_a_ratio_is_what_became_of_device_time(tmp_path: Path) -> None:
    """Which tells the device's work from the host's, also where no verdict is possible."""
    times = {"forward": 12.6, "forward_backward": 38.0, "train_step": 50.0}
    busy = dict(Sample().times_ms) | {"forward": (13.2, 12.6, 12.9)}
    a = run(tmp_path / "a", Sample())
    b = run(tmp_path / "b", Sample(median_ms=times, times_ms=busy))
    rows = rows_of(section(page(compared(a, b)), "Largest changes of unprofiled time"))
    assert [row[4:8] for row in rows] == [
        ["1.056", "can't tell (one process)", "1.000", "no difference shown"],
        ["1.050", "can't tell (one process)", "1.050", "longer"],
    ]


def test_a_ratio_of_what_was_not_captured_has_no_device_time(tmp_path: Path) -> None:
    slow = {phase: 1.1 * ms for phase, ms in Sample().median_ms.items()}
    a = run(tmp_path / "a", Sample())
    b = run(tmp_path / "b", Sample(median_ms=slow, captured=False))
    rows = rows_of(section(page(compared(a, b)), "Largest changes of unprofiled time"))
    assert len(rows) == 3 and all(row[6] == "not measured" for row in rows)


def test_long_tables_are_left_to_csvs_and_html(tmp_path: Path) -> None:
    a, b = two_runs(tmp_path, [1.0] * 7)
    written(tmp_path / "o", a, b)
    text, html = ((tmp_path / "o" / f"compare.{kind}").read_text() for kind in ("md", "html"))
    assert rows_of(section(text, "All cases and phases")) == []
    assert html.count(">training step</td>") >= 2 * 7
    short = page(compared(*two_runs(tmp_path / "short", [1.0] * 6)))
    assert len(rows_of(section(short, "All cases and phases"))) >= 2 * 18


def test_a_ledger_in_which_nothing_changed_says_so(tmp_path: Path) -> None:
    a, b, c = (
        with_ledger(run(tmp_path / name, Sample()), [12_000_000] * 2, active)
        for name, active in (("a", 9_000_000), ("b", 9_000_000), ("c", 9_200_000))
    )
    heading = "Where the change of a step comes from"
    same = section(page(compared(a, b)), heading)
    assert "No change: under the profiler" in same and rows_of(same) == []
    parts = section(page(compared(a, c)), heading)
    assert "+0.200" in parts and "-0.200" in parts, "the parts changed, though the step did not"
    assert "idle: launch" in parts and "idle: tail" not in parts, "it changed nowhere"


def test_kernels_of_one_short_name_are_one_row(tmp_path: Path) -> None:
    """Two rows that look alike can't be told apart."""

    def kernels(a_ns: int, b_ns: int) -> list[Kernel]:
        path = "forward/block"
        return [
            *FORWARD,
            (path, "reduce(sum)<float>", "reduction", 2, a_ns),
            (path, "reduce(sum)<half>", "reduction", 3, b_ns),
        ]

    a = run(tmp_path / "a", Sample(kernels={"forward": kernels(1_000_000, 2_000_000)}))
    b = run(tmp_path / "b", Sample(kernels={"forward": kernels(1_500_000, 3_000_000)}))
    found = compared(a, b)
    assert [row["name"] for row in found.kernels] == ["reduce(sum)<half>", "reduce(sum)<float>"]
    (row,) = by_short_name(found.kernels)
    assert row["short_name"] == "reduce(sum) (2 kernels)" and row["change"] == "time changed"
    assert (row["a_calls"], row["a_ms"], row["b_ms"], row["change_ms"]) == (5.0, 3.0, 4.5, 1.5)
    text = section(page(found), "Kernels")
    assert "2 changes, counting each kernel in each phase of each case: time changed in 2." in text
    assert len(rows_of(text)) == 1


def test_the_advice_names_processes_runs_and_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    cases = [Sample(context=context) for context in (128, 256, 512)]
    a = run(Path("results/before"), *cases, seed=0, processes=8)
    b = run(Path("results/after"), *cases, seed=1, processes=2, scale=1.5)
    found = compared(a, b)
    said = (
        "For a verdict, time each case of B in at least 8 processes (now 2; one case alone takes "
        "7). Run what measured B again, with its own code, suite and other settings, and with "
        "processes=8 in --config; captures are not made again."
    )
    command = "snakemake --cores 1 report.md --config tag=after processes=8"
    assert (found.advice, found.commands) == (said, [command])
    assert f"\n\n{said}\n\n    {command}\n\n" in page(found)
    kept = json.loads(written(Path("o"), a, b).read_text())
    assert (kept["advice"], kept["commands"]) == (said, [command])
    assert ended(gate.main, "--comparison", "o/compare.json") == (3,)
    assert capsys.readouterr().out.endswith(f"{found.said}\n{said}\n{command}\n")


def test_as_many_processes_as_are_advised_give_a_verdict(tmp_path: Path) -> None:
    for n in (1, 3):
        cases = [Sample(context=128 * 2**k) for k in range(n)]
        a = run(tmp_path / f"a{n}", *cases, processes=1)
        advised = compared(a, a).advice
        needed = int(re.findall(r"in at least (\d+) processes", advised)[0])
        runs = [
            run(tmp_path / f"{name}{n}", *cases, seed=seed, processes=needed, scale=scale)
            for name, seed, scale in (("c", 0, 1.0), ("d", 1, 1.2))
        ]
        assert {row["verdict"] for row in compared(*runs).times} == {"slower"}
        fewer = [run(folder, *cases, seed=0, processes=needed - 1) for folder in runs]
        assert f"in at least {needed} processes (now {needed - 1}" in compared(*fewer).advice


def test_extremes_alone_take_the_processes_of_their_interval(tmp_path: Path) -> None:
    a, b = (extremes(tmp_path / name, 1.0, processes=7) for name in "ab")
    assert "in at least 9 processes (now 7; one case alone takes 7)" in compared(a, b).advice
    assert compared(a, b).commands == [], "these folders have no tag"


def test_too_much_spread_asks_for_more_or_for_quiet(tmp_path: Path) -> None:
    a, b = (run(tmp_path / name, Sample(), seed=s, spread=0.08) for s, name in enumerate("ab"))
    assert compared(a, b).advice == (
        "Where processes vary too much, it takes more of them, or a quieter machine."
    )


@pytest.mark.workflow
def test_more_processes_capture_nothing_again(project: Project) -> None:
    """As the advice says."""
    stale = project.stale("--config", *SUITE, "processes=2")
    assert stale["benchmark"] > 0 and "capture" not in stale and "export" not in stale
