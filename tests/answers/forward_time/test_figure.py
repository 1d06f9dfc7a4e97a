"""The figure of (a): what of it depends on the data."""

from pathlib import Path

import pytest

from tests.synthetic_tables import Sample, write_tables
from workflow_src.answers.figures import draw, read


def legend(folder: Path, *samples: Sample) -> set[str]:
    """The entries of the figure's legend."""
    figure = draw(read(write_tables(folder, *samples), "forward_time"), "forward_time")
    return {text.get_text() for text in figure.legends[0].get_texts()}


@pytest.mark.parametrize(("device", "there"), [("cuda", True), ("cpu", False)])
def test_a_gpus_work_is_a_dashed_line(tmp_path: Path, device: str, there: bool) -> None:
    found = legend(tmp_path, Sample(device=device), Sample(context=256, device=device))
    assert ("device time" in found) is there


def test_a_case_whose_processes_differ_has_a_hollow_marker(tmp_path: Path) -> None:
    assert not [each for each in legend(tmp_path, Sample()) if "hollow" in each]
    tables = write_tables(tmp_path, Sample())
    timings = (tables / "timings.csv").read_text().splitlines()
    rows = [
        f"{row},{end}"
        for row, end in zip(
            timings, ["processes,fastest_ms,slowest_ms"] + 3 * ["2,10,12"], strict=True
        )
    ]
    (tables / "timings.csv").write_text("\n".join(rows))
    figure = draw(read(tables, "forward_time"), "forward_time")
    assert [text for text in figure.legends[0].get_texts() if "hollow" in text.get_text()]
