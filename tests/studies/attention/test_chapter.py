"""What the study attention says of small tables."""

from typing import Any

import pandas as pd
import pytest

from tests.studies.chapters import chapter, run_of, texts
from tests.studies.tables import table
from workflow_src.paper.run import first
from workflow_src.paper.written import Facts
from workflow_src.studies.attention.chapter import facts

OWN, FLASH, NAIVE = "mine.py:tiles", "sdpa_flash", "naive"
ROOM = {"memory_mib": 100.0}


def row(implementation: str, context: int, ms: float | None, phase: str, **more: Any) -> Any:
    about = {"sweep": "time", "implementation": implementation, "precision": "bf16", "batch": 1}
    about |= {"head_size": 64, "context": context, "phase": phase, "median_ms": ms}
    return about | {"status": "ok" if ms else "oom", "samples": 9} | more


def both(implementation: str, context: int, ms: float | None, **more: Any) -> Any:
    return row(implementation, context, ms, "forward_backward", **more)


def check(implementation: str, status: str = "ok", **errors: float) -> Any:
    about = {"sweep": "check", "implementation": implementation, "precision": "bf16"}
    named = {f"error_{name}": error for name, error in errors.items()}
    return about | {"head_size": 64, "status": status, "error_allowed": 0.03} | named


def found(*rows: Any, ceilings: pd.DataFrame | None = None) -> Facts:
    return facts(run_of("attention", table(*rows), ceilings))


def test_ones_own_is_judged_by_the_four_longest_contexts() -> None:
    """As on the H200s: 1.6 times as long at 65536, but 2.1 times at 8192 and 16384."""
    times = {4096: 9.0, 8192: 2.1, 16384: 2.0, 32768: 1.8, 65536: 1.6}
    rows = [row(FLASH, context, 1.0, "forward") for context in times]
    rows += [row(OWN, context, ms, "forward") for context, ms in times.items()]
    made = found(*rows, both(FLASH, 128, 1.0))["own_times"]
    assert float(made) == pytest.approx(1.9)
    assert [float(each) for each in made.ends] == [1.6, 2.1]


@pytest.mark.parametrize(
    ("rows", "verdict", "said"),
    [
        (
            [row(FLASH, 256, 1.0, "forward"), row(OWN, 256, 2.0, "forward"), both(FLASH, 128, 1.0)],
            "own",
            "mine.tiles takes 2.0 ×",
        ),
        ([both(NAIVE, 128, 4.0), check(OWN, "failed")], "wrong", "mine.tiles isn't right"),
        ([both(NAIVE, 128, 4.0), both(FLASH, 128, 1.0)], "faster", "SDPA flash is 4.0 × as fast"),
        ([both(NAIVE, 128, 4.0), both(FLASH, 128, 3.9, p20_ms=3, p80_ms=5)], "alike", "no attent"),
        ([both(NAIVE, 128, None), both(FLASH, 128, 3.9)], "alone", "SDPA flash is fastest"),
        ([both(NAIVE, 128, None)], "can't tell", "can't be told"),
    ],
)
def test_verdicts(rows: list[Any], verdict: str, said: str) -> None:
    made = chapter("attention", run_of("attention", table(*rows)))
    assert made.verdict == verdict and said in made.markdown["headline"]


def test_passes_measured_apart_are_added() -> None:
    """Kernels and device time, too; and the peak over both stands beside the backward pass."""
    work = {"kernels": 3, "busy_ms": 1.0}
    apart = [
        row(NAIVE, 128, 1.0, "forward", **work),
        row(NAIVE, 128, 3.0, "backward", peak_mib=7.0, **work),
    ]
    made = first(found(*apart)["every"])
    assert (made["ms"], made["kernels_both"], made["working"], made["peak"]) == (4, 6, 0.5, 7)
    assert made["ms"].rows == {("studies/attention", 2), ("studies/attention", 3)}


def test_a_context_that_ran_out_of_memory_says_so_beside_those_that_did_not() -> None:
    rows = [both(NAIVE, 256, None), row(NAIVE, 256, None, "forward"), both(FLASH, 256, 2.0)]
    made = found(*rows, both(NAIVE, 128, 1.0), row(NAIVE, 128, 0.5, "forward"))["contexts"]
    assert texts(made["context"]) == ["128", "256"]
    assert texts(made["written out"]) == ["1.0", "OOM"]


def test_the_slowest_ceiling_of_a_pass_limits_it() -> None:
    ceilings = table(
        {"kind": "compute", "precision": "bf16", "best_tflop_per_s": 100, "is_ceiling": True},
        {"kind": "exponential", "best_giga_exp_per_s": 1000, "is_ceiling": True},
        {"kind": "bandwidth", "best_gb_per_s": 2000, "is_ceiling": True},
    ).assign(name="best")
    work = {"products_in": "bf16", "flops": 1e11, "exponentials": 1.5e9}
    made = found(
        row(FLASH, 128, 3.0, "forward", **work),
        row(NAIVE, 128, 3.0, "forward", **work | {"exponentials": 1e8}, matrix_bytes=3e9),
        ceilings=ceilings,
    )["ceilings"]
    # 1e11 FLOPs take 1 ms at 100 TFLOP/s, 1.5e9 exponentials 1.5 ms, 3 GB at 2,000 GB/s 1.5 ms.
    assert list(made["limit_forward"]) == ["exponentials", "memory"]
    assert texts(made["share_forward"]) == ["50 %", "50 %"]
    assert texts(made["rate_forward"]) == ["33.3", "33.3"]


def test_memory_is_held_against_the_formula_that_foresaw_what_fits() -> None:
    made = found(
        both(NAIVE, 128, 1.0, peak_mib=51.0, predicted_peak_mib=50.0, **ROOM),
        both(NAIVE, 256, None, predicted_peak_mib=200.0, **ROOM),
    )["memory"]
    names = ["peak_both", "by_formula", "fits", "oom"]
    assert [float(cell) for cell in first(made)[names]] == [1.02, 128, 128, 256]


def test_errors_are_the_largest_over_head_sizes() -> None:
    rows = [check(OWN, out=0.001, dq=0.002), check(OWN, out=0.003, dq=0.001)]
    (only,) = found(*rows)["checks"].to_dict("records")
    assert [str(only[name]) for name in ("error_out", "error_dq")] == ["0.003", "0.002"]
