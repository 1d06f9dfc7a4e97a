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
