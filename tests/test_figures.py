"""The report's figures: reproducible, labeled where data is missing, and safe with odd names."""

import re
import sys
import xml.etree.ElementTree as ET

import pytest

from tests.synthetic_tables import FORWARD, Sample, grid, write_tables
from tests.test_answer_a import timed
from tests.test_answer_a_hosts import on
from workflow_src.answers import component_figure, figures, share_bars
from workflow_src.answers.evidence import of, read_table
from workflow_src.answers.questions import FIGURES
from workflow_src.render.html import inline_figures

OOM = {"train_step": ("oom", "CUDA out of memory")}


@pytest.fixture
def draw(tmp_path, monkeypatch):
    def drawn(name: str, *samples: Sample) -> str:
        output = tmp_path / "made" / f"{name}.svg"
        tables = write_tables(tmp_path / "tables", *samples)
        arguments = ["--tables", str(tables), "--figure", name, "--output", str(output)]
        monkeypatch.setattr(sys, "argv", ["figures", *arguments])
        figures.main()
        return output.read_text()

    return drawn


def texts(svg: str) -> list[str]:
    return [node.text for node in ET.fromstring(svg).iter() if node.tag.endswith("text")]


@pytest.mark.parametrize("name", FIGURES)
def test_the_same_tables_give_the_same_bytes(draw, name):
    samples = grid(2, 2, 2)
    first = draw(name, *samples)
    assert first == draw(name, *samples)
    assert "dc:date" not in first


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_without_data_says_so(draw, name):
    (said,) = texts(draw(name, Sample(kernels={}, benchmarked=False)))
    assert "measured" in said


@pytest.mark.parametrize("name", FIGURES)
def test_a_large_suite_has_a_panel_per_precision(draw, name):
    said = texts(draw(name, *grid()))
    for precision in ("fp32", "tf32", "bf16"):
        assert [text for text in said if precision in text]
    assert said.count("large") == 1 or name.endswith("_shares")


def test_missing_bars_say_why(draw):
    said = texts(draw("family_shares", Sample(status=OOM), Sample(context=256, captured=False)))
    assert said.count("OOM") == 1
    assert said.count("not measured") == 3


def test_families_without_a_color_are_shown_as_one(draw):
    loose = ("forward", "x", "communication", 1, 1_000_000)
    said = texts(draw("family_shares", Sample(kernels={"forward": [*FORWARD, loose]})))
    assert "other families" in said
    assert "communication" not in said


def test_shares_of_all_shown_parts_add_up_to_one():
    row = {"shares": {"gemm": 0.5, "fill": 0.2, "random": 0.3}}
    (found,) = share_bars.together([row], ["gemm"], "others")
    assert found["shares"] == {"gemm": 0.5, "others": pytest.approx(0.5)}
    assert list(share_bars.shown([found], {"softmax": "red", "gemm": "blue"})) == ["gemm", "others"]


def test_components_besides_products_and_the_products_add_up_to_the_pass(tmp_path):
    kernels = read_table(write_tables(tmp_path, Sample()), "kernels")
    found = component_figure.shares(of(kernels, Sample().case, "forward"))
    assert sum(found.values()) == pytest.approx(1.0)
    gemm = sum(ns for _, _, family, _, ns in FORWARD if family == "gemm")
    assert found["matrix multiplication"] == pytest.approx(gemm / sum(row[4] for row in FORWARD))


def test_small_components_are_shown_with_the_others():
    rows = [{"shares": {"softmax": 0.019, "norms": share}} for share in (0.0, 0.02)]
    assert component_figure.large(rows) == ["norms"]


def test_a_case_on_another_or_a_slower_host_has_a_hollow_marker(draw):
    alike = draw("forward_time", on(128, 64, 4.0), on(256, 64, 4.3))
    assert not [text for text in texts(alike) if "hollow" in text]
    for other in (on(256, 16, 4.0), on(256, 64, 4.5)):
        said = texts(draw("forward_time", on(128, 64, 4.0), other, on(512, 64, 4.0)))
        assert [text for text in said if "hollow" in text]
        assert "a slower host" in said
    few = draw("forward_time", on(128, 64, 4.0), on(256, 64, 4.5), on(512, 64, 4.6))
    assert "a faster host" in texts(few)


def test_the_gpus_work_is_a_dashed_line_below_the_time(draw):
    """12 and 24 ms, of which the GPU works for 3 and 6; on a CPU there is no such line."""
    slow = timed(40.0, 6.0, 39.0, context=256)
    svg = draw("forward_time", timed(20.0, 3.0, 19.0), slow)
    dashed = re.findall(r'<path d="M ([\d.]+) ([\d.]+)\s+L [^"]*"[^>]*stroke-dasharray', svg)
    assert len(dashed) == 2, "the line, and its entry in the legend"
    assert "of that, the GPU works" in texts(svg)
    on_cpu = draw("forward_time", timed(20.0, 3.0, 19.0, device="cpu"))
    assert "of that, the GPU works" not in texts(on_cpu)


def test_names_with_markup_stay_text(draw):
    said = texts(draw("forward_time", Sample(size="<script>$x$")))
    assert "<script>$x$" in said


@pytest.mark.parametrize("name", FIGURES)
def test_in_a_page_a_figure_is_the_same_in_fewer_bytes(draw, tmp_path, name):
    """Coordinates there are rounded to hundredths of a point, and nothing else is lost."""
    file = draw(name, *grid(2, 2, 2))
    page = inline_figures(f'<img alt="shares" src="made/{name}.svg" />', tmp_path)
    inline = page[page.index("<svg") : page.index("</svg>") + 6]
    assert len(inline) < 0.85 * len(file)
    assert texts(inline) == texts(file)
    before, after = (
        [node.attrib.get("d", "") for node in ET.fromstring(svg).iter()] for svg in (file, inline)
    )
    assert len(before) == len(after)
    for exact, rounded in zip(before, after, strict=True):
        numbers = [[float(n) for n in re.findall(r"-?[\d.]+", each)] for each in (exact, rounded)]
        assert numbers[1] == pytest.approx(numbers[0], abs=0.0051)
