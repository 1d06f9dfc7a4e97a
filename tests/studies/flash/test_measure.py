"""Measuring attention: every phase has a row, and what can't be measured says why."""

import pytest
import torch
from torch.nn.attention.flex_attention import create_block_mask

from tests.workflow import ROOT
from workflow_src.common.errors import StageError
from workflow_src.studies.flash.implementations import _seen, causal_blocks
from workflow_src.studies.flash.measure import measure
from workflow_src.studies.flash.points import points
from workflow_src.studies.flash.timing import guarded, too_long

OWN = "examples/own_attention/tiles.py:TiledAttention"


def test_each_implementation_has_a_check_and_a_row_per_phase(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    point = points("cpu", "small", {"attention_codes": {OWN: "0" * 12}})[-1]
    assert (point["point"], point["code"]) == ("own-tiles.TiledAttention", "0" * 12)
    shapes = [{"head_size": 16, "contexts": [32, 64]}]
    given = {"device": "cpu", "implementations": [OWN, "naive", "sdpa_cudnn"], "shapes": shapes}
    rows = measure(point | given | {"budget_ms": 1.0})
    assert [(row["sweep"], row.get("context"), row.get("phase")) for row in rows[:4]] == [
        ("check", None, None),
        ("time", 32, "forward"),
        ("time", 32, "forward_backward"),
        ("time", 32, "backward"),
    ]
    assert len(rows) == 2 * (1 + 2 * 3) + 1
    assert all(row["status"] == "ok" for row in rows[:-1]) and rows[-1]["status"] == "skipped"
    assert rows[1]["timed_by"] == "this project's timing"


def test_a_phase_is_not_measured_where_its_calls_would_take_longer_than_the_limit() -> None:
    # 100 ms at 1,024 are 400 at 2,048, and 10 calls 4 s.
    rough = {"forward": (1024, 100.0)}
    assert too_long(rough, "forward", 2048, 3.0) == "would take 4 s, and the limit is 3 s"
    assert too_long(rough, "forward", 2048, 5.0) == too_long({}, "forward", 2048, 3.0) == ""


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (torch.OutOfMemoryError("CUDA out of memory. Tried 1 GiB."), "oom", "CUDA out of memory"),
        (RuntimeError("No available kernel. Aborting."), "skipped", "No available kernel"),
        (StageError("mine.py:f: wrong"), "failed", "mine.py:f: wrong"),
        (KeyError("mask"), "failed", "KeyError: 'mask'"),
    ],
)
def test_what_goes_wrong_is_a_row(error: Exception, status: str, reason: str) -> None:
    def run() -> dict[str, object]:
        raise error

    assert guarded(run, "cpu") == {"status": status, "reason": reason}


@pytest.mark.parametrize("context", [128, 512, 640])
def test_flex_gets_the_blocks_of_a_causal_mask_without_building_it(context: int) -> None:
    ours, built = (
        causal_blocks(context, "cpu"),
        create_block_mask(_seen, 1, 1, context, context, "cpu"),
    )
    for name in ("kv_num_blocks", "full_kv_num_blocks", "q_num_blocks", "full_q_num_blocks"):
        assert torch.equal(getattr(ours, name), getattr(built, name))
    assert torch.equal(ours.to_dense(), built.to_dense())
