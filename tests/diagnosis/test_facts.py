"""What one asks of a step first, of steps made by hand."""

from pathlib import Path

import pytest

from tests.diagnosis.test_recorded import COPY, LENGTH, US, Program
from workflow_src.diagnosis import facts
from workflow_src.diagnosis.subject import Subject
from workflow_src.placing.attributed import attributed


def test_copies_are_told_by_place(tmp_path: Path) -> None:
    program = Program(tmp_path)
    for n in range(3):
        program.range("data", n * LENGTH + 90 * US, n * LENGTH + 590 * US)
    memory = dict(kind="MEMCPY", srcKind=0, dstKind=2, copyKind=1)
    program.sql("ALTER TABLE CUPTI_ACTIVITY_KIND_MEMCPY ADD COLUMN bytes INTEGER")
    program.does(COPY, 100, 300, at=110, length=180, bytes=360_000, **memory)
    copied = facts.copies(Subject.of(attributed(program.read(), None), 1)).iloc[0]
    assert copied[["source", "path", "copies", "bytes"]].tolist() == [
        "pageable", "step/data", 1, 360_000,
    ]  # fmt: skip
    assert copied["gb_per_s"] == pytest.approx(2.0)
    assert copied["blocked_ms"] == pytest.approx(0.19)
