"""Answer (a): how the forward pass was launched, and replays that other hosts made."""

from pathlib import Path

import pandas as pd
import pytest

from tests.questions import answer_question
from tests.synthetic_tables import Sample, write_tables
from tests.test_answer_a import ROOT, TEMPLATES, fact, timed

APART = "All other cases were measured on other kinds of hosts"


def launched(folder: Path, *samples: Sample) -> Path:
    """Tables in which each case's forward pass has 1,000 kernels, a tenth of them below 5 us."""
    write_tables(folder, *samples)
    rows = [
        sample.front
        | {"phase": "forward", "launches": 1100, "kernels": 1000, "kernels_under_5us": 100}
        | {"kernels_under_10us": 250, "delay_median_us": 2.5, "depth_median": 3.0}
        | {"depth_max": 9, "empty_queue_share": 0.75}
        for sample in samples
    ]
    pd.DataFrame(rows).to_csv(folder / "launches.csv", index=False)
    return folder


def test_short_kernels_and_the_queue_are_said_by_precision(tmp_path: Path) -> None:
    folder = launched(tmp_path, Sample(), Sample(precision="bf16"))
    answer, text = answer_question("a", folder, TEMPLATES)
    assert "**Its launches** in the capture" in text
    shown = text.split("**Its launches**")[1]
    line = next(line for line in shown.splitlines() if line.startswith("| bf16"))
    assert [cell.strip() for cell in line.strip("|").split("|")] == [
        "bf16",
        "1",
        "10.0 %",
        "25.0 %",
        "75.0 %",
        "3.00",
        "2.50",
    ]
    share = fact(answer, "empty_queue")
    assert (share.value, share.unit, share.table, share.rows) == (0.75, "1", "launches", (2,))


def with_idle_times(folder: Path, launch: float) -> Path:
    """Adds the idle time of each step in the ledger, of which `launch` is waiting for launches."""
    path = folder / "ledger.csv"
    ledger = pd.read_csv(path)
    waits = (launch * ledger["idle_ns"]).round()
    others = ("synchronization", "tail", "profiler", "unexplained")
    terms = {"idle_launch_ns": waits, "idle_queued_ns": ledger["idle_ns"] - waits}
    terms |= {f"idle_{each}_ns": 0 for each in others}
    ledger.assign(**terms).to_csv(path, index=False)
    return folder


def test_what_explains_a_table_comes_before_it_and_the_ledger_after_the_example(
    tmp_path: Path,
) -> None:
    samples = [
        timed(20.0, 3.0, 19.0, context=n, active_ms={"forward": 3.0}, replayed_ms={"forward": 4.0})
        for n in (128, 256)
    ]
    folder = with_idle_times(launched(tmp_path, *samples), 0.8)
    _, text = answer_question("a", folder, TEMPLATES)
    starts = ("**Launch-bound.**", "\n| ", "**By hand", "**The ledger**", "**Its launches**")
    places = [text.index(each) for each in starts]
    assert places == sorted(places)
    assert "median over the cases of their medians over the steps captured" in text


def test_where_the_gpu_worked_the_ledger_says_how_long_it_waits_in_the_capture(
    tmp_path: Path,
) -> None:
    """No cause is named: that the profiler slows the host isn't tested."""
    late = timed(20.0, 11.4, 19.0, active_ms={"forward": 10.0})
    folder = with_idle_times(write_tables(tmp_path, late), 0.5)
    _, text = answer_question("a", folder, TEMPLATES)
    assert "it waits for a launch for 25.0 % of the time. Why isn't shown: the profiler may" in text


def test_without_launches_and_on_a_cpu_nothing_is_said_of_them(tmp_path: Path) -> None:
    assert (
        "Its launches" not in answer_question("a", write_tables(tmp_path, Sample()), TEMPLATES)[1]
    )
    folder = launched(tmp_path, Sample(device="cpu"))
    assert "launches" not in answer_question("a", folder, TEMPLATES)[1].split("## Tables of")[0]


def on(context: int, cores: int, **others) -> Sample:
    return timed(20.0, 3.0, 19.0, context=context, environment={"cpu_cores": cores}, **others)


@pytest.mark.parametrize(("cores", "apart"), [(64, True), (16, False)])
def test_replays_made_on_other_hosts_than_all_estimates_are_told_apart(
    tmp_path: Path, cores: int, apart: bool
) -> None:
    """The shares that replays save and the estimates are then not of one host."""
    samples = [on(128, 16, replayed_ms={"forward": 4.0}), on(256, cores)]
    _, text = answer_question("a", write_tables(tmp_path, *samples), TEMPLATES)
    assert (APART in text) == apart


def test_all_published_forward_passes_are_replayed_so_that_none_is_estimated() -> None:
    folder = ROOT / "examples" / "h200" / "tables"
    timings = pd.read_csv(folder / "timings.csv").query("phase == 'forward'")
    assert len(timings) == 60 and (timings["replay_status"] == "ok").all()
    _, text = answer_question("a", folder, TEMPLATES)
    assert APART not in text and "launch-bound is an estimate" not in text
