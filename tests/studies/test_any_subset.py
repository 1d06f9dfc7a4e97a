"""Any table that a study may have had gives a section, long tables and a figure."""

import json
import re
from functools import partial

import pandas as pd
import pytest

from tests.answers.test_any_subset import check as check_text
from tests.studies.chapters import WRITTEN
from tests.studies.subsets import ROOT, recorded, subset
from workflow_src.paper.drawing import svg
from workflow_src.paper.texts import Texts
from workflow_src.studies.registry import REGISTRY
from workflow_src.studies.section import section
from workflow_src.studies.study import STUDIES

LINES, WORDS = 20, 45
EMPTY_TABLE = re.compile(r"^\|[:\-| ]+\|\n(?!\|)", re.MULTILINE)


def written(study: str, table: pd.DataFrame, seed: int = 0) -> Texts:
    """A section as its stage writes it, with ceilings in two of three runs."""
    ceilings = recorded("ceilings") if seed % 3 else pd.DataFrame()
    tables = (table, ceilings)
    return section(study, "figure.svg").texts(tables, ROOT / "report_templates")


def check(texts: Texts) -> None:
    """Fail for what no reader should see."""
    for text in (texts.markdown, texts.page, texts.appendix, texts.appendix_page):
        check_text(text)
        assert not EMPTY_TABLE.search(text), text
    said = json.loads(texts.json)
    assert said["verdict"] != "failed" and len(said["headline"].split()) <= WORDS, said["headline"]


@pytest.mark.parametrize("study", REGISTRY)
def test_any_subset_of_a_table_gives_a_section(study: str) -> None:
    for seed in range(3):
        check(written(study, subset(seed, study), seed))


@pytest.mark.parametrize("study", REGISTRY)
def test_any_subset_of_a_table_gives_a_figure(study: str) -> None:
    table = subset(0, study)
    assert "<svg" in svg(partial(REGISTRY[study].draw, table), study)


@pytest.mark.parametrize("study", REGISTRY)
def test_the_published_section_is_short_and_each_of_its_values_has_sources(study: str) -> None:
    texts = written(study, recorded(study), seed=1)
    assert sum(bool(line.strip()) for line in texts.markdown.splitlines()) <= LINES
    values = json.loads(texts.json)["values"]
    assert len(values) >= 10
    known = {f"studies/{study}": set(recorded(study).index)}
    known["ceilings"] = set(recorded("ceilings").index)
    for value in values:
        assert value["sources"]
        assert all(set(each["rows"]) <= known[each["table"]] for each in value["sources"])


def test_the_registry_has_the_studies_in_order() -> None:
    assert [*REGISTRY] == [name for name in STUDIES if name not in WRITTEN]
