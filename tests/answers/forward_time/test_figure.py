"""The figure of (a): what of it depends on the data."""

from pathlib import Path

import pytest

from tests.synthetic_tables import Sample, write_tables
from workflow_src.answers.figures import draw, read
from workflow_src.common.case import PHASES


def legend(folder: Path, *samples: Sample) -> set[str]:
    """The entries of the figure's legend."""
    figure = draw(read(write_tables(folder, *samples), "forward_time"), "forward_time")
    return {text.get_text() for text in figure.legends[0].get_texts()}


@pytest.mark.parametrize(("device", "there"), [("cuda", True), ("cpu", False)])
def test_a_gpus_work_is_a_dashed_line(tmp_path: Path, device: str, there: bool) -> None:
    found = legend(tmp_path, Sample(device=device), Sample(context=256, device=device))
    assert ("device time" in found) is there


def test_bars_of_several_processes_go_from_the_fastest_to_the_slowest(tmp_path: Path) -> None:
    tables = write_tables(tmp_path, Sample(median_ms=dict.fromkeys(PHASES, 11.0)))
    timings = (tables / "timings.csv").read_text().splitlines()
    ends = ["processes,fastest_ms,slowest_ms", *3 * ["2,10,14"]]
    rows = [f"{row},{end}" for row, end in zip(timings, ends, strict=True)]
    (tables / "timings.csv").write_text("\n".join(rows))
    drawn = draw(read(tables, "forward_time"), "forward_time")
    (bar,) = drawn.axes[0].containers[0].lines[2][0].get_segments()
    assert sorted(bar[:, 1]) == [10.0, 14.0]
