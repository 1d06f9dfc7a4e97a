"""The certificate of a capture: what each check comes to, and its verdict."""

from pathlib import Path
from typing import Any

import pytest

from tests.captures.building import Export
from workflow_src.tables.certificate import CHECKS


def steps(folder: Path) -> Export:
    """Three steps of 100 ns with two kernels of 10 ns each, whose messages are known."""
    export = Export(folder)
    name = export.string("cudaLaunchKernel_v7000")
    for start in (0, 100, 200):
        export.range("step", start, start + 100)
        export.work(start + 10)
        export.work(start + 50)
    export.sql("UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET nameId = ?", name)
    return export


def results(export: Export) -> dict[str, tuple[str, str]]:
    found = export.tables()["certificate"]
    assert list(found["check"]) == [each["check"] for each in CHECKS.values()]
    rows = zip(CHECKS, found["value"], found["verdict"], strict=True)
    return {check: (value, verdict) for check, value, verdict in rows}


def test_a_capture_in_which_all_fits_is_ok_throughout(tmp_path: Path) -> None:
    found = results(steps(tmp_path))
    assert {verdict for _, verdict in found.values()} == {"ok"}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE start = 55",
            {"unanswered": ("0.166667", "doubt"), "whole": ("1", "doubt")},
        ),
        (
            "DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE start = 50",
            {"unlaunched": ("0.166667", "doubt"), "ranges": ("0.833333", "doubt")},
        ),
        (
            "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = "
            "(SELECT id FROM StringIds WHERE value LIKE 'cudaLaunch%') WHERE start = 55",
            {"known": ("0.833333", "doubt")},
        ),
        (
            lambda e: (e.range("load", 0, 9, process=2), e.range("bad", 50, 40)),
            {"processes": ("1", "doubt"), "unread": ("1", "doubt")},
        ),
        (lambda e: e.work(290, 10**12), {"unread": ("1", "doubt")}),
        (
            "INSERT INTO PROFILER_OVERHEAD VALUES (90, 105, 0)",
            {"overhead": ("0.05", "doubt")},
        ),
        (lambda e: e.range("late", 250, 350), {"overlapping": ("1", "doubt")}),
    ],
)
def test_each_check_tells_what_does_not_fit(
    tmp_path: Path, change: Any, told: dict[str, tuple[str, str]]
) -> None:
    export = steps(tmp_path)
    export.sql(change) if isinstance(change, str) else change(export)
    assert results(export) | told == results(export)
