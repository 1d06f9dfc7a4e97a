"""The report: its chapters one after another, as text, as one page that needs no other file, and as
a summary for programs, which says what the chapters say, with the same rows."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.answers.chapters import TEMPLATES
from tests.report.written import assemble, blocks, chapters
from tests.synthetic_tables import Sample
from workflow_src.paper.written import Written

LOST = Sample(context=256, status={"train_step": ("oom", "CUDA out of memory")})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Path], str, str, str]:
    """The paths of chapters, and the report of them, with a summary beside their tables."""
    folder = tmp_path_factory.mktemp("report")
    paths = chapters(folder, Sample(), LOST)
    summary = str(folder / "summary.json")
    return paths, *assemble(folder, paths, "--others", "warmup", "--summary", summary)


@pytest.fixture
def summary(made: tuple[list[Path], str, str, str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((made[0][0].parents[1] / "summary.json").read_text())
    return found


def test_the_text_is_the_chapters_one_after_another(made):
    paths, text, appendix, _ = made
    places = [text.index(path.read_text().strip()) for path in paths]
    assert places == sorted(places) and text.startswith("# ")
    assert text.index("## Companion studies") < text.index("### It takes 3.50 ms.")
    assert re.search(r"(?m)^\*\*\w.*\*\*$", text) and "not chosen: warmup" in text
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


def test_the_summary_has_the_headline_and_the_numbers_of_each_question(summary):
    assert (summary["schema"], summary["kind"]) == (1, "run")
    assert "2 cases" in summary["says"][0] and len(summary["says"]) == 2
    named = {each["name"]: each for each in summary["questions"]}
    assert [*"abcdef"] == [*named][:6]
    labels = {each["label"]: each for each in named["a"]["numbers"]}
    works = labels["(a) forward: device time / unprofiled time"]
    assert (works["text"], works["unit"], works["precision"]) == ("83 %", "share", "fp32")
    assert "timings.csv:" in works["rows"] and labels["headline"]["value"] >= 0
    assert "interval" not in works, "a median has no ends"


def test_the_summary_has_the_times_of_each_case_and_why_one_has_none(summary):
    rows = {(each["case"], each["phase"]): each for each in summary["cases"]}
    first, lost = rows[Sample().case, "forward"], rows[LOST.case, "train_step"]
    assert first["status"] == "ok" and first["unprofiled_ms"]["value"] == 12
    assert first["device_ms"]["interval"] == [12, 12] and first["joules"] is None
    assert (lost["status"], lost["unprofiled_ms"]) == ("oom", None)
    why = [each for each in summary["unknown"] if each.get("phase") == "train_step"]
    assert {"case": LOST.case, "phase": "train_step", "what": "unprofiled time",
            "why": "CUDA out of memory"} in why  # fmt: skip
    assert summary["settings"]["steps"] == ["10"]
