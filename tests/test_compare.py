"""Comparing two runs: what the tests say against known values, the verdicts, and the page."""

import itertools
import json
import os
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.synthetic_tables import FORWARD, Kernel, Sample, write_tables
from tests.workflow import ROOT, Project, run_and_wait
from workflow_src.common.errors import StageError
from workflow_src.compare import compare, gate
from workflow_src.compare.device import ledger_changes
from workflow_src.compare.rank_test import _doubled_ranks, _normal, holm, mann_whitney, smallest_p
from workflow_src.compare.resampling import interval, interval_of_extremes, resampled_ratios
from workflow_src.compare.runs import Run, read_run, read_samples
from workflow_src.compare.times import ALPHA, fewest_processes

TEMPLATES = ROOT / "report_templates"
PHASES = ("forward", "forward_backward", "train_step")

# The example of scipy.stats.mannwhitneyu's documentation.
MALES, FEMALES = [19, 22, 16, 29, 24], [20, 11, 17, 12]


def test_p_is_what_scipy_documents() -> None:
    assert mann_whitney(MALES, FEMALES) == pytest.approx(0.1111111111111111)
    doubled = _doubled_ranks(np.array([*MALES, *FEMALES], dtype=float))
    assert _normal(doubled, 5, int(doubled[:5].sum())) == pytest.approx(0.11134688653314041)


def test_p_counts_all_choices_also_with_ties() -> None:
    random = np.random.default_rng(0)
    for _ in range(40):
        a, b = (random.integers(0, 5, random.integers(1, 6)).tolist() for _ in range(2))
        ranks = pd.Series([*a, *b]).rank().to_numpy()
        mean = len(a) * (len(ranks) + 1) / 2
        sums = [abs(sum(c) - mean) for c in itertools.combinations(ranks.tolist(), len(a))]
        far = [s >= abs(ranks[: len(a)].sum() - mean) for s in sums]
        assert mann_whitney(a, b) == pytest.approx(sum(far) / len(far))


def test_p_of_large_samples_is_close_to_the_exact_one() -> None:
    random = np.random.default_rng(1)
    a, b = random.normal(size=30), random.normal(0.7, size=30)
    doubled = _doubled_ranks(np.concatenate([a, b]))
    approximate = _normal(doubled, 30, int(doubled[:30].sum()))
    assert mann_whitney(a, b) == pytest.approx(approximate, abs=0.001)
    assert mann_whitney([1.0] * 40, [1.0] * 40) == 1.0
    assert mann_whitney(list(range(40)), list(range(100, 140))) < 1e-12


def test_p_is_at_most_its_level_if_nothing_differs() -> None:
    random = np.random.default_rng(2)
    ps = [mann_whitney(random.normal(size=7), random.normal(size=7)) for _ in range(2000)]
    assert np.mean(np.array(ps) <= 0.05) <= 0.06


def test_the_smallest_p_and_the_fewest_processes() -> None:
    assert smallest_p(5, 5) == 2 / 252
    assert mann_whitney(range(5), range(5, 10)) == pytest.approx(2 / 252)
    assert [fewest_processes(tests) for tests in (1, 3, 180)] == [6, 7, 10]
    assert smallest_p(7, 7) * 3 < ALPHA < smallest_p(6, 6) * 3


def test_samples_are_needed() -> None:
    with pytest.raises(ValueError, match="no samples"):
        mann_whitney([], [1.0])


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0] and holm([]) == []


def test_intervals_cover_the_ratio_and_repeat() -> None:
    random = np.random.default_rng(3)
    a, b = random.normal(100, 1, 20).tolist(), random.normal(103, 1, 20).tolist()
    low, high = interval(resampled_ratios(a, b, "case"))
    assert 1 < low < 1.03 < high < 1.06
    assert (low, high) == interval(resampled_ratios(a, b, "case"))


def test_extremes_give_an_interval_from_nine_processes_on() -> None:
    assert interval_of_extremes((10, 12), (11, 15), 8, 8) is None
    assert interval_of_extremes((10, 12), (11, 15), 9, 9) == (11 / 12, 1.5)


def benchmark(
    folder: Path, case: str, scale: float = 1.0, spread: float = 0.002, **kept: Any
) -> Path:
    """A benchmark of `processes` processes whose medians differ by about `spread`."""
    processes, seed = kept.get("processes", 10), kept.get("seed", 0)
    random = np.random.default_rng(seed)
    phases: dict[str, Any] = {}
    for number, phase in enumerate(kept.get("phases", PHASES)):
        luck = 1 + spread * random.standard_normal(processes)
        steps = 1 + 0.01 * random.standard_normal((processes, 5))
        ns = 12e6 * (number + 1) * scale * luck[:, None] * steps
        process = np.repeat(np.arange(processes), 5).tolist()
        row = {"status": "ok", "samples_ns": ns.ravel().round().astype(int).tolist()}
        phases[phase] = row | ({"process": process} if processes > 1 else {})
    path = folder / "benchmark" / f"{case}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"phases": phases}))
    return path


def run(folder: Path, *samples: Sample, **kept: Any) -> Path:
    """A run's folder with tables and, if anything is `kept` of them, benchmarks."""
    write_tables(folder / "tables", *samples)
    for sample in samples if kept else ():
        benchmark(folder, sample.case, **kept)
    return folder


def compared(a: Path, b: Path, **options: Any) -> compare.Comparison:
    return compare.compare(read_run(a), read_run(b), **options)


def page(found: compare.Comparison) -> str:
    return compare.text_of(found, TEMPLATES)


def test_equal_runs_show_no_difference(tmp_path: Path) -> None:
    a, b = (run(tmp_path / n, Sample(), seed=s) for s, n in enumerate("ab"))
    found = compared(a, b)
    assert found.status == 0
    assert [row["verdict"] for row in found.times] == ["no difference shown"] * 3
    assert found.said.startswith("No difference shown between A and B beyond 1 %. The intervals")
    text = page(found)
    assert "Nothing that is recorded about hardware, versions and settings differs." in text
    assert "No phase took longer or less by more than 1 %." in text
    assert found.advice == "" and found.commands == []


def test_a_slowdown_is_found_with_its_ratio(tmp_path: Path) -> None:
    a = run(tmp_path / "a", Sample(), seed=0)
    b = run(tmp_path / "b", Sample(), seed=1, scale=1.03)
    found = compared(a, b)
    assert found.status == 1
    for row in found.times:
        assert row["verdict"] == "slower" and row["basis"] == "processes"
        assert row["low"] < 1.03 < row["high"] and row["ratio"] == pytest.approx(1.03, abs=0.01)
        assert row["adjusted"] == pytest.approx(3 * smallest_p(10, 10))
    assert re.match(
        r"B is slower than A by more than 1 % in all 3 phases; most in small-ctx128-fp32 "
        r"\(\S.*\), which takes 1\.0\d\d times as long\.$",
        found.said,
    )
    back = compared(b, a)
    assert back.status == 0 and back.said.startswith(
        "B is nowhere slower than A, and faster in all"
    )
    assert compared(a, b, threshold=0.05).status == 0, "within the threshold"


def test_the_bootstrap_draws_processes_and_not_steps(tmp_path: Path) -> None:
    """A ratio's interval is as wide as processes differ, however many steps each has."""
    a = run(tmp_path / "a", Sample(), seed=0, spread=0.08)
    b = run(tmp_path / "b", Sample(), seed=1, spread=0.08)
    row = compared(a, b).times[0]
    case = "small-ctx128-fp32"
    a_ms, b_ms = (
        [float(np.median(steps)) for steps in read_run(folder).samples[case]["forward"].by_process]
        for folder in (a, b)
    )
    drawn = resampled_ratios(a_ms, b_ms, case)
    assert (row["low"], row["high"]) == interval(drawn)
    assert row["high"] - row["low"] > 0.1
    assert (row["verdict"], row["why"]) == ("can't tell", "too much spread")


@pytest.mark.parametrize(("processes", "why"), [(1, "one process"), (6, "too few processes")])
def test_too_few_samples_cannot_tell(tmp_path: Path, processes: int, why: str) -> None:
    a = run(tmp_path / "a", Sample(), seed=0, processes=processes)
    b = run(tmp_path / "b", Sample(), seed=1, processes=processes, scale=1.5)
    found = compared(a, b)
    assert found.status == 3
    assert {(row["verdict"], row["why"]) for row in found.times} == {("can't tell", why)}
    assert {row["basis"] for row in found.times} == {"steps" if processes == 1 else "processes"}
    assert "p can only fall below 0.5 % from 7 processes of each run on" in page(found)


def test_published_tables_alone_give_a_ratio_and_no_interval(tmp_path: Path) -> None:
    a, b = (run(tmp_path / name, Sample()) for name in "ab")
    found = compared(a, b)
    assert found.status == 3 and {row["basis"] for row in found.times} == {"medians"}
    assert found.said == (
        "Can't tell whether B is slower than A: all 3 phases have only one process in A or in B. "
        "As measured, in B no phase took more than 1 % longer or less."
    )


def extremes(folder: Path, scale: float, processes: int = 10) -> Path:
    """A run whose tables have the fastest and the slowest process, and nothing else of them."""
    run(folder, Sample())
    path = folder / "tables" / "timings.csv"
    table = pd.read_csv(path)
    table["median_ms"] *= scale
    table = table.assign(
        processes=processes,
        fastest_ms=0.99 * table["median_ms"],
        slowest_ms=1.01 * table["median_ms"],
    )
    table.to_csv(path, index=False)
    return folder


def test_published_extremes_of_processes_are_evidence(tmp_path: Path) -> None:
    a, b, c = (extremes(tmp_path / n, s) for n, s in (("a", 1.0), ("b", 1.03), ("c", 1.005)))
    found = compared(a, b)
    assert found.status == 1 and {row["basis"] for row in found.times} == {"extremes"}
    row = found.times[0]
    assert row["p"] == smallest_p(10, 10)
    assert (row["low"], row["high"]) == pytest.approx((1.03 * 0.99 / 1.01, 1.03 * 1.01 / 0.99))
    assert compared(a, c).status == 0
    few = extremes(tmp_path / "d", 1.005, processes=7)
    assert {row["why"] for row in compared(a, few).times} == {"too few processes"}


def test_device_bound_and_launch_bound_phases_are_apart(tmp_path: Path) -> None:
    """By the unprofiled time: the device works 10 of forward's 12 ms, and 20 of 36 and 50 ms."""
    times = {"forward": (99.0, 10.0, 11.0), "forward_backward": (37.0, 20.0, 36.0)}
    sample = Sample(times_ms=times | {"train_step": (51.0, 20.0, 50.0)})
    found = compared(*(run(tmp_path / name, sample) for name in "ab"))
    assert [row["bound"] for row in found.times] == ["device", "launch", "launch"]
    cpu = replace(sample, device="cpu")
    found = compared(*(run(tmp_path / name, cpu) for name in "cd"))
    assert {row["bound"] for row in found.times} == {"cpu"}


def test_geometric_means_by_hand(tmp_path: Path) -> None:
    """Forward takes 1.21 and 1 times as long, its geometric mean is 1.1; all else is the same."""
    times = {"forward": 1.21 * 12.0, "forward_backward": 36.0, "train_step": 50.0}
    busy = {"forward": (99.0, 14.0, 14.0), "forward_backward": (99.0, 36.0, 36.0)}
    kept = {"times_ms": busy | {"train_step": (99.0, 50.0, 50.0)}}
    a = run(tmp_path / "a", Sample(**kept), Sample(context=256, **kept))
    b = run(tmp_path / "b", Sample(median_ms=times, **kept), Sample(context=256, **kept))
    rows = compare.summaries(compared(a, b).times)
    assert [(row["bound"], row["phase"], row["phases"]) for row in rows] == [
        *(("device", phase, 2) for phase in PHASES),
        ("device", "", 6),
    ]
    means = [row["mean"] for row in rows]
    assert means == pytest.approx([1.1, 1.0, 1.0, 1.1 ** (1 / 3)])


def test_geometric_means_have_an_interval_over_processes(tmp_path: Path) -> None:
    a = run(tmp_path / "a", Sample(), Sample(context=256), seed=0)
    b = run(tmp_path / "b", Sample(), Sample(context=256), seed=1, scale=1.02)
    for row in compare.summaries(compared(a, b).times):
        assert row["basis"] == "processes" and row["low"] < 1.02 < row["high"]
        assert row["high"] - row["low"] < 0.02


def test_environments_come_first(tmp_path: Path) -> None:
    a = run(tmp_path / "a", Sample(environment={"torch": "2.11.0"}))
    b = run(tmp_path / "b", Sample(environment={"throttled": "power cap"}))
    found = compared(a, b)
    assert found.environments == [
        {"what": "torch", "a": "2.11.0", "b": "2.13.0"},
        {"what": "cases with a warning", "a": "0 of 1", "b": "1 of 1"},
    ]
    text = page(found)
    headings = re.findall("^## (.*)$", text, flags=re.MULTILINE)
    assert headings[:2] == [
        "What differs in the environments",
        "Largest changes of unprofiled time",
    ]
    assert "1 of 1 cases was measured with a warning" in text


def test_no_verdict_on_what_was_measured_with_a_warning(tmp_path: Path) -> None:
    a = run(tmp_path / "a", Sample(environment={"throttled": "power cap"}), seed=0)
    b = run(tmp_path / "b", Sample(), seed=1, scale=1.5)
    found = compared(a, b)
    assert found.status == 3
    assert found.said == (
        "Can't tell whether B is slower than A: all 3 phases were measured with a warning in A or "
        "in B. As measured, in B all 3 phases took more than 1 % longer (up to 1.500 times the "
        "time, small-ctx128-fp32, forward + backward)."
    )
    assert found.advice == (
        "Measure small-ctx128-fp32 again on a quiet machine, so that no warning is left."
    )


def test_hosts_of_another_speed_are_told(tmp_path: Path) -> None:
    def host(us: float) -> Sample:
        return Sample(environment={"host_launch_us_before": us, "host_launch_us_after": us})

    a, b = (run(tmp_path / n, host(us)) for n, us in (("a", 3.0), ("b", 9.0)))
    said = {"what": "a launch on the host", "a": "3.00 us", "b": "9.00 us"}
    assert compared(a, b).environments == [said]
    assert compared(a, run(tmp_path / "c", host(3.3))).environments == []


def test_kernels_that_appeared_vanished_or_changed(tmp_path: Path) -> None:
    changed: list[Kernel] = [
        *(kernel for kernel in FORWARD if kernel[1] not in ("softmax_one", "copy_loose", "tiny")),
        ("forward/block/attention/softmax", "softmax_two", "softmax", 12, 1_000_000),
        ("forward/block/norm", "tiny", "normalization", 13, 50_000),
        ("forward", "copy_loose", "copy", 1, 900_000),
    ]
    a = run(tmp_path / "a", Sample(kernels={"forward": FORWARD}))
    b = run(tmp_path / "b", Sample(kernels={"forward": changed}))
    found = {row["name"]: row for row in compared(a, b).kernels}
    assert {name: row["change"] for name, row in found.items()} == {
        "softmax_one": "vanished",
        "softmax_two": "appeared",
        "tiny": "calls changed",
        "copy_loose": "time changed",
    }
    assert found["softmax_one"]["change_ms"] == -2.0 and found["softmax_two"]["change_ms"] == 1.0
    assert (found["tiny"]["a_calls"], found["tiny"]["b_calls"]) == (25.0, 13.0)
    assert found["copy_loose"]["change_ms"] == pytest.approx(0.45)


def test_device_time_is_judged_over_steps_and_apart(tmp_path: Path) -> None:
    longer = {"forward": (12.6, 12.5, 12.3), "forward_backward": (37.0, 20.0, 36.0)}
    a = run(tmp_path / "a", Sample(), seed=0)
    b = run(tmp_path / "b", Sample(times_ms=longer | {"train_step": (51.0, 20.1, 50.0)}), seed=1)
    found = compared(a, b)
    assert [row["verdict"] for row in found.device] == ["longer", *["no difference shown"] * 2]
    assert found.device[0]["ratio"] == pytest.approx(12.5 / 12)
    assert found.status == 0, "the verdict rests on unprofiled times"
    assert "Device time is longer in 1 and shorter in 0 of 3 phases" in page(found)


def with_ledger(folder: Path, walls: list[int], active: int, causes: bool = True) -> Path:
    """Add a ledger whose idle time is of two causes, or of none."""
    rows = []
    for step, wall in enumerate(walls):
        row = Sample().front | {"phase": "forward", "step": step, "wall_ns": wall}
        idle = wall - active
        row |= {"device_active_ns": active, "busy_ns": active, "idle_ns": idle}
        tail = 1000 if causes else None
        row |= {"idle_launch_ns": idle - 1000 if causes else None, "idle_tail_ns": tail}
        rows.append(row)
    pd.DataFrame(rows).to_csv(folder / "tables" / "ledger.csv", index=False)
    return folder


@pytest.mark.parametrize("causes", [True, False])
def test_the_terms_of_the_ledger_add_up_to_the_change_of_the_step(
    tmp_path: Path, causes: bool
) -> None:
    a = with_ledger(run(tmp_path / "a", Sample()), [12_000_000, 12_000_100], 10_000_000)
    b = with_ledger(run(tmp_path / "b", Sample()), [15_000_000, 14_000_001], 11_000_000, causes)
    (row,) = ledger_changes(read_run(a), read_run(b), [Sample().front])
    assert row["change_ms"] == pytest.approx(2.4999505)
    assert sum(row["terms"].values()) == pytest.approx(row["change_ms"], abs=1e-9)
    names = {"idle_launch", "idle_tail"} if causes else {"idle"}
    assert row["terms"].keys() == {"device_active"} | names
    assert "+2.50" in page(compared(a, b))


def test_phases_that_ran_in_one_run_only(tmp_path: Path) -> None:
    a = run(tmp_path / "a", Sample(), seed=0)
    gone = Sample(status={"train_step": ("oom", "out of memory")})
    b = run(tmp_path / "b", gone, seed=1, phases=PHASES[:2])
    found = compared(a, b)
    assert found.status == 3
    assert found.said == (
        "Can't tell whether B is slower than A: small-ctx128-fp32 (training step) ran in A and "
        "not in B. As measured, in B no phase took more than 1 % longer or less."
    )
    assert re.search(r"\| training step +\| ok +\| oom", page(found)), "and not train_step"
    assert compared(b, a).status == 0, "what B gained is no reason to fail"


def test_one_name_for_two_models_is_not_compared(tmp_path: Path) -> None:
    for name, width in (("a", 128), ("b", 256)):
        folder = run(tmp_path / name, Sample())
        row = Sample().front | {"d_model": width, "warmup_steps": 5, "steps": 10}
        pd.DataFrame([row | {"capture_steps": 3}]).to_csv(folder / "plan.csv", index=False)
    found = compared(tmp_path / "a", tmp_path / "b")
    assert found.other_work == {"small-ctx128-fp32": "d_model is 128 in A and 256 in B"}
    assert found.times == [] and found.status == 3
    assert found.said == "Can't tell: no phase of a case has a time in both runs."
    assert "- small-ctx128-fp32: d_model is 128 in A and 256 in B" in page(found)


def test_a_cpu_and_a_gpu_have_no_kernels_in_common(tmp_path: Path) -> None:
    a, b = run(tmp_path / "a", Sample()), run(tmp_path / "b", Sample(device="cpu"))
    found = compared(a, b)
    assert len(found.times) == 3 and found.device == found.kernels == []
    assert "No phase was captured on the same kind of device in both runs." in page(found)


def test_runs_without_a_common_case_are_refused(tmp_path: Path) -> None:
    a, b = run(tmp_path / "a", Sample()), run(tmp_path / "b", Sample(context=256))
    with pytest.raises(StageError, match="no case in common"):
        compared(a, b)


@pytest.mark.parametrize(
    "phases",
    [
        None,
        {"forward": {"status": "ok"}},
        {"forward": {"status": "ok", "samples_ns": []}},
        {"forward": {"status": "ok", "samples_ns": [1, -1]}},
        {"forward": {"status": "ok", "samples_ns": [1, 2], "process": [0]}},
        {"backward": {"status": "ok", "samples_ns": [1]}},
    ],
)
def test_a_damaged_benchmark_is_one_sentence(tmp_path: Path, phases: Any) -> None:
    path = tmp_path / "b.json"
    path.write_text(json.dumps({"phases": phases}))
    with pytest.raises(StageError, match=r"b.json is not a benchmark's result"):
        read_samples(path)


def ended(main: Any, *given: object) -> tuple[Any, ...]:
    """The status that a command ends with."""
    try:
        main([str(word) for word in given])
    except SystemExit as end:
        return (end.code,)
    return (0,)


def written(folder: Path, a: Path, b: Path) -> Path:
    words = ("--a", a, "--b", b, "--templates", TEMPLATES, "--output", folder)
    assert ended(compare.main, *words) == (0,)
    return folder / "compare.json"


def test_the_gate_ends_with_the_verdict(tmp_path: Path) -> None:
    a = run(tmp_path / "a", Sample(), seed=0)
    same = run(tmp_path / "same", Sample(), seed=1)
    slow = run(tmp_path / "slow", Sample(), seed=1, scale=1.1)
    one = run(tmp_path / "one", Sample(), seed=1, processes=1)
    for other, status in ((same, 0), (slow, 1), (one, 3)):
        assert ended(gate.main, "--comparison", written(tmp_path / "o", a, other)) == (status,)


def test_whatever_prevents_a_verdict_ends_with_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And not with 1, with which other commands end: that is "slower"."""
    a, b = run(tmp_path / "a", Sample()), run(tmp_path / "b", Sample(context=256))
    words = ("--a", a, "--b", b, "--templates", TEMPLATES, "--output", tmp_path / "o")
    assert ended(compare.main, *words) == (2,)
    assert "no case in common" in capsys.readouterr().err
    (tmp_path / "x.json").write_text('{"status": 2, "verdict": ""}')
    assert ended(gate.main, "--comparison", tmp_path / "x.json") == (2,)
    assert ended(gate.main, "--comparison", tmp_path / "none.json") == (2,)
    monkeypatch.setattr(compare, "compare", lambda *_: 1 / 0)
    assert ended(compare.main, *words) == (2,)
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_the_page_and_the_tables_are_written(tmp_path: Path) -> None:
    a = run(tmp_path / "a", Sample(), seed=0)
    b = run(tmp_path / "b<&>", Sample(environment={"torch": "<b>2"}), seed=1, scale=1.1)
    written(tmp_path / "o", a, b)
    html = (tmp_path / "o" / "compare.html").read_text()
    assert "<b>2" not in html and "&lt;b&gt;2" in html and "://" not in html
    names = {path.name for path in (tmp_path / "o").iterdir()}
    tables = {"times.csv", "device_times.csv", "kernels.csv", "ledger.csv"}
    assert names == {"compare.md", "compare.html", "compare.json", *tables}
    times = pd.read_csv(tmp_path / "o" / "times.csv")
    assert list(times["verdict"]) == ["slower"] * 3


def test_published_runs_can_be_compared() -> None:
    h200 = ROOT / "examples" / "h200"
    found = compare.compare(read_run(h200), read_run(h200 / "memory-32gib"))
    assert found.status == 3 and len(found.cases) == 20
    assert {row["basis"] for row in found.times} == {"medians"}
    assert {row["verdict"] for row in found.device} == {"no difference shown"}
    assert page(found).startswith("# B compared with A\n")


def test_runs_are_read_without_a_plan(tmp_path: Path) -> None:
    found: Run = read_run(run(tmp_path / "a", Sample()))
    assert found.plan is None and found.samples == {}


@pytest.mark.workflow
def test_snakemake_compares_and_measures_nothing(project: Project) -> None:
    """Also a run that isn't the current one, and again only when its tables have changed."""
    (project.folder / "results" / "smoke").rename(project.folder / "results" / "before")
    target = "results/compare/results/before/with/results/before/compare.md"
    project.log.unlink(missing_ok=True)
    project.run(target)
    assert project.stages() == ["workflow_src.compare.compare"]
    assert project.stale(target) == {}
    project.edit("results/before/tables/timings.csv", "forward,ok", "forward,ok")
    assert project.stale(target) == {}
    with (project.folder / "results/before/tables/kernels.csv").open("a") as file:
        file.write("\n")
    assert project.stale(target) == {"compare": 1}
    printed = project.run(target.replace("before/c", "none/c"), check=False)
    assert "--b: 'results/none' does not exist" in printed and "double '/'" not in printed


@pytest.mark.workflow
def test_make_ends_with_error_2_where_runs_cannot_be_compared(project: Project) -> None:
    """And with the gate's status otherwise, so that Error 1 means "slower" alone."""
    shutil.copy(ROOT / "Makefile", project.folder)
    run(project.folder / "results" / "before", Sample(), seed=0)
    run(project.folder / "results" / "after", Sample(), seed=1, scale=1.1)

    def error(*given: str) -> list[str]:
        command = ["make", "-o", ".venv/installed", "compare", *given]
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        status, said = run_and_wait(command, project.folder, os.environ | {"PATH": path})
        assert status == 2, said
        return re.findall(r"compare\] Error (\d)", said)

    assert error("A=results/before") == ["2"], "an argument is missing"
    assert error("A=results/before", "B=results/none") == ["2"]
    assert error("A=results/before", "B=results/after") == ["1"]
    assert error("A=results/smoke", "B=results/smoke") == ["3"]
