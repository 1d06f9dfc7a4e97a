"""What the study attention measures, and for how long calls are timed."""

import json

import pytest
import torch
from torch.nn.attention.flex_attention import create_block_mask

from tests.workflow import ROOT
from workflow_src.common.errors import StageError
from workflow_src.measure.rows import attempt
from workflow_src.measure.timing import plan_repeats
from workflow_src.studies.attention.analyze import derive
from workflow_src.studies.attention.implementations import _seen, causal_blocks
from workflow_src.studies.attention.measure import guarded, tasks, too_long
from workflow_src.studies.points import points
from workflow_src.studies.tasks import Row, rows

OWN = "examples/own_attention/tiles.py:TiledAttention"


def small(name: str, **changes: object) -> Row:
    found = points("attention", "cpu", "small", {"attention_codes": {OWN: "0" * 12}})
    (point,) = (each for each in found if each["point"] == name)
    return point | {"device": "cpu"} | changes


def test_each_implementation_has_a_check_and_a_row_per_phase(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    shapes = [{"head_size": 16, "contexts": [32, 64], "profiled": [64]}]
    named = {"implementations": [OWN, "naive", "sdpa_cudnn"], "shapes": shapes}
    point = small("own-tiles.TiledAttention", budget_ms=1.0, **named)
    assert point["code"] == "0" * 12
    found = rows(tasks, point)
    assert [(row["sweep"], row.get("context"), row.get("phase")) for row in found[:4]] == [
        ("check", None, None),
        ("time", 32, "forward"),
        ("time", 32, "forward_backward"),
        ("time", 32, "backward"),
    ]
    assert len(found) == 2 * (1 + 2 * 3) + 1
    assert all(row["status"] == "ok" for row in found[:-1]) and found[-1]["status"] == "skipped"
    assert ["activities" in row for row in found[1:7]] == [False] * 3 + [True] * 3
    assert json.loads(json.dumps(found)) == found


def test_passes_in_turn_as_the_course_asks_need_what_is_predicted() -> None:
    """8 x 16 rows of scores: q, k, v, output and gradient of 8,192 bytes each, 3 matrices of 8,192,
    two numbers a row, and the mask's 256 bytes: 66,816; both passes 6 of the former, 7 of these."""
    point = small("loops", steps=3, shapes=[{"head_size": 16, "contexts": [16]}])
    check, *timed = rows(tasks, point)
    forward, both, backward = derive(point, timed)
    assert check["status"] == "ok" and all(len(row["samples_ns"]) == 3 for row in timed)
    assert forward["before_backward_mib"] == forward["predicted_peak_mib"]
    assert forward["before_backward_mib"] * 2**20 == 8 * 8192 + 8 * 16 * 2 * 4 + 256
    peak = 13 * 8192 + 8 * 16 * 2 * 4 + 256
    assert both["predicted_peak_mib"] * 2**20 == backward["predicted_peak_mib"] * 2**20 == peak


def test_a_phase_is_not_measured_where_its_calls_would_take_longer_than_the_limit() -> None:
    # 100 ms at 1,024 are 400 at 2,048, and 10 calls 4 s.
    rough = {"forward": (1024, 100.0)}
    limits: list[Row] = [{"limit_s": limit_s} for limit_s in (3.0, 5.0)]
    said = [too_long(rough, "forward", 2048, point) for point in (*limits, {})]
    assert said == ["would take 4 s, and the limit is 3 s", "", ""]
    assert too_long({}, "forward", 2048, limits[0]) == ""


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (RuntimeError("No available kernel. Aborting."), "skipped", "No available kernel"),
        (StageError("mine.py:f: wrong"), "failed", "mine.py:f: wrong"),
        (KeyError("mask"), "failed", "KeyError: 'mask'"),
    ],
)
def test_what_goes_wrong_is_a_row(error: Exception, status: str, reason: str) -> None:
    def run() -> dict[str, object]:
        raise error

    assert attempt(lambda: guarded(run), lambda: None) == {"status": status, "reason": reason}


@pytest.mark.parametrize("context", [128, 512, 640])
def test_flex_gets_the_blocks_of_a_causal_mask_without_building_it(context: int) -> None:
    ours, built = (
        causal_blocks(context, "cpu"),
        create_block_mask(_seen, 1, 1, context, context, "cpu"),
    )
    for name in ("kv_num_blocks", "full_kv_num_blocks", "q_num_blocks", "full_q_num_blocks"):
        assert torch.equal(getattr(ours, name), getattr(built, name))
    assert torch.equal(ours.to_dense(), built.to_dense())


@pytest.mark.parametrize(
    ("rough_ms", "repeats"),
    [(0.01, (100, 50)), (0.1, (10, 50)), (4.0, (1, 25)), (200.0, (1, 5))],
)
def test_repeats_follow_the_budget(rough_ms, repeats):
    assert plan_repeats(rough_ms, budget_ms=100.0, sample_ms=1.0) == repeats
