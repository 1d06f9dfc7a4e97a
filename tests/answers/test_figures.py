"""The report's figures: reproducible, drawn from any run, and safe with odd names."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from unittest.mock import patch

import matplotlib.pyplot as plt
import pytest
from matplotlib.figure import Figure

from tests.answers.chapters import chapter, facts, facts_of
from tests.synthetic_tables import Sample, grid, write_tables
from workflow_src.common.case import PHASES
from workflow_src.paper.html import inlined
from workflow_src.paper.written import EMPTY

DRAWN = ("a", "c", "d", "e")


def draw(folder: Path, question: str, *samples: Sample) -> str:
    """The figure of an answer as its command writes it."""
    picture = folder / "made" / f"{question}.svg"
    assert chapter(question, write_tables(folder / "tables", *samples), picture).verdict != "failed"
    return picture.read_text()


def drawn(folder: Path, question: str, *samples: Sample) -> Figure:
    """The same as matplotlib has it, of samples or of the tables that are there."""
    said = facts(question, folder, *samples) if samples else facts_of(question, folder)
    figure: Figure = said["figure"].draw()
    plt.close(figure)
    return figure


def texts(svg: str) -> list[str]:
    """The texts in a figure."""
    nodes = ET.fromstring(svg).iter()
    return [str(node.text) for node in nodes if node.tag.endswith("text")]


@pytest.mark.parametrize("question", DRAWN)
def test_a_suite_has_a_panel_per_precision_and_the_same_bytes_each_time(
    tmp_path: Path, question: str
) -> None:
    samples = grid(1, 1, 3)
    first = draw(tmp_path, question, *samples)
    if question == "a":
        assert first == draw(tmp_path, question, *samples)
    assert "dc:date" not in first
    for precision in ("fp32", "tf32", "bf16"):
        assert [text for text in texts(first) if precision in text]
    same_in_fewer_bytes(first, inlined(first, question))


def same_in_fewer_bytes(file: str, inline: str) -> None:
    """Coordinates in a page are rounded to hundredths of a point, and nothing else is lost."""
    assert len(inline) < 0.7 * len(file)
    assert texts(inline) == texts(file)
    before, after = (
        [node.attrib["d"] for node in ET.fromstring(svg).iter() if "d" in node.attrib]
        for svg in (file, inline)
    )
    for exact, rounded in zip(before, after, strict=True):
        numbers = [[float(n) for n in re.findall(r"-?[\d.]+", each)] for each in (exact, rounded)]
        assert numbers[1] == pytest.approx(numbers[0], abs=0.0051)


def test_answers_without_a_figure_draw_nothing(tmp_path: Path) -> None:
    assert draw(tmp_path, "b", Sample()) == EMPTY


@pytest.mark.parametrize("question", DRAWN)
def test_a_figure_without_data_says_so(tmp_path: Path, question: str) -> None:
    (said,) = texts(draw(tmp_path, question, Sample(kernels={}, benchmarked=False)))
    assert "measured" in said


def test_panels_of_a_single_context_show_its_points(tmp_path: Path) -> None:
    """Limits that matplotlib chose around one value left points out of panels that share them."""
    samples = [Sample(precision=each) for each in ("fp32", "tf32", "bf16")]
    for axes in drawn(tmp_path, "a", *samples).axes:
        low, high = axes.get_xlim()
        assert low < 0.6 * samples[0].context and high > 1.5 * samples[0].context


@pytest.mark.parametrize(("device", "there"), [("cuda", True), ("cpu", False)])
def test_a_gpus_work_is_a_dashed_line(tmp_path: Path, device: str, there: bool) -> None:
    figure = drawn(tmp_path, "a", Sample(device=device), Sample(context=256, device=device))
    assert ("device time" in {text.get_text() for text in figure.legends[0].get_texts()}) is there


def test_bars_of_several_processes_go_from_the_fastest_to_the_slowest(tmp_path: Path) -> None:
    tables = write_tables(tmp_path, Sample(median_ms=dict.fromkeys(PHASES, 11.0)))
    timings = (tables / "timings.csv").read_text().splitlines()
    ends = ["processes,fastest_ms,slowest_ms", *3 * ["2,10,14"]]
    rows = [f"{row},{end}" for row, end in zip(timings, ends, strict=True)]
    (tables / "timings.csv").write_text("\n".join(rows))
    (bar,) = drawn(tmp_path, "a").axes[0].containers[0].lines[2][0].get_segments()
    assert sorted(bar[:, 1]) == [10.0, 14.0]


def test_a_defect_while_drawing_ends_no_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with patch("workflow_src.paper.figures._panel", side_effect=ZeroDivisionError):
        (said,) = texts(draw(tmp_path, "a", Sample()))
    assert "chapter_a could not be drawn" in said
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_names_with_markup_stay_text(tmp_path: Path) -> None:
    assert "<script>$x$" in texts(draw(tmp_path, "a", Sample(size="<script>$x$")))
