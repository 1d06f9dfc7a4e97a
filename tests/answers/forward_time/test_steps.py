"""The mean and standard deviation of each phase, as an assignment asks for them."""

from pathlib import Path

import pandas as pd

from tests.answers.reading import printed, row_of
from tests.synthetic_tables import Sample, tables, write_tables
from tests.workflow import ROOT
from workflow_src.answers.answer import answer
from workflow_src.answers.forward_time.headline import headline
from workflow_src.answers.forward_time.result import result
from workflow_src.answers.forward_time.steps import steps
from workflow_src.answers.tables import Tables
from workflow_src.common.words import DASH
from workflow_src.tables.timings import timings

TEMPLATES = ROOT / "report_templates"
TIMES = ("timings", "ranges", "captures")
NAMES = (*TIMES, "kernels")


def table(tmp_path: Path, sample: Sample, **columns: object) -> pd.DataFrame:
    """The table of one case with an optimizer of 9 ms, and other cells in timings.csv."""
    frames = tables(sample)
    frames["timings"] = frames["timings"].assign(**columns)
    for name in NAMES:
        frames[name].to_csv(tmp_path / f"{name}.csv", index=False)
    return steps(Tables.read(tmp_path, NAMES))


def cells(found: pd.DataFrame) -> list[str]:
    """The one row as the report prints it."""
    return row_of(found.iloc[0])


def said_of_processes(tmp_path: Path) -> tuple[bool, bool]:
    """Whether (a) says that processes stand one by one, and what stands in brackets."""
    text = answer("a", result, headline).texts(Tables.read(tmp_path, NAMES), TEMPLATES).markdown
    return "one by one" in text, "in brackets stand" in text


def test_one_process_has_its_mean_and_deviation_beside_device_time(tmp_path: Path) -> None:
    """Steps of 12, 36 and 50 ms; the device works for 33 and 45: the optimizer takes 14."""
    busy = {"forward_backward": (37.0, 33.0, 36.0), "train_step": (51.0, 45.5, 50.0)}
    found = table(tmp_path, Sample(times_ms=Sample().times_ms | busy))
    assert cells(found)[1:] == [
        "10",
        "12.0 ± 0.10",
        "12.0",
        "36.0 ± 0.10",
        "33.0",
        "50.0 ± 0.10",
        "45.5",
        "14",
        "9.00",
    ]
    assert said_of_processes(tmp_path) == (False, False)


def test_a_phase_whose_clock_was_limited_is_marked_whichever_it_is(tmp_path: Path) -> None:
    found = table(tmp_path, Sample(), power_capped_share=[0.0, 0.0, 0.4])
    assert cells(found)[2:7:2] == ["12.0 ± 0.10", "36.0 ± 0.10", "50.0 ± 0.10§"]
    text = answer("a", result, headline).texts(Tables.read(tmp_path, NAMES), TEMPLATES).markdown
    assert "\n§ Power limited" in text


def test_several_processes_that_a_table_tells_apart_stand_one_by_one(tmp_path: Path) -> None:
    each = {"processes": 2, "process_means_ms": "10; 14.5", "process_stds_ms": "0.25; 3.2"}
    found = table(tmp_path, Sample(), **each)
    assert cells(found)[1:3] == ["2 x 5", "10.0 ± 0.25, 14.5 ± 3.2"]
    assert said_of_processes(tmp_path) == (True, False)


def test_the_optimizer_takes_what_a_step_takes_longer_within_each_process(tmp_path: Path) -> None:
    """20, 10 and 12 ms; of the means it were 14. Where one is below its device time, 9, it's noise;
    where the device waits, as it does in plain samples, it is the host's time, by any processes."""
    fills = {"forward_backward": (37.0, 33.0, 36.0), "train_step": (51.0, 45.5, 50.0)}

    def optimizer(steps: str, times: dict[str, tuple[float, float, float]]) -> str:
        means = {"process_means_ms": ["10; 10; 10", "30; 40; 38", steps], "processes": 3}
        sample = Sample(times_ms=Sample().times_ms | times)
        return cells(table(tmp_path, sample, **means, process_stds_ms="1; 1; 1"))[-2]

    assert optimizer("50; 50; 50", fills) == "12.0 (10.0 to 20.0)"
    assert optimizer("50; 48; 50", fills) == DASH
    assert optimizer("50; 50; 50", {}) == DASH
    assert cells(table(tmp_path, Sample()))[-2] == DASH


def test_of_older_tables_the_deviation_is_that_within_a_process(tmp_path: Path) -> None:
    """Pooled, it would be the difference between processes: 5 ms of 12; within them it is 2 %."""
    old = {"processes": 2, "std_ms": 5.0, "within_cv": 0.02, "fastest_ms": 8.0, "slowest_ms": 16.0}
    found = table(tmp_path, Sample(), **old)
    assert cells(found)[2] == "12.0 ± 0.24 (8.00 to 16.0)"
    assert said_of_processes(tmp_path) == (False, True)


def test_a_phase_without_times_says_why(tmp_path: Path) -> None:
    out = {"train_step": ("oom", "needs more memory")}
    assert cells(table(tmp_path, Sample(status=out)))[-4:] == ["OOM", DASH, DASH, DASH]


def test_a_benchmark_s_table_tells_its_processes_apart() -> None:
    """Two processes, of 1 and 3 ms and of 4 and 4 ms."""
    samples = [1_000_000, 3_000_000, 4_000_000, 4_000_000]
    phase = {"status": "ok", "reason": "", "samples_ns": samples, "process": [0, 0, 1, 1]}
    made: pd.DataFrame = timings({"phases": {"forward": phase | {"peak_memory_mib": 1.0}}})
    assert made.loc[0, ["process_means_ms", "process_stds_ms"]].tolist() == ["2; 4", "1.41421; 0"]


def test_what_replays_save_is_shown_by_case_where_any_was_measured(tmp_path: Path) -> None:
    """A replay takes 9 of 12 ms of plain time, of which the device works for 9."""
    sample = Sample(
        times_ms=Sample().times_ms | {"forward": (12.6, 9.0, 9.0)},
        replayed_ms={"forward": 9.0},
    )
    for name, samples in (("replayed", [sample]), ("not", [Sample()])):
        folder = write_tables(tmp_path / name, *samples)
        passes = result(Tables.read(folder, TIMES)).passes
        said = [printed(cell) for table in passes for cell in table.iloc[0, 1:]]
        assert said == ([f"{DASH} / +5 % / 25 %¹"] if name == "replayed" else [])
