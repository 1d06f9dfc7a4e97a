"""The report says how much of a run's time is known by what launched it."""

from pathlib import Path

import pandas as pd
import pytest

from tests.synthetic_tables import Sample, write_tables
from tests.test_report import write_report
from workflow_src.common.case import CASE_COLUMNS
from workflow_src.report.explained import explained

SAID = "vectorized_gather_kernel is embedding, its operator aten::gather is indexing"
KNOWN = {
    "status": "ok", "reason": "", "aligned_share": 1.0, "gemm_share_with_shape": 1.0,
    "flops": 6.0, "flops_expected": 6, "family_disagreement_share": 0.0, "family_disagreement": "",
}  # fmt: skip
MISSING = dict.fromkeys(KNOWN, "") | {"status": "missing"}
FAILED = MISSING | {"status": "failed", "reason": "RuntimeError: no CUPTI"}


def write_alignment(tables: Path, *rows: dict[str, object]) -> None:
    """Write a phase's row each, all of the case of the other tables."""
    case = pd.read_csv(tables / "captures.csv")[list(CASE_COLUMNS)].iloc[0]
    pd.DataFrame([dict(case) | {"phase": "forward"} | row for row in rows]).to_csv(
        tables / "alignment.csv", index=False
    )


def found(folder: Path, *rows: dict[str, object]) -> dict[str, object]:
    tables = write_tables(folder, Sample())
    write_alignment(tables, *rows)
    return explained(tables, 1)


def test_shares_of_all_phases_and_the_largest_disagreement(tmp_path: Path) -> None:
    differing = {"family_disagreement_share": 0.00121, "family_disagreement": SAID}
    assert found(tmp_path, KNOWN, KNOWN | {"aligned_share": 0.9999} | differing) == {
        "captures": 1,
        "cases": 1,
        "aligned": [1.0, 0.9999],
        "shaped": [1.0, 1.0],
        "miscounted": [],
        "unusable": {},
        "disagree": 0.00121,
        "example": SAID,
    }


def test_flops_that_differ_and_records_that_are_no_use_are_named(tmp_path: Path) -> None:
    said = found(tmp_path, KNOWN | {"flops": 7.0}, MISSING, FAILED, FAILED)
    assert said["miscounted"] == ["small-ctx128-fp32"]
    assert said["unusable"] == {"RuntimeError: no CUPTI": 2, "missing": 1}


def test_a_run_without_the_table_knows_nothing(tmp_path: Path) -> None:
    assert explained(write_tables(tmp_path, Sample()), 1)["cases"] == 0


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([KNOWN], "whose FLOPs are exactly those of the formulas"),
        ([KNOWN], "by name and that by operator agree everywhere."),
        (
            [KNOWN | {"family_disagreement_share": 0.00121, "family_disagreement": SAID}],
            "differ for at most 0.121 % of a phase's time (vectorized_gather_kernel is embedding,",
        ),
        ([MISSING], "No benchmark recorded what launched each kernel"),
        ([KNOWN, FAILED], "Without a usable record: 1 phase (RuntimeError: no CUPTI)."),
    ],
)
def test_the_report_says_so(tmp_path: Path, rows: list[dict[str, object]], sentence: str) -> None:
    write_alignment(write_tables(tmp_path / "results" / "tables", Sample()), *rows)
    text, _ = write_report(tmp_path, Sample())
    assert sentence in text.replace("\\_", "_")
