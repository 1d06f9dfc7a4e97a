"""A limit that words name is the one that decides."""

from pathlib import Path

import pytest

from workflow_src.common import thresholds
from workflow_src.compare import change

ROOT = Path(__file__).parents[1]
WAITS = {0.2: "a fifth"}[round(1 - thresholds.WAITS_BELOW, 2)]
MATCH = f"{thresholds.MATCH_WITHIN * 100:.0f} %"
FULLY = f"{thresholds.WORKING_FULLY * 100:.0f} %"
DEVICE = f"{change.DEVICE_BEYOND * 100:.0f} %"


@pytest.mark.parametrize(
    ("limit", "file"),
    [
        (WAITS, "report_templates/studies/matmul.md.j2"),
        (MATCH, "workflow_src/answers/forward_time/headline.py"),
        (FULLY, "workflow_src/studies/accounting/chapter.py"),
        (FULLY, "report_templates/studies/accounting.md.j2"),
        (FULLY, "report_templates/studies/ranks.md.j2"),
        (FULLY, "report_templates/card_words.md.j2"),
        (DEVICE, "report_templates/compare.md.j2"),
    ],
)
def test_words_name_the_limit_that_decides(limit: str, file: str) -> None:
    assert limit in (ROOT / file).read_text()
