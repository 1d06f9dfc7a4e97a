"""What plain steps take with remedies, on steps that one works out by hand."""

from collections.abc import Sequence
from dataclasses import replace
from math import hypot
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import costly
from workflow_src.diagnosis.remedies.effects import NotKnownError, combinations
from workflow_src.diagnosis.remedies.predict import HOST_UNSURE, host_of, predicted
from workflow_src.diagnosis.remedies.rates import About, Rates
from workflow_src.diagnosis.remedies.steps import launched, work_of
from workflow_src.tables.remedies import predictions

GB_PER_S, TFLOPS = 1e6, 1e9
"""In bytes and FLOPs per ms."""

RATES = Rates(1_000 * GB_PER_S, {"fp32": 50 * TFLOPS, "bf16": 500 * TFLOPS})

Operator = tuple[str, str, str, str, str, int, float]
"""Path, family, operator, forward operator, shapes, calls, device time in ms."""


def operators(phase: str, rows: Sequence[Operator]) -> pd.DataFrame:
    names = ["path", "family", "operator", "forward_operator", "shapes"]
    names += ["calls_per_step", "busy_ms_per_step"]
    table = pd.DataFrame(rows, columns=names)
    return table.assign(
        case="a", phase=phase, path=phase + "/" + table["path"], dtypes="fp32; fp32",
        bytes_per_step=1_000 * GB_PER_S, flops_per_step=float("nan"),
    )  # fmt: skip


def plain(
    phase: str, rows: Sequence[Operator], plain_ms: float, host_us: float, parameters: float = 1e8
) -> About:
    step = launched(work_of(operators(phase, rows)))
    host_ns = dict.fromkeys(("forward", "backward", "optimizer"), host_us * 1e3)
    return About(step, plain_ms, RATES, "fp32", parameters, 0.0, host_ns)


LAUNCHES = [("forward/norm", "elementwise", "aten::mul", "", "8 x 8", 10, 0.1)]
"""Ten kernels of 10 us each."""

UPDATE = [
    ("forward/norm", "elementwise", "aten::mul", "", "8 x 8", 1, 10.0),
    ("optimizer", "elementwise", "aten::mul_", "", "8 x 8", 8, 8.0),
    ("optimizer", "elementwise", "aten::addcdiv_", "", "8 x 8", 1, 0.8),
]
"""AdamW's 8.8 ms are 88 bytes of 10^8 parameters at 1,000 GB/s."""


BOUND = ("forward", LAUNCHES, 1.0115, 100.0)
"""Ten launches of 100 us, and the last kernel's 10 + 1.5."""

STEPS: dict[str, tuple[Any, str, float, float]] = {
    # Unsure are 3 % of a time, and 60 % of that in which the device waits for the host.
    "a graph leaves one launch and ten kernels": (
        BOUND, "graph", 0.2, hypot(0.03 * 0.2, 0.6 * 0.1),
    ),
    "a remedy that can't touch a phase leaves its time": (BOUND, "fused", 1.0115, 0.6 * 1.0),
    # Of the device's work also 40 % of what changes, and 9 % of what goes. 28 of 88 bytes: 6 of
    # 8.8 ms are saved, and gaps between nine kernels but four.
    "a fused optimizer leaves its bytes": (
        ("train_step", UPDATE, 18.8 + 10 * 0.0015 + 0.001, 1.0), "fused",
        12.8, hypot(0.03 * 12.8, 0.4 * 2.8, 0.09 * 6.0),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
def test_a_step_that_one_works_out(name: str) -> None:
    given, remedy, usual_ms, unsure_ms = STEPS[name]
    low, usual, high = predicted(plain(*given), [remedy])
    assert usual == pytest.approx(usual_ms, rel=2e-3)
    assert high - usual == pytest.approx(unsure_ms, rel=0.03)
    assert usual / low == pytest.approx(high / usual)


def test_where_the_device_hides_its_host_a_time_may_be_that_of_a_slower_host() -> None:
    # Ten launches of 100 us, and 1.1 ms of work: with hosts that take 60 % longer, 1.6 ms.
    rows = [("forward/norm", "elementwise", "aten::mul", "", "8 x 8", 10, 1.085)]
    _, usual, high = predicted(plain("forward", rows, 1.21, 100.0), ["fused"])
    assert high > (1 + HOST_UNSURE) * 1.0 > usual


def test_what_only_the_host_explains_of_a_plain_time_is_its_time_for_a_launch() -> None:
    about = plain(*BOUND)
    ns, sets_pace = host_of(about, {}, "forward")
    assert sets_pace and ns == pytest.approx(100e3, rel=1e-3)
    assert not host_of(replace(about, plain_ms=0.12), {}, "forward")[1]
    assert host_of(replace(about, plain_ms=0.05), {}, "forward")[0] == 0


CORE = [
    ("forward/attention/scores", "gemm", "aten::bmm", "", "8 x 64 x 32; 8 x 32 x 64", 2, 2.0),
    ("forward/attention/softmax", "elementwise", "aten::exp", "", "8 x 64 x 64", 4, 6.0),
    ("forward/attention/values", "gemm", "aten::bmm", "", "8 x 64 x 64; 8 x 64 x 32", 2, 2.0),
    ("forward/head", "gemm", "aten::mm", "", "64 x 64; 64 x 64", 1, 5.0),
]


def test_fused_attention_takes_half_the_time_of_attentions_products() -> None:
    _, usual, _ = predicted(plain("forward", CORE, 15.1, 1.0), ["sdpa"])
    # Of 15 ms, 6 are passes that vanish, and 4 of products.
    assert usual == pytest.approx(5.0 + 2.0, rel=0.01)


def test_products_of_another_type_are_as_much_faster_as_their_ceiling_and_cast() -> None:
    # Ten times as fast; casts outside of attention move the gigabyte of each operator again.
    _, usual, _ = predicted(plain("forward", CORE, 15.1, 1.0), ["bf16"])
    assert usual == pytest.approx(6.0 + (2.0 + 2.0 + 5.0) / 10 + 1.0, rel=0.01)


def test_what_is_not_written_out_is_not_known() -> None:
    with pytest.raises(NotKnownError, match="scores, softmax, values"):
        predicted(plain(*BOUND), ["sdpa"])
    with pytest.raises(NotKnownError, match="number of its parameters"):
        predicted(plain("train_step", UPDATE, 20.0, 1.0, parameters=float("nan")), ["fused"])


PATHS = st.sampled_from(("forward/norm", "forward/head", "backward", "optimizer"))
OPERATOR = st.tuples(
    PATHS, *map(st.just, ("elementwise", "aten::mul", "", "8 x 8")),
    st.integers(1, 40), st.floats(0.01, 20.0),
)  # fmt: skip


@costly
@given(st.lists(OPERATOR, min_size=1, max_size=6), st.floats(0.1, 100.0), st.floats(1.0, 1.1))
def test_what_only_takes_work_away_never_lengthens_and_nothing_changes_nothing(
    rows: list[Operator], host_us: float, unexplained: float
) -> None:
    most_ms = sum(ms + calls * (host_us / 1e3 + 0.0015) for *_, calls, ms in rows)
    plain_ms = unexplained * most_ms
    step = plain("train_step", rows, plain_ms, host_us)
    assert predicted(step, [])[1] == pytest.approx(plain_ms, rel=1e-3)
    assert predicted(step, ["graph"])[1] <= plain_ms * (1 + 1e-3)


def test_each_remedy_comes_alone_and_with_a_graph_and_in_the_growing_stack() -> None:
    found = ["+".join(each) for each in combinations("bf16", "naive", "adamw")]
    assert found == [
        *("sdpa", "foreach", "fused", "compile", "graph"),
        *("sdpa+graph", "foreach+graph", "fused+graph", "compile+graph"),
        *("sdpa+fused", "sdpa+fused+compile", "sdpa+fused+graph", "sdpa+fused+compile+graph"),
    ]
    assert combinations("bf16", "sdpa", "fused") == [
        ("compile",), ("graph",), ("compile", "graph"),
    ]  # fmt: skip


CEILINGS = pd.DataFrame({
    "kind": ["bandwidth", "compute", "compute"],
    "name": ["copy", "matmul", "matmul"],
    "precision": ["fp32", "fp32", "bf16"],
    "status": "ok",
    "median_gb_per_s": [1000.0, None, None],
    "median_tflop_per_s": [None, 50.0, 500.0],
})  # fmt: skip

TIMINGS = pd.DataFrame({
    "case": "a", "size": "small", "context": 128, "batch": 4, "precision": "bf16",
    "attention": "sdpa", "optimizer": "fused", "device": "cuda", "execution": "eager",
    "phase": ["forward", "forward_backward"], "status": ["ok", "oom"], "reason": ["", "no memory"],
    "median_ms": [1.0115, None], "p20_ms": 1.0, "p80_ms": 1.0, "processes": 1,
    "replayed_median_ms": None,
})  # fmt: skip


COMPILED = {"timings": TIMINGS.assign(execution="compiled")}


def rows_of(**changes: pd.DataFrame | None) -> list[dict[str, object]]:
    tables = {
        "timings": TIMINGS, "operators": operators("forward", LAUNCHES), "ceilings": CEILINGS,
    } | changes  # fmt: skip
    return list(predictions({n: table for n, table in tables.items() if table is not None}))


def test_a_run_gives_a_row_per_measured_phase_and_combination() -> None:
    found = {row["remedies"]: row for row in rows_of()}
    assert list(found) == ["compile", "graph", "compile+graph"]
    assert {row["phase"] for row in found.values()} == {"forward"}
    # The host's 100 us for a launch are solved from the plain time.
    assert found["graph"]["predicted_ms"] == pytest.approx(0.2, rel=0.05)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"ceilings": None}, "the run has no table of ceilings"),
        ({"timings": TIMINGS.assign(device="cpu")}, "a CPU has no launches to replay"),
        (COMPILED, "what a remedy changes in generated code isn't known"),
        ({"operators": operators("forward", [])}, "what launched it wasn't recorded"),
        ({"operators": operators("train_step", LAUNCHES)}, "what launched it wasn't recorded"),
    ],
)
def test_what_predictions_lack_is_said(changes: dict[str, pd.DataFrame | None], why: str) -> None:
    assert {(row["status"], row["reason"]) for row in rows_of(**changes)} == {("not_known", why)}


def test_a_compiled_case_is_not_compiled_again() -> None:
    assert [row["remedies"] for row in rows_of(**COMPILED)] == ["graph"]
