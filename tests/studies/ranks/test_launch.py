"""Ranks that die or hang: one sentence, in bounded time, and no process left behind."""

import os
from pathlib import Path

import pytest

from tests.studies.ranks import faulty_rank
from workflow_src.common.errors import StageError
from workflow_src.studies.ranks.measure import run_ranks


@pytest.mark.parametrize(
    ("fault", "limit_s", "said"),
    [
        ("dies", 60, "rank 1 of 2 ended with status 7; .* the others were ended"),
        ("raises", 60, "rank 1 of 2 ended with status 1; .* the others were ended"),
        ("is killed", 60, r"rank 1 of 2 was killed \(signal 9\); .* the others were ended"),
        ("hangs", 2, "of 2 ranks, 0, 1 had not ended after 2 s and were killed; .*"),
    ],
)
def test_a_faulty_rank_ends_all(tmp_path: Path, fault: str, limit_s: int, said: str) -> None:
    with pytest.raises(StageError, match=f"^{said}$"):
        run_ranks(faulty_rank.run, {"ranks": 2, "limit_s": limit_s, "fault": fault}, tmp_path)
    for path in tmp_path.glob("pid*"):
        with pytest.raises(ProcessLookupError):
            os.kill(int(path.read_text()), 0)
