"""What chapters of studies make of small tables that are done by hand: see small_tables.yaml."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from tests.studies.chapters import TEMPLATES, run_of, table
from workflow_src.common.words import DASH
from workflow_src.paper.written import write
from workflow_src.studies.facts import facts_of, templates_of

STUDIES = yaml.safe_load(Path(__file__).with_name("small_tables.yaml").read_text())
CASES = [
    pytest.param(study, case, id=f"{study} {number}: {case['verdict']}")
    for study, about in STUDIES.items()
    for number, case in enumerate(about["cases"], 1)
]


def printed(value: Any) -> Any:
    if isinstance(value, pd.Series):
        return [printed(each) for each in value]
    if isinstance(value, list):
        return [" ".join(map(str, each)) if isinstance(each, tuple) else each for each in value]
    if isinstance(value, tuple):
        return "".join(map(printed, value))
    return DASH if value is None or value != value else str(value)


def fact(found: Any, path: str) -> Any:
    """What is at a path of facts; a number in it is a column's place."""
    for name in path.split("."):
        if isinstance(found, pd.DataFrame) and name.isdigit():
            found = found.iloc[:, int(name)]
        else:
            found = found[name]
    return printed(found)


@pytest.mark.parametrize(("study", "case"), CASES)
def test_a_chapter_of_a_small_table(study: str, case: dict[str, Any]) -> None:
    about = STUDIES[study]
    first = next(iter(about["kinds"]))
    rows = table(*(about["kinds"][row.pop("is", first)] | row for row in map(dict, case["rows"])))
    ceilings = about.get("ceilings") if case.get("ceilings", True) else None
    run = run_of(study, rows, pd.DataFrame(ceilings) if ceilings else None)
    found = facts_of(study, run)
    made = write(study, lambda: found, TEMPLATES, templates_of(study))
    assert made.verdict == case["verdict"]
    assert case.get("says", "") in made.markdown["headline"]
    for path, expected in case.get("facts", {}).items():
        assert fact(found, path) == expected, path
