"""A limit that words name is the one that decides."""

from pathlib import Path

import pytest

from workflow_src.common import thresholds
from workflow_src.common.thresholds import in_percent
from workflow_src.compare import change, steps
from workflow_src.studies.attention import implementations
from workflow_src.studies.checkpointing.chapter import SAME_WITHIN

ROOT = Path(__file__).parents[1]
WAITS = {0.2: "a fifth"}[round(1 - thresholds.WAITS_BELOW, 2)]
MATCH = in_percent(thresholds.MATCH_WITHIN)
FULLY = in_percent(thresholds.WORKING_FULLY)
CHECKED = f"at context {implementations.CONTEXT}"
CHECKPOINTS = f"over {in_percent(SAME_WITHIN)} less memory"
NEARLY = f"works for {in_percent(thresholds.NEARLY_ALL_DEVICE)} of the plain time or more"
USUAL = f"or {thresholds.LAUNCH_BOUND_BELOW_NS / 1000:g} us where"
DEVICE = in_percent(change.DEVICE_BEYOND)
HOST = f"by more than {in_percent(steps.LEAST)} of"
REPLAYED = f"within {in_percent(thresholds.REPLAYED_WITHIN)};"
CAPPED = {0.0: "in any reading during its steps"}[thresholds.THROTTLED_BEYOND]
FINDING = in_percent(thresholds.FINDING_AT_LEAST)
PACE = in_percent(thresholds.SETS_THE_PACE)


@pytest.mark.parametrize(
    ("limit", "file"),
    [
        (WAITS, "report_templates/studies/matmul.j2"),
        (MATCH, "report_templates/answers/forward_time.j2"),
        (FULLY, "report_templates/studies/accounting.j2"),
        (FULLY, "report_templates/studies/precision.j2"),
        (CHECKED, "report_templates/studies/attention.j2"),
        (FULLY, "report_templates/studies/ranks.j2"),
        (CHECKPOINTS, "report_templates/studies/checkpointing.j2"),
        (NEARLY, "docs/glossary.md"),
        (USUAL, "docs/glossary.md"),
        (DEVICE, "report_templates/compare_captures.j2"),
        (HOST, "report_templates/compare_captures.j2"),
        (f"less than {FINDING}", "report_templates/compare_captures.j2"),
        (f"under {FINDING}", "docs/findings.md"),
        (f"less than {FINDING}", "docs/captures.md"),
        (CAPPED, "docs/reading.md"),
        (REPLAYED, "docs/captures.md"),
        (REPLAYED, "docs/replay.md"),
        (f"at least {PACE} of the step", "docs/captures.md"),
    ],
)
def test_words_name_the_limit_that_decides(limit: str, file: str) -> None:
    assert limit in (ROOT / file).read_text()
