"""The report: its chapters one after another, as text and as one page that needs no other file."""

import re
from pathlib import Path

import pytest

from tests.report.written import BLANK, TEMPLATES, assemble, blocks, chapters
from tests.synthetic_tables import Sample
from workflow_src.paper.written import Written


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Path], str, str, str]:
    """The paths of chapters, and the report of them."""
    folder = tmp_path_factory.mktemp("report")
    paths = chapters(folder, Sample(), Sample(context=256))
    return paths, *assemble(folder, paths, "--others", "profiler")


def test_the_text_is_the_chapters_one_after_another(made):
    paths, text, appendix, _ = made
    places = [text.index(path.read_text().strip()) for path in paths]
    assert places == sorted(places) and text.startswith("# ")
    assert text.index("## Companion studies") < text.index("### It takes 3.50 ms.")
    assert re.search(r"(?m)^\*\*\w.*\*\*$", text) and "not chosen: profiler" in text
    assert "(results/mine/appendix.md)" in text
    assert "## MLP: tables" in appendix and "| a | 3.50 |" in appendix


def test_the_page_holds_all_of_it_and_requests_nothing(made):
    paths, _, _, page = made
    for path in paths:
        assert f'id="{path.stem}"' in page
    assert page.count("<h1>") == 1
    bar = re.search(r"<nav.*?</nav>", page, re.S)[0]
    assert re.findall(r'href="#(\w+)"', bar) == [
        *("a", "b", "c", "d", "e", "f", "studies", "cases", "cards", "trust", "ran", "tables"),
    ]
    inward = set(re.findall(r'href="#([^"]+)"', page))
    assert inward <= set(re.findall(r'id="([^"]+)"', page))
    assert re.findall(r'(?:src|href)="(?!#)', page) == [] and "@import" not in page
    assert "default-src 'none'" in page and page.count("<script") == 2


def test_a_timeline_and_its_trace_stand_in_the_page(made, tmp_path):
    step = tmp_path / "small-ctx128-fp32.svg"
    step.write_text(BLANK)
    _, _, page = assemble(tmp_path, made[0], "--timelines", str(step))
    assert '<figure role="img" aria-label="Timeline of small-ctx128-fp32' in page
    assert f'href="{tmp_path}/small-ctx128-fp32.trace.json.gz" download' in page


def test_hostile_texts_of_chapters_stay_texts(tmp_path):
    bad = "<script>alert(1)</script>"
    shown = blocks(title="&lt;script&gt;alert(1)&lt;/script&gt;")
    Written("opening", blocks(title=shown["title"]), shown, {}, "", level="#").write(
        tmp_path, TEMPLATES
    )
    _, _, page = assemble(tmp_path, [tmp_path / "opening.md"])
    assert bad not in page and page.count("&lt;script&gt;alert(1)") == 3


@pytest.mark.parametrize("damage", ["{", '{"name": "a"}', None])
def test_a_damaged_chapter_ends_in_one_sentence(made, tmp_path, damage):
    copied = [tmp_path / path.name for path in made[0][0].parent.glob("a.*")]
    for path in copied:
        path.write_text((made[0][0].parent / path.name).read_text())
    (tmp_path / "a.html").unlink() if damage is None else (tmp_path / "a.json").write_text(damage)
    with pytest.raises(SystemExit) as ended:
        assemble(tmp_path, [tmp_path / "a.md"])
    assert str(tmp_path / ("a.html" if damage is None else "a.json")) in str(ended.value)
