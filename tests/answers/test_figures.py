"""The report's figures: reproducible, drawn from any run, and safe with odd names."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.answers.chapters import chapter, run_of
from tests.synthetic_tables import Sample, grid, write_tables
from workflow_src.paper.figures import apart
from workflow_src.paper.html import inlined

DRAWN = ("a", "c", "d", "e")


def draw(folder: Path, question: str, *samples: Sample) -> str:
    picture = folder / "made" / f"{question}.svg"
    run = run_of(question, write_tables(folder / "tables", *samples))
    assert chapter(question, run, picture).verdict != "failed"
    return picture.read_text()


def texts(svg: str) -> list[str]:
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


@pytest.mark.parametrize("question", DRAWN)
def test_a_figure_without_data_says_so(tmp_path: Path, question: str) -> None:
    (said,) = texts(draw(tmp_path, question, Sample(kernels={}, benchmarked=False)))
    assert "measured" in said


def test_a_defect_while_drawing_ends_no_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with patch("workflow_src.paper.figures._panel", side_effect=ZeroDivisionError):
        (said,) = texts(draw(tmp_path, "a", Sample()))
    assert "chapter_a could not be drawn" in said
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_names_with_markup_stay_text(tmp_path: Path) -> None:
    assert "<script>$x$" in texts(draw(tmp_path, "a", Sample(size="<script>$x$")))


def test_ticks_of_a_logarithmic_axis_are_apart() -> None:
    assert apart([256, 128, 512]) == [128, 256, 512] and apart([]) == []
    assert apart([10, 500, 520, 530, 1000]) == [10, 500, 1000]
