"""Chapters of one function and one template: published tables, any subset, and defects."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from tests.examples import seeds
from tests.golden import same_as_before
from tests.published import published
from tests.studies.chapters import TEMPLATES, WRITTEN, chapter, run_of
from tests.studies.subsets import recorded, subset
from workflow_src.paper.run import Run
from workflow_src.paper.written import write


@pytest.mark.parametrize("study", WRITTEN)
def test_any_subset_of_a_table_gives_a_chapter_and_a_figure(study: str, tmp_path: Path) -> None:
    for seed in seeds(range(3)):
        ceilings = recorded("ceilings") if seed else None
        made = chapter(study, run_of(study, subset(seed, study), ceilings), tmp_path / "f.svg")
        same_as_before(study, seed, made.verdict, *made.markdown.values())
        assert made.verdict != "failed" and "<svg" in (tmp_path / "f.svg").read_text()
        assert "nan" not in " ".join(made.markdown.values()).lower().split()


@pytest.mark.parametrize("study", WRITTEN)
def test_a_published_chapter_is_written_again_and_its_numbers_lead_to_lines(
    study: str, tmp_path: Path
) -> None:
    """Every paragraph and table of the published report and its appendix, to the letter.

    On the page the same numbers stand, each with lines that are there.
    """
    folder = published("h200")
    run = Run.of(folder / "tables")
    made = chapter(study, run)
    said = "".join((folder / name).read_text() for name in ("report.md", "appendix.md"))
    numbers = r"\d[\d,.]* (?:×|%)|\d[\d,]*\.\d+"
    for name, block in made.markdown.items():
        assert [each for each in block.split("\n\n") if each.strip() not in said] == [], "publish"
        if name not in ("title", "question"):
            graphics = r"<svg.*?</svg>|<figcaption.*?</figcaption>"
            page = re.sub(graphics, "", made.html[name], flags=re.S)
            assert re.findall(numbers, re.sub(r"<[^>]+>", " ", page)) == re.findall(numbers, block)
    made.write(tmp_path, TEMPLATES)
    pages = [(tmp_path / f"{study}{end}.html").read_text() for end in ("", ".appendix")]
    evidence = json.loads((tmp_path / f"{study}.json").read_text())["evidence"]
    assert set(re.findall(r'value="(\w+)"', "".join(pages).replace('\\"', '"'))) == set(evidence)
    assert len(evidence) >= 10
    for why in evidence.values():
        assert why["rows"] and why["formula"]
        for name, lines in why["rows"].items():
            assert int(re.split(r"[-, ]+", lines)[-1]) <= len(run[name]) + 1


def test_a_defect_leaves_a_chapter_that_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def defect() -> dict[str, object]:
        raise ZeroDivisionError("by <zero>")

    made = write("mlp", defect, TEMPLATES, ["studies/mlp.j2"], tmp_path / "f.svg", log="the.log")
    made.write(tmp_path, TEMPLATES)
    said = json.loads((tmp_path / "mlp.json").read_text())
    assert (said["verdict"], said["log"]) == ("failed", "the.log")
    assert "see `the.log`" in (tmp_path / "mlp.md").read_text()
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_conditions_are_printed_where_they_disturb() -> None:
    host = {"host_operation_us_least": 6.0, "host_operation_us_most": 9.0, "median_ms": 1.0}
    about = {"point": "a", "status": "ok", "part": "sweep"} | host
    rows = pd.DataFrame([about | {"host_id": "f4"}, about])
    made = chapter("mlp", run_of("mlp", rows.assign(processes=[3, 6]))).markdown
    for said in ("6.00 to 9.00 us", "each time: 3 to 6."):
        assert said in made["tables"]
    assert "| f4 | a | 6.00 | 9.00 |" in made["appendix"] and "not recorded" in made["appendix"]
    calm = chapter("mlp", run_of("mlp", rows[:1].drop(columns="host_operation_us_most")))
    assert not calm.markdown["tables"] and "f4" not in calm.markdown["appendix"]
