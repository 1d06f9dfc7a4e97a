"""The report's figures: reproducible, drawn from any run, and safe with odd names."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from tests.answers.subsets import subset
from tests.synthetic_tables import Sample, grid, write_tables
from workflow_src.answers import figures
from workflow_src.answers.forward_time.figure import draw as draw_forward_time
from workflow_src.answers.questions import FIGURES
from workflow_src.paper.html import inline_figures


def draw(folder: Path, name: str, *samples: Sample) -> str:
    """The figure as its command writes it."""
    output = folder / "made" / f"{name}.svg"
    tables = write_tables(folder / "tables", *samples)
    figures.main(["--tables", str(tables), "--figure", name, "--output", str(output)])
    return output.read_text()


def texts(svg: str) -> list[str]:
    """The texts in a figure."""
    nodes = ET.fromstring(svg).iter()
    return [str(node.text) for node in nodes if node.tag.endswith("text")]


@pytest.mark.parametrize("name", FIGURES)
def test_a_suite_has_a_panel_per_precision_and_the_same_bytes_each_time(
    tmp_path: Path, name: str
) -> None:
    samples = grid(1, 1, 3)
    first = draw(tmp_path, name, *samples)
    if name == next(iter(FIGURES)):
        assert first == draw(tmp_path, name, *samples)
    assert "dc:date" not in first
    for precision in ("fp32", "tf32", "bf16"):
        assert [text for text in texts(first) if precision in text]
    page = inline_figures(f'<img alt="shares" src="made/{name}.svg" />', tmp_path)
    same_in_fewer_bytes(first, page[page.index("<svg") : page.index("</svg>") + 6])


def same_in_fewer_bytes(file: str, inline: str) -> None:
    """Coordinates in a page are rounded to hundredths of a point, and nothing else is lost."""
    assert len(inline) < 0.85 * len(file)
    assert texts(inline) == texts(file)
    before, after = (
        [node.attrib.get("d", "") for node in ET.fromstring(svg).iter()] for svg in (file, inline)
    )
    for exact, rounded in zip(before, after, strict=True):
        numbers = [[float(n) for n in re.findall(r"-?[\d.]+", each)] for each in (exact, rounded)]
        assert numbers[1] == pytest.approx(numbers[0], abs=0.0051)


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_without_data_says_so(tmp_path: Path, name: str) -> None:
    (said,) = texts(draw(tmp_path, name, Sample(kernels={}, benchmarked=False)))
    assert "measured" in said


def test_panels_of_a_single_context_show_its_points(tmp_path: Path) -> None:
    """Limits that matplotlib chose around one value left points out of panels that share them."""
    samples = [Sample(precision=each) for each in ("fp32", "tf32", "bf16")]
    drawn = draw_forward_time(figures.read(write_tables(tmp_path, *samples), "forward_time"))
    for axes in drawn.axes:
        low, high = axes.get_xlim()
        assert low < 0.6 * samples[0].context and high > 1.5 * samples[0].context
    plt.close(drawn)


@pytest.mark.parametrize("name", FIGURES)
def test_any_subset_of_a_run_is_drawn(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert figures.figure(subset(1), name, "log").endswith("</svg>\n")
    assert not capsys.readouterr().err


def test_a_defect_while_drawing_ends_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(figures, "draw", lambda tables, name: 1 / 0)
    (said,) = texts(draw(tmp_path, "forward_time", Sample()))
    assert "forward_time could not be drawn" in said
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_a_damaged_table_ends_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "timings.csv").write_text("a\n1\n")
    with pytest.raises(SystemExit, match="no column"):
        figures.main(["--tables", str(tmp_path), "--figure", "forward_time", "--output", "x.svg"])


def test_names_with_markup_stay_text(tmp_path: Path) -> None:
    assert "<script>$x$" in texts(draw(tmp_path, "forward_time", Sample(size="<script>$x$")))
