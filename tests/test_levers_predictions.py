"""What the study levers expects of each remedy, from the plain point alone."""

import copy
import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from workflow_src.studies.levers.section import SECTION

from tests.levers import point, result
from tests.workflow import ROOT
from workflow_src.studies.join_points import join
from workflow_src.studies.levers import analyze
from workflow_src.studies.levers.effects import (
    State,
    _softmax,
    attend,
    bf16_weights,
    double,
    graph,
    optimize,
)
from workflow_src.studies.levers.known import (
    KINDS,
    Known,
    Part,
    _gap_us,
    _optimizer_price,
    plain_case,
)
from workflow_src.studies.levers.known import known as read_known
from workflow_src.studies.levers.points import PLAIN, variants
from workflow_src.studies.levers.predict import predictions
from workflow_src.studies.levers.spread import between
from workflow_src.studies.levers.wall_time import PASSES, time_of
from workflow_src.traces.families import load_rules

PARTS = {f"{which} {kind}": Part() for which in ("forward", "backward") for kind in KINDS} | {
    "forward products": Part(10.0, 0.0, 100),
    "backward products": Part(20.0, 0.0, 200),
    "optimizer": Part(30.0, 0.0, 300),
}


def known(**other: Any) -> Known:
    """A case on a GPU: 10 ms of device work in forward, 20 in backward, 30 in the optimizer."""
    values: dict[str, Any] = {
        "case": plain_case(point(PLAIN) | {"device": "cuda"}),
        "parts": PARTS,
        "walls": {"forward": 10.0, "forward_backward": 30.0, "train_step": 60.0},
        "between": dict.fromkeys(PASSES, 0.0),
        "luck": dict.fromkeys(PASSES, 0.0),
        "bytes_per_ms": Part(28.0, 0.0),
        "product": {"fp32": 1.0, "bf16": 0.25},
        "pieces": {},
        "us_per_call": 0.0,
        "chain": 2.0,
        "gated": 0.0,
    }
    return Known(**values | other)


def activity(of: str, family: str, ms: float, calls: int = 1, name: str = "k") -> dict[str, Any]:
    row = {"range": of, "family": family, "name": name, "calls": calls}
    return row | {"busy_ns": round(ms * 1e6)}


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


def test_fused_adamw_moves_28_bytes_per_parameter() -> None:
    given = known()
    plain = State(given.parts, "fp32")
    state = optimize("fused")(given, plain)
    assert state.parts["optimizer"].ms == pytest.approx(given.parameters)
    found = time_of(given, plain, state, "train_step")
    assert found.ms == pytest.approx(30 + given.parameters)
    assert found.low < found.ms < found.high


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_bf16_weights_say_what_products_gain_where_they_do(precision: str) -> None:
    pieces = {("naive", "bf16_weights", each): Part(1.0, 0.1, 3) for each in PASSES["train_step"]}
    given = known(pieces=pieces)
    (why,) = bf16_weights(given, State(given.parts, precision)).why
    rest = " ms for 0 ms, and the optimizer moves half the bytes"
    gain = "products take 0.25 times as long in bf16, casts take "
    assert why.startswith(gain if precision == "fp32" else "casts take ") and why.endswith(rest)


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


def test_the_optimizers_launches_cost_at_most_what_the_plain_step_takes_beyond_backward() -> None:
    assert _optimizer_price({"forward_backward": 60.0, "train_step": 67.0}, 1400, 10.0) == 0.5
    assert _optimizer_price({"forward_backward": 60.0, "train_step": 90.0}, 1400, 10.0) == 1.0
    assert _optimizer_price({"forward_backward": 60.0, "train_step": 59.0}, 1400, 10.0) == 0.1
    assert _optimizer_price({"forward_backward": 60.0, "train_step": 67.0}, 0, 10.0) == 1.0
    cheap = replace(known(us_per_call=100.0), optimizer_price=0.5)
    state = optimize("fused")(cheap, State(cheap.parts, "fp32"))
    assert state.parts["optimizer"].calls == 0.5


def test_the_gaps_of_a_graph_are_between_all_its_kernels() -> None:
    """Of 100 + 200 kernels, and 300 of the optimizer that count as 30 launches."""
    parts = PARTS | {"optimizer": Part(30.0, 0.0, 30)}
    given = replace(known(parts=parts), optimizer_price=0.1)
    plain = State(given.parts, "fp32")
    whole = time_of(given, plain, graph(given, replace(plain, optimizer="fused")), "train_step")
    assert whole.ms == pytest.approx(60 + 600 * 1e-3)
    outside = time_of(given, plain, graph(given, plain), "train_step")
    assert outside.ms == pytest.approx(60 + 300 * 1e-3), "AdamW written out isn't in the graph"
    short = replace(given, gap_us=0.5)
    assert time_of(short, plain, graph(given, plain), "forward").ms == pytest.approx(10 + 0.05)


def test_the_gap_comes_from_a_replayed_chain_of_kernels() -> None:
    """200 kernels of 2 us take 480 us when replayed: 0.4 us each beyond their own time."""
    chain = {"median_ms": 0.48, "activities": [activity("", "elementwise", 0.4, calls=200)]}
    assert _gap_us(chain) == pytest.approx(0.4)
    assert _gap_us(chain | {"median_ms": 0.3}) == 0.0
    assert _gap_us(None) == 1.0, "points without that ceiling"


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


def test_a_step_takes_the_longer_of_device_work_and_launching() -> None:
    """600 launches of 200 us take 120 ms; the step's 130 ms have 10 beyond that."""
    given = known(us_per_call=200.0, walls={"forward": 25.0, "forward_backward": 65.0,
                                            "train_step": 130.0})  # fmt: skip
    plain = State(given.parts, "fp32")
    assert time_of(given, plain, plain, "train_step").ms == pytest.approx(130)
    replayed = time_of(given, plain, graph(given, plain), "forward_backward")
    assert replayed.launch_ms == 0 and replayed.ms == pytest.approx(30 + 300 * 1e-3)
    whole = time_of(given, plain, graph(given, plain), "train_step")
    assert whole.launch_ms == pytest.approx(300 * 0.2)


@pytest.mark.parametrize("us", [0.0, 50.0, 200.0])
def test_nothing_changed_is_as_uncertain_as_the_processes_and_no_more(us: float) -> None:
    """The plain wall time is measured: errors of work and launching cancel."""
    parts = {name: replace(part, sd=part.ms / 2) for name, part in PARTS.items()}
    walls = {"forward": 12.0, "forward_backward": 40.0, "train_step": 80.0}
    given = known(parts=parts, walls=walls, us_per_call=us, between=dict.fromkeys(PASSES, 0.03),
                  luck=dict.fromkeys(PASSES, 0.04))  # fmt: skip
    plain = State(given.parts, "fp32")
    for phase, wall in walls.items():
        found = time_of(given, plain, plain, phase)
        apart = math.hypot(0.03, 0.04) * wall
        assert found[:3] == pytest.approx((wall, wall - apart, wall + apart))


def test_only_what_a_remedy_changes_makes_an_interval_wide() -> None:
    """Of 600 launches 100 go: the price of these is unsure by 25 %, not that of all."""
    parts = {name: Part(part.ms / 10, part.ms / 20, part.calls) for name, part in PARTS.items()}
    given = known(parts=parts, us_per_call=200.0, walls=dict.fromkeys(PASSES, 130.0))
    plain = State(given.parts, "fp32")
    found = time_of(
        given, plain, plain.changed({"optimizer": Part(3.0, 0.0, 200)}, ""), "train_step"
    )
    gone, beyond = 100 * 0.2, 10 * 100 / 600
    apart = 1.96 * math.hypot(gone / 4, beyond / 2)
    assert found[:3] == pytest.approx((130 - gone, 130 - gone - apart, 130 - gone + apart))


def test_where_the_device_becomes_the_longer_term_errors_do_not_cancel() -> None:
    """Launching took 120 of 130 ms; without it, what is left depends on how much of them it was."""
    parts = {name: replace(part, sd=part.ms / 50) for name, part in PARTS.items()}
    given = known(parts=parts, us_per_call=200.0, walls=dict.fromkeys(PASSES, 130.0))
    plain = State(given.parts, "fp32")
    few = {name: replace(part, calls=part.calls / 100) for name, part in parts.items()}
    found = time_of(given, plain, plain.changed(few, ""), "train_step")
    assert found.ms == pytest.approx(60 + 10)
    assert found.high - found.ms > 1.96 * 120 / 4 and found.low >= 60 - 1.96 * 1.2


@pytest.mark.parametrize("us", [0.0, 50.0, 200.0, 5000.0])
def test_no_step_is_expected_to_take_less_than_the_device_works(us: float) -> None:
    """However long a launch took where it was measured apart: all fit into the plain phase."""
    given = known(
        us_per_call=us, between=dict.fromkeys(PASSES, 0.2), luck=dict.fromkeys(PASSES, 0.2)
    )
    plain = State(given.parts, "fp32")
    works = (Part(5.0, 1.0, 3), Part(29.0, 0.5, 300), Part(40.0, 9.0, 1), Part(30.0, 0.0, 900))
    for work in works:
        state = plain.changed({"optimizer": work, "forward products": work}, "")
        for tried in (state, graph(given, state), replace(state, batches=2)):
            for phase in PASSES:
                found = time_of(given, plain, tried, phase)
                assert found.ms >= found.device_ms - 1e-9
                assert 0 <= found.low <= found.ms <= found.high
    assert time_of(given, plain, plain, "train_step").launch_ms <= 60.0 + 1e-9


def test_the_luck_of_few_processes_is_badly_known() -> None:
    """Student's t: the interval of three medians is 2.2 times as wide as their spread suggests."""
    process = [number for number in range(3) for _ in range(8)]
    samples = [ns for ns in (90, 100, 110) for _ in range(8)]
    row = {"samples_ns": samples, "process": process}
    assert between(row) == pytest.approx(4.303 * 0.1 / 3**0.5)
    assert between(row, 1) == pytest.approx(4.303 * 0.1), "of a single process more"
    same = {"samples_ns": [100] * 24, "process": process}
    assert between(same) == pytest.approx(1.96 * 0.02)
    one = {"samples_ns": [100, 100], "median_ms": 1.0, "p20_ms": 0.9, "p80_ms": 1.1}
    assert between(one) == pytest.approx(1.96 * 0.1)


def test_a_larger_batch_shares_the_optimizer_and_the_launches() -> None:
    given = known()
    plain = State(given.parts, "fp32")
    found = time_of(given, plain, double(given, plain), "train_step")
    assert found.ms == pytest.approx((60 + 30) / 2)


def test_predictions_cover_every_variant_and_phase_and_say_why() -> None:
    found = predictions(result(PLAIN), load_rules())
    expected = [variant.name for variant in variants("fp32", "cpu") if variant.name != PLAIN]
    assert list(dict.fromkeys(found["variant"])) == expected
    assert (found["predicted_low"] <= found["predicted_ms"]).all()
    assert (found["predicted_ms"] <= found["predicted_high"]).all()
    assert found["why"].str.len().min() > 10


def test_without_a_plain_step_nothing_is_predicted_and_the_file_says_why() -> None:
    given = copy.deepcopy(result(PLAIN))
    row = next(row for row in given["rows"] if row.get("phase") == "train_step")
    row |= {"status": "oom", "reason": "CUDA out of memory"}
    found = predictions(given, load_rules())
    assert found["status"].tolist() == ["skipped"]
    assert "the plain train_step is oom" in found["reason"][0]


def test_a_ceiling_without_a_time_is_why_nothing_is_predicted(tmp_path: Path) -> None:
    given = copy.deepcopy(result(PLAIN))
    row = next(row for row in given["rows"] if row.get("name") == "naive bf16")
    row |= {"status": "oom", "reason": "CUDA out of memory"}
    del row["samples_ns"]
    found = predictions(given, load_rules())
    assert found["status"].tolist() == ["skipped"]
    why = "the ceiling naive bf16 forward is oom: CUDA out of memory"
    assert found["reason"].tolist() == [why]
    found.to_csv(tmp_path / "p.csv", index=False)
    (tmp_path / "plain.json").write_text(json.dumps(given))
    points = join([tmp_path / "plain.json"], analyze.derive, load_rules())
    table = analyze.complete(points, [tmp_path / "p.csv"])
    text = SECTION.markdown(table, ROOT / "report_templates")
    assert f"Not predicted: tiny-ctx8-fp32 ({why})." in text


def test_predictions_read_the_plain_point_and_nothing_else() -> None:
    rules = (ROOT / "rules" / "levers.smk").read_text()
    given = rules[rules.index("input:") : rules.index("output:")].split()
    assert given[1:] == [
        'plain="results/{tag}/studies/levers/{case}.plain.json",',
        'families="workflow_src/traces/families.csv",',
    ]


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
