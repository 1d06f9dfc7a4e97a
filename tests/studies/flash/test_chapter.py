"""What the study flash says of small tables."""

from typing import Any

import pytest

from tests.studies.tables import NO_CEILINGS, printed, table
from workflow_src.common.words import DASH
from workflow_src.paper.show import Printer
from workflow_src.studies.flash.chapter import Flash, Verdict, headline, result

OWN, FLASH, NAIVE = "mine.py:tiles", "sdpa_flash", "naive"
SHOW = Printer()


def row(implementation: str, context: int, ms: float | None, phase: str, **more: Any) -> Any:
    about = {"sweep": "time", "implementation": implementation, "precision": "bf16", "batch": 1}
    about |= {"head_size": 64, "context": context, "phase": phase, "median_ms": ms}
    return about | {"status": "ok" if ms else "oom", "timed_by": "a clock"} | more


def both(implementation: str, context: int, ms: float | None, **more: Any) -> Any:
    return row(implementation, context, ms, "forward_backward", **more)


def check(implementation: str, status: str = "ok", **errors: float) -> Any:
    about = {"sweep": "check", "implementation": implementation, "precision": "bf16"}
    named = {f"error_{name}": error for name, error in errors.items()}
    return about | {"head_size": 64, "status": status, "error_allowed": 0.03} | named


def test_the_headline_spans_the_four_longest_contexts() -> None:
    """As on the H200s: 1.6 times as long at 65536, but 2.1 times at 8192 and 16384."""
    times = {4096: 9.0, 8192: 2.1, 16384: 2.0, 32768: 1.8, 65536: 1.6}
    rows = [row(FLASH, context, 1.0, "forward") for context in times]
    rows += [row(OWN, context, ms, "forward") for context, ms in times.items()]
    said = headline(found(*rows)).text(SHOW)
    assert (
        "At context 8192 to 65536, the forward pass of mine.tiles takes 1.6 x to 2.1 x as long"
        in said
    )


@pytest.mark.parametrize(
    ("backward", "printed_as"),
    [
        ({"ms": 2.0, "samples": 9}, "1.0 → 2.0 → 3.0°"),
        ({"ms": 2.0, "samples": 1}, f"1.0 → {DASH} → 3.0°"),
        ({"ms": 3.1, "samples": 9}, f"1.0 → {DASH} → 3.0°"),
    ],
)
def test_a_backward_pass_of_one_call_or_longer_than_both_has_no_time(
    backward: dict[str, Any], printed_as: str
) -> None:
    passes = [row(OWN, 128, 1.0, "forward", samples=9), both(OWN, 128, 3.0, samples=1)]
    made = found(*passes, row(OWN, 128, phase="backward", **backward)).times
    assert printed(made)[0][-1] == printed_as


def found(*rows: Any, ceilings: Any = NO_CEILINGS) -> Flash:
    return result(table(*rows), ceilings)


@pytest.mark.parametrize(
    ("rows", "verdict", "said"),
    [
        (
            [
                *(row(FLASH, 256, 1.0, "forward"), row(OWN, 256, 2.0, "forward")),
                *(both(FLASH, 128, 1.0), both(OWN, 128, 3.0), both(FLASH, 256, 2.0)),
            ],
            Verdict.OWN,
            "At context 256, the forward pass of mine.tiles takes 2.0 x as long as that of "
            "PyTorch's fastest, in one process each: at 256, 2.0 against 1.0 ms of SDPA flash.",
        ),
        (
            [row(FLASH, 128, 1.0, "forward"), row(OWN, 128, 0.5, "forward")],
            Verdict.OWN,
            "0.50 x as long as that of PyTorch's fastest, in one process each: at 128, 0.50 "
            "against 1.0 ms of SDPA flash.",
        ),
        (
            [both(NAIVE, 128, 4.0), check(OWN, "failed")],
            Verdict.WRONG,
            "mine.tiles isn't right, and was not timed",
        ),
        ([both(NAIVE, 128, 4.0), both(FLASH, 128, 1.0)], Verdict.NO_OWN, "SDPA flash with 1.0 ms"),
        ([both(NAIVE, 128, None)], Verdict.CANT_TELL, "can't be told"),
    ],
)
def test_verdicts(rows: list[Any], verdict: Verdict, said: str) -> None:
    made = headline(found(*rows))
    assert made.verdict is verdict
    assert said in made.text(SHOW)


def test_a_context_that_ran_out_of_memory_says_so_beside_those_that_did_not() -> None:
    rows = [both(NAIVE, 256, None), row(NAIVE, 256, None, "forward"), both(FLASH, 256, 2.0)]
    made = found(*rows, both(NAIVE, 128, 1.0), row(NAIVE, 128, 0.5, "forward")).contexts
    assert [SHOW(cell) for cell in made["context"]] == ["128", "256"]
    assert [SHOW(cell) for cell in made["written out"]] == [
        "0.50 \N{RIGHTWARDS ARROW} 1.0",
        "OOM",
    ]


def test_times_of_another_host_are_marked_where_hosts_are_known() -> None:
    """Two lines of host a, one of b, one from before hosts had ids."""
    hosts = {FLASH: "a", OWN: "a", NAIVE: "b", "flex": ""}
    rows = [both(name, 128, 1.0, host_id=host) for name, host in hosts.items()]
    assert printed(found(*rows).contexts)[0][1:] == [
        f"{DASH} \N{RIGHTWARDS ARROW} 1.0{mark}" for mark in ("", "", "\N{DAGGER}", "")
    ]


def test_one_that_is_not_right_says_so_beside_those_that_are_timed() -> None:
    other = check("mine.py:other_precision", "failed") | {"precision": "fp32"}
    rows = [both(FLASH, 128, 1.0), both(OWN, 128, 2.0), check("mine.py:wrong", "failed"), other]
    made = found(*rows).contexts
    assert list(made.columns) == ["context", "SDPA flash", "mine.tiles", "mine.wrong"]
    assert SHOW(made["mine.wrong"][0]) == "not right"


def test_the_slowest_ceiling_of_a_pass_limits_it() -> None:
    ceilings = table(
        {"kind": "compute", "precision": "bf16", "best_tflop_per_s": 100, "is_ceiling": True},
        {"kind": "exponential", "best_giga_exp_per_s": 1000, "is_ceiling": True},
        {"kind": "bandwidth", "best_gb_per_s": 2000, "is_ceiling": True},
    )
    work = {"products_in": "bf16", "flops": 1e11, "exponentials": 1.5e9}
    made = found(
        row(FLASH, 128, 3.0, "forward", **work),
        row(NAIVE, 128, 3.0, "forward", **work, matrix_bytes=3e9),
        ceilings=ceilings,
    ).ceilings
    # 1e11 FLOPs take 1 ms at 100 TFLOP/s, 1.5e9 exponentials 1.5 ms, 3 GB at 2,000 GB/s 1.5 ms.
    assert list(made["of (forward)"]) == ["exponentials", "memory"]
    assert [SHOW(cell) for cell in made["forward, share"]] == ["50 %", "50 %"]
    assert [SHOW(cell) for cell in made["forward, TFLOP/s"]] == ["33.3", "33.3"]


def test_memory_is_held_against_the_formula_that_foresaw_what_fits() -> None:
    memory = {"memory_mib": 100.0}
    made = found(
        both(NAIVE, 128, 1.0, peak_mib=51.0, predicted_peak_mib=50.0, **memory),
        both(NAIVE, 256, None, predicted_peak_mib=200.0, **memory),
    ).memory
    (only,) = made.to_dict("records")
    assert [SHOW(only[name]) for name in ("both passes", "longest by formula")] == [
        "1.020 x",
        "128",
    ]
    assert [SHOW(only[name]) for name in ("longest measured", "first OOM")] == ["128", "256"]


def test_errors_are_the_largest_over_head_sizes() -> None:
    rows = [check(OWN, out=0.001, dq=0.002), check(OWN, out=0.003, dq=0.001)]
    (only,) = found(*rows).checks.to_dict("records")
    assert [SHOW(only[name]) for name in ("out", "dq")] == ["0.003", "0.002"]
