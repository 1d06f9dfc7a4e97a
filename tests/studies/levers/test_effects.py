"""What each remedy does to a step's work."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tests.studies.levers.work import known
from workflow_src.common.words import REMEDY_WORDS
from workflow_src.studies.levers.effects import (
    EFFECTS,
    State,
    _softmax,
    attend,
    bf16_weights,
    double,
    optimize,
)
from workflow_src.studies.levers.parts import Part
from workflow_src.studies.levers.points import REMEDIES
from workflow_src.studies.levers.wall_time import PASSES, time_of


def test_fused_adamw_moves_28_bytes_per_parameter() -> None:
    given = known()
    plain = State(given.parts, "fp32")
    state = optimize("fused")(given, plain)
    assert state.parts["optimizer"].ms == pytest.approx(given.parameters)
    found = time_of(given, plain, state, "train_step")
    assert found.ms == pytest.approx(30 + given.parameters)
    assert found.low < found.ms < found.high


def test_with_bf16_weights_norms_and_rotary_positions_still_cast() -> None:
    """Of two layers: two casts in each of five norms, and q and k cast back in each layer."""
    pieces = {("naive", "bf16_weights", each): Part(1.0, 0.1, 3) for each in PASSES["train_step"]}
    given = known(pieces=pieces)
    parts = bf16_weights(given, State(given.parts, "bf16")).parts
    case = given.case
    bytes_each = 6 * case.batch * case.context * case.d_model
    assert case.layers == 2 and parts["forward casts"].calls == 14
    assert parts["forward casts"].ms == pytest.approx(14 * bytes_each / 28)
    assert parts["backward casts"].calls == 28


def test_a_multi_tensor_kernel_takes_320_blocks_of_65536_elements() -> None:
    given = known()
    large = replace(given.case, layers=100, d_model=4096, d_ff=16384)
    given = replace(given, case=large)
    fused, foreach = (
        optimize(name)(given, State(given.parts, "fp32")).parts["optimizer"].calls
        for name in ("fused", "foreach")
    )
    assert fused == pytest.approx(given.parameters / 20_971_520) and foreach == 8 * fused


def test_the_triton_softmax_writes_the_narrow_type_itself() -> None:
    pieces = {
        (name, "bf16", each): Part(100.0, 1.0, 9)
        for name in ("naive", "softmax")
        for each in PASSES["train_step"]
    }
    given = known(pieces=pieces | {("naive", "bf16", each): Part(9e6, 1.0, 20)
                                   for each in PASSES["train_step"]})  # fmt: skip
    plain = State(given.parts, "bf16")
    torchs, tritons = (
        attend(name)(given, plain).parts["forward core"]
        for name in ("fused_softmax", "triton_softmax")
    )
    assert torchs.calls - tritons.calls == 2 * given.case.layers


def test_casts_that_stay_the_same_are_no_more_uncertain_with_twice_the_batch() -> None:
    casts = Part(1e-9, 1e-10, 4)
    given = known()
    state = State(given.parts | {"forward casts": casts}, "bf16")
    assert double(given, state).parts["forward casts"].sd == pytest.approx(casts.sd)


@pytest.mark.parametrize(
    ("device", "mode", "expected"),
    [
        ("cuda", "fp32", [8, 12]),
        ("cuda", "bf16", [14, 18]),
        ("cuda", "bf16_weights", [4, 6]),
        ("cpu", "bf16", [4, 6]),
    ],
)
def test_softmax_is_predicted_by_the_formula_of_work(
    device: str, mode: str, expected: list[int]
) -> None:
    """Bytes per element of torch's softmax, forward and backward."""
    case = SimpleNamespace(batch=2, heads=3, context=5, device=device)
    plain: Any = SimpleNamespace(case=case, moving=lambda moved, calls, unsure: moved / 150)
    names = ("forward", "backward")
    assert [_softmax(plain, "fused_softmax", mode, which) for which in names] == expected


def test_every_remedy_has_words_and_an_effect() -> None:
    assert set(REMEDIES) == set(REMEDY_WORDS) == set(EFFECTS)


@pytest.mark.parametrize(("precision", "products"), [("fp32", 2.5), ("bf16", 10.0)])
def test_bf16_weights_narrow_products_where_they_were_wide(precision: str, products: float) -> None:
    """And halve what the optimizer moves."""
    pieces = {("naive", "bf16_weights", each): Part(1.0, 0.1, 3) for each in PASSES["train_step"]}
    given = known(pieces=pieces)
    parts = bf16_weights(given, State(given.parts, precision)).parts
    assert parts["forward products"].ms == products and parts["optimizer"].ms == 15.0
