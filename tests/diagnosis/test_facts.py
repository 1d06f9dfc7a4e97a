"""What one asks of a step first, of steps made by hand."""

from pathlib import Path

import pytest

from tests.diagnosis.test_recorded import COPY, LAUNCH, LENGTH, US, WAIT, Program
from workflow_src.diagnosis import facts
from workflow_src.diagnosis.subject import Subject
from workflow_src.placing.attributed import attributed


def test_waits_gaps_and_copies_are_told_by_place(tmp_path: Path) -> None:
    program = Program(tmp_path)
    for n in range(3):
        program.range("data", n * LENGTH + 90 * US, n * LENGTH + 590 * US)
    memory = dict(kind="MEMCPY", srcKind=0, dstKind=2, copyKind=1)
    program.sql("ALTER TABLE CUPTI_ACTIVITY_KIND_MEMCPY ADD COLUMN bytes INTEGER")
    program.does(COPY, 100, 300, at=110, length=180, bytes=360_000, **memory)
    # It waits from 310 to 500, of which 5 are its own.
    program.does(LAUNCH, 301, 306, at=308, length=190).does(WAIT, 310, 500)
    for start in range(600, 690, 10):
        program.does(LAUNCH, start, start + 9, at=start + 10, length=5)
    subject = Subject.of(attributed(program.read(), None), 1)

    held = facts.waits(subject).to_numpy().tolist()
    assert held[0] == ["cudaMemcpyAsync", "step/data", 1, pytest.approx(0.19)]
    assert held[1] == [WAIT, "step/data", 1, pytest.approx(0.185)]

    copied = facts.copies(subject).iloc[0]
    assert copied[["source", "path", "copies", "bytes"]].tolist() == [
        "pageable", "step/data", 1, 360_000,
    ]  # fmt: skip
    assert copied["gb_per_s"] == pytest.approx(2.0)
    assert copied["blocked_ms"] == pytest.approx(0.19)

    gaps = facts.large_gaps(subject)
    assert gaps["gap_ms"].is_monotonic_decreasing
    # From the last launch, at 689, to the copy of the next step, at 1,100; of the first step, 100.
    between = gaps[gaps["before_path"] == "step/data"]
    assert between["gap_ms"].tolist() == pytest.approx([2 * 0.411 / 3, 0.1 / 3])
    assert between["after_path"].tolist() == ["step", ""]
