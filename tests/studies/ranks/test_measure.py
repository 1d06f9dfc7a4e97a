"""What a point measures: all ways by two processes, or why nothing."""

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.studies.ranks import summing_rank
from workflow_src.studies.points import points
from workflow_src.studies.ranks.chapter import GRADIENTS_EQUAL, PARAMETERS_EQUAL
from workflow_src.studies.ranks.measure import of_all, of_ranks, run_ranks, tasks
from workflow_src.studies.ranks.ways import balanced

TINY = {"d_model": 16, "d_ff": 32, "layers": 1, "heads": 2}
SETTINGS = {"sizes": {"tiny": TINY, "2.7B": TINY}, "vocabulary": 50}


def test_every_way_trains_as_one_process_does_on_the_whole_batch(tmp_path: Path) -> None:
    """AdamW's step hides a sum in place of a mean; gradients tell."""
    _, point = points("ranks", "cpu", "small", SETTINGS)
    ways = [*point["ways"], "summed"]
    point |= {"device": "cpu", "context": 8, "steps": 1, "ways": ways}
    run_ranks(summing_rank.run, point, tmp_path)
    found = {row["way"]: row for row in of_ranks(point, tmp_path)}
    assert list(found) == ways and {row["status"] for row in found.values()} == {"ok"}
    assert all(len(row["samples_ns"]) == 1 for row in found.values())
    summed = found.pop("summed")
    assert found.pop("alone").keys().isdisjoint(("gradient_error", "parameter_error"))
    for row in found.values():
        assert row["gradient_error"] < GRADIENTS_EQUAL
        assert row["parameter_error"] < PARAMETERS_EQUAL
    assert summed["gradient_error"] == pytest.approx(1)
    assert summed["parameter_error"] < PARAMETERS_EQUAL


def test_fewer_gpus_than_ranks_skip_the_point(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    full = points("ranks", "cuda", "full", SETTINGS)
    reason = "needs 2 GPUs, and 1 can be used"
    for point in full:
        (row,) = tasks(point | {"device": "cuda"})
        assert (row["status"], row["reason"]) == ("skipped", reason)
        assert (row["measurement"], row.get("size")) == (point["measurement"], point.get("size"))


def test_a_row_of_all_ranks_has_the_most_of_any() -> None:
    ranks: list[dict[str, Any]] = [
        {"status": "ok", "samples_ns": [5], "optimizer_mib": 3.0, "gradient_error": 1e-7},
        {"status": "ok", "samples_ns": [6], "optimizer_mib": 4.0, "gradient_error": 1e-8},
    ]
    most = {"optimizer_mib": 4.0, "gradient_error": 1e-7}
    assert of_all(ranks) == {"status": "ok", "samples_ns": [5]} | most
    out = {"status": "oom", "reason": "CUDA out of memory"}
    assert of_all([ranks[0], out]) == out


def test_parameters_are_shared_out_evenly() -> None:
    assert balanced([1, 5, 4, 2, 2], ranks=2) == [1, 0, 1, 1, 0]
