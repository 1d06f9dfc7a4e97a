"""What a plain point tells: its work by part, the price of launches, gaps."""

import math
from dataclasses import replace
from typing import Any

import pytest

from tests.studies.levers.points import point
from tests.studies.levers.work import activity, known
from workflow_src.studies.levers.effects import State, optimize
from workflow_src.studies.levers.known import _gap_us, _optimizer_price, plain_case
from workflow_src.studies.levers.known import known as read_known
from workflow_src.studies.levers.points import PLAIN


def test_backward_is_split_by_what_attentions_core_takes_alone() -> None:
    """On a GPU, autograd's thread has no ranges: one block, the core's backward measured alone."""
    forward = [
        activity("qkv", "gemm", 4.0),
        activity("scores", "gemm", 1.0),
        activity("softmax", "elementwise", 2.0, calls=5),
        activity("norm", "elementwise", 3.0, calls=9),
        activity("qkv", "copy", 0.5, name="bfloat16_copy_kernel_cuda"),
    ]
    backward = [
        activity("", "gemm", 10.0),
        activity("", "elementwise", 5.0),
        activity("", "copy", 1.0, name="unrolled_elementwise direct_copy"),
    ]
    bare = [activity("", "gemm", 1.0), activity("", "elementwise", 2.0)]
    both = [activity("", "gemm", 3.0), activity("", "elementwise", 4.0)]
    optimizer = activity("optimizer", "elementwise", 7.0, calls=12)

    def timed(about: dict[str, Any], found: list[dict[str, Any]], ms: float) -> dict[str, Any]:
        spread = {"median_ms": ms, "p20_ms": ms, "p80_ms": ms, "samples_ns": [round(ms * 1e6)]}
        return about | {"status": "ok", "reason": "", "activities": found} | spread

    phases = {"forward": forward, "forward_backward": forward + backward}
    phases["train_step"] = [*forward, *backward, optimizer]
    rows = [
        timed({"measurement": "phase", "phase": phase}, found, 40.0)
        for phase, found in phases.items()
    ]
    named = {"copy": "", "product fp32": "", "product bf16": ""}
    ceilings = [({"name": name}, [], 1.0) for name in named]
    ceilings += [({"name": "launching", "phase": "forward_backward"}, [], 20.0)]
    ceilings += [({"name": "naive fp32", "phase": "forward"}, bare, 3.0)]
    ceilings += [({"name": "naive fp32", "phase": "forward_backward"}, both, 7.0)]
    rows += [timed({"measurement": "ceiling"} | about, *rest) for about, *rest in ceilings]
    made = point(PLAIN) | {"device": "cuda", "copy_elements": 1000}
    found = read_known(made, rows, replace(plain_case(made), layers=1))
    ms = {name: round(part.ms, 6) for name, part in found.parts.items()}
    assert ms == {
        "forward core": 3.0, "forward products": 4.0, "forward casts": 0.5,
        "forward pointwise": 3.0, "backward core": 4.0, "backward products": 8.0,
        "backward casts": 1.0, "backward pointwise": 3.0, "optimizer": 7.0,
    }  # fmt: skip
    assert found.parts["backward casts"].sd == pytest.approx(0.02 * math.hypot(1.5, 0.5))
    assert found.bytes_per_ms.ms == 8000
    assert found.pieces["naive", "fp32", "backward"].ms == pytest.approx(4.0)
    assert found.us_per_call == pytest.approx(20_000 / 20)
    assert found.chain == pytest.approx(3.0)  # nine kernels in the three norms of one block


def test_the_optimizers_launches_cost_at_most_what_the_plain_step_takes_beyond_backward() -> None:
    assert _optimizer_price({"forward_backward": 60.0, "train_step": 67.0}, 1400, 10.0) == 0.5
    assert _optimizer_price({"forward_backward": 60.0, "train_step": 90.0}, 1400, 10.0) == 1.0
    assert _optimizer_price({"forward_backward": 60.0, "train_step": 59.0}, 1400, 10.0) == 0.1
    assert _optimizer_price({"forward_backward": 60.0, "train_step": 67.0}, 0, 10.0) == 1.0
    cheap = replace(known(us_per_call=100.0), optimizer_price=0.5)
    state = optimize("fused")(cheap, State(cheap.parts, "fp32"))
    assert state.parts["optimizer"].calls == 0.5


def test_the_gap_comes_from_a_replayed_chain_of_kernels() -> None:
    """200 kernels of 2 us take 480 us when replayed: 0.4 us each beyond their own time."""
    chain = {"median_ms": 0.48, "activities": [activity("", "elementwise", 0.4, calls=200)]}
    assert _gap_us(chain) == pytest.approx(0.4)
    assert _gap_us(chain | {"median_ms": 0.3}) == 0.0
    assert _gap_us(None) == 1.0, "points without that ceiling"
