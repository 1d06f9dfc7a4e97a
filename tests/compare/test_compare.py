"""Comparing two runs: verdicts, the page, and the gate."""

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.answers.subsets import subset
from tests.answers.subsets import written as written_tables
from tests.answers.test_any_subset import check
from tests.golden import same_as_before
from tests.synthetic_tables import Sample, write_tables
from tests.workflow import ROOT, make_project, run_and_wait
from workflow_src.common.errors import StageError
from workflow_src.compare import compare, gate
from workflow_src.compare.change import PLAIN_BEYOND, Kind
from workflow_src.compare.compare import compare as compare_runs
from workflow_src.compare.page import Compared
from workflow_src.compare.plain import Why
from workflow_src.compare.runs import read_run
from workflow_src.compare.statistics import interval, resampled_ratios

TEMPLATES = ROOT / "report_templates"
RECORDED = ROOT / "tests" / "data" / "compare"
PHASES = ("forward", "forward_backward", "train_step")
DEVICE_BOUND = {
    "forward": (12.6, 11.9),
    "forward_backward": (37.0, 35.5),
    "train_step": (51.0, 49.5),
}
"""Times (ms) of a case whose device works for nearly all of the plain time."""


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


def compared(a: Path, b: Path, threshold: float = PLAIN_BEYOND) -> Compared:
    return compare_runs(read_run(a), read_run(b), threshold)


def times(found: Compared, kind: Kind = Kind.PLAIN) -> pd.DataFrame:
    rows = found.tables["times"]
    return rows[rows["kind"] == kind].set_index("phase")


def verdict(found: Compared) -> tuple[str, int]:
    name = found.facts["verdict"]
    return name, gate.STATUSES[name]


def test_a_slowdown_is_found_with_its_ratio(tmp_path: Path) -> None:
    a = run(tmp_path / "a", Sample(), seed=0)
    b = run(tmp_path / "b", Sample(), seed=1, scale=1.03)
    slower = compared(a, b)
    found = times(slower)
    assert verdict(slower) == ("slower", 1) and list(found["verdict"]) == ["slower"] * 3
    assert ((found["low"] < 1.03) & (found["high"] > 1.03)).all()
    assert list(found["ratio"]) == pytest.approx([1.03] * 3, abs=0.01)
    assert verdict(compared(b, a)) == ("faster", 0)
    assert verdict(compared(a, b, threshold=0.05))[1] == 0, "within the threshold"


def test_the_bootstrap_draws_processes_and_not_steps(tmp_path: Path) -> None:
    """A ratio's interval is as wide as processes differ, however many steps each has."""
    a = run(tmp_path / "a", Sample(), seed=0, spread=0.08)
    b = run(tmp_path / "b", Sample(), seed=1, spread=0.08)
    found, case = times(compared(a, b)).loc["forward"], "small-ctx128-fp32"
    ours, theirs = (read_run(each).plain.loc[(case, "forward"), "samples"] for each in (a, b))
    assert len(ours) == 10
    assert (found["low"], found["high"]) == interval(resampled_ratios(ours, theirs, case))
    assert found["high"] - found["low"] > 0.1
    assert (found["verdict"], found["why"]) == ("can't tell", Why.SPREAD)


@pytest.mark.parametrize(("processes", "why"), [(1, Why.ONE), (6, Why.FEW)])
def test_too_few_processes_tell_nothing_of_plain_time(
    tmp_path: Path, processes: int, why: Why
) -> None:
    """But device time does: it is the same."""
    a = run(tmp_path / "a", Sample(), seed=0, processes=processes)
    b = run(tmp_path / "b", Sample(), seed=1, processes=processes, scale=1.5)
    found = compared(a, b)
    assert set(times(found)["why"]) == {why} and found.said["processes_needed"] == 7
    assert verdict(found) == ("same work", 0)
    cpu = [run(tmp_path / n, Sample(device="cpu"), seed=0, processes=processes) for n in "cd"]
    assert verdict(compared(*cpu)) == ("can't tell", 3)


def test_of_tables_alone_plain_times_and_replays_tell_nothing(tmp_path: Path) -> None:
    found = compared(run(tmp_path / "a", Sample(), seed=0), run(tmp_path / "b", Sample()))
    assert set(times(found)["why"]) == {Why.NONE} and not len(times(found, Kind.REPLAY))
    assert verdict(found) == ("same work", 0), "device time decides"


def host(us: float, after: float | None = None) -> dict[str, float]:
    return {"host_launch_us_before": us, "host_launch_us_after": us if after is None else after}


def test_a_host_that_changed_silences_only_what_it_decides(tmp_path: Path) -> None:
    for ms, silenced in ((DEVICE_BOUND, False), (Sample().times_ms, True)):
        a, b = tmp_path / f"a{silenced}", tmp_path / f"b{silenced}"
        run(a, Sample(environment=host(3.0, 6.0), times_ms=ms), seed=0)
        run(b, Sample(environment=host(3.0), times_ms=ms), seed=1, scale=1.03)
        found = times(compared(a, b))
        assert (Why.HOST in set(found["why"][1:])) is silenced
        assert found["verdict"].iloc[0] == "slower", "its device works for all of the pass"


def test_a_shared_device_leaves_all_plain_times_in_doubt(tmp_path: Path) -> None:
    for place, seen in enumerate(({"other_processes_before": 2}, {"throttled": "power cap"})):
        shared = Sample(environment=seen, times_ms=DEVICE_BOUND)
        a = run(tmp_path / f"a{place}", shared, seed=0)
        b = run(tmp_path / f"b{place}", Sample(), seed=1, scale=1.5)
        assert set(times(compared(a, b))["why"]) == {Why.DEVICE}


def test_the_recorded_h100_runs_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both pairs were "can't tell", because the host's speed changed (see its README)."""
    monkeypatch.chdir(RECORDED)
    a, again, more = map(Path, ("A", "A2", "B"))
    found = compared(a, more)
    assert verdict(found) == ("slower", 1)
    assert list(times(found, Kind.DEVICE)["verdict"]) == ["slower"] * 6
    kernel = found.tables["kernels"].iloc[0]
    assert "sin" in kernel["short_name"] and kernel["kind"] == "appeared"
    for name, pair in (("A A2", (a, again)), ("A B", (a, more)), ("B A", (more, a))):
        said = written(tmp_path, *pair)["verdict"]
        same_as_before("compare", name, said, (tmp_path / "compare.md").read_text())


def written(folder: Path, a: Path, b: Path) -> dict[str, Any]:
    words = ("--a", a, "--b", b, "--templates", TEMPLATES, "--output", folder)
    assert ended(compare.main, *words) == (0,)
    found: dict[str, Any] = json.loads((folder / "compare.json").read_text())
    return found


def ended(main: Any, *given: object) -> tuple[Any, ...]:
    try:
        main([str(word) for word in given])
    except SystemExit as end:
        return (end.code,)
    return (0,)


def test_phases_that_ran_in_one_run_only(tmp_path: Path) -> None:
    a = run(tmp_path / "a", Sample(), seed=0)
    gone = Sample(status={"train_step": ("oom", "out of memory")})
    b = run(tmp_path / "b", gone, seed=1, phases=PHASES[:2])
    assert verdict(compared(a, b)) == ("lost", 3)
    assert verdict(compared(b, a))[1] == 0, "what B gained is no reason to fail"


def test_one_name_for_two_models_is_not_compared(tmp_path: Path) -> None:
    for name, width in (("a", 128), ("b", 256)):
        folder = run(tmp_path / name, Sample())
        row = Sample().front | {"d_model": width, "warmup_steps": 5, "steps": 10}
        pd.DataFrame([row | {"capture_steps": 3}]).to_csv(folder / "plan.csv", index=False)
    found = compared(tmp_path / "a", tmp_path / "b")
    (other,) = found.said["other_work"].to_numpy().tolist()
    assert other == ["small-ctx128-fp32", "d_model", "128", "256"]
    assert verdict(found) == ("nothing", 3)


def test_a_run_of_which_kernels_are_missing_is_refused(tmp_path: Path) -> None:
    """Their steps are all there, so that no difference would be seen."""
    path = run(tmp_path, Sample()) / "tables" / "kernels.csv"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[::2]))
    with pytest.raises(StageError, match=r"kernels.csv: kernels of small-ctx128-fp32 take \d+ ns"):
        read_run(tmp_path)


def test_whatever_prevents_a_verdict_ends_with_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And not with 1, with which other commands end: that is "slower"."""
    a, b = run(tmp_path / "a", Sample()), run(tmp_path / "b", Sample(context=256))
    words = ("--a", a, "--b", b, "--templates", TEMPLATES, "--output", tmp_path / "o")
    assert ended(compare.main, *words) == (2,)
    assert "no case in common" in capsys.readouterr().err
    (tmp_path / "x.json").write_text('{"status": 2, "headline": ""}')
    assert ended(gate.main, "--comparison", tmp_path / "x.json") == (2,)
    monkeypatch.setattr(compare, "compare", lambda *_: 1 / 0)
    assert ended(compare.main, *words) == (2,)
    assert "ZeroDivisionError" in capsys.readouterr().err


@pytest.mark.parametrize("seed", [3, 5, 10, 26])
def test_any_part_of_two_runs_is_compared(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, number in (("a", 2 * seed), ("b", 2 * seed + 1)):
        folder = written_tables(subset(number), Path(name, "tables"))
        # Its times are scaled, by other factors than those of its kernels.
        (folder / "captures.csv").unlink(missing_ok=True)
    said = written(Path("o"), Path("a"), Path("b"))
    text = Path("o/compare.md").read_text()
    check(text)
    same_as_before("compare", seed, said["verdict"], text)


@pytest.mark.workflow
def test_runs_are_compared_without_measuring_and_make_ends_with_the_gates_error(
    tmp_path: Path,
) -> None:
    """Again only when tables have changed; Error 1 means "slower" alone."""
    project = make_project(tmp_path)
    for name, number in (("before", 0), ("after", 1)):
        run(tmp_path / "results" / name, Sample(), seed=number, scale=1 + number / 10)
    target = "results/compare/results/before/with/results/before/compare.md"
    project.run(target)
    assert project.stages() == ["workflow_src.compare.compare"]
    project.edit("results/before/tables/timings.csv", "forward,ok", "forward,ok")
    assert project.stale(target) == {}
    with (project.folder / "results/before/tables/kernels.csv").open("a") as file:
        file.write("\n")
    assert project.stale(target) == {"compare": 1}
    printed = project.run(target.replace("before/c", "none/c"), check=False)
    assert "--b: there is no folder 'results/none'" in printed and "double '/'" not in printed
    shutil.copy(ROOT / "Makefile", project.folder)

    def error(*given: str) -> list[str]:
        command = ["make", "-o", ".venv/installed", "compare", *given]
        environment = os.environ | project.serve_snakemake()
        status, said = run_and_wait(command, project.folder, environment)
        assert status == 2, said
        return re.findall(r"compare\] Error (\d)", said)

    assert error("A=results/before") == ["2"], "an argument is missing"
    assert error("A=results/before", "B=results/after") == ["1"]
