"""Times a phase by triton.testing.do_bench, where a GPU and Triton are there, and its memory."""

from collections.abc import Callable, Mapping
from functools import partial

from workflow_src.common.errors import StageError
from workflow_src.common.units import NS_PER_MS
from workflow_src.measure.brought import in_words
from workflow_src.measure.memory import kept_mib, peak_mib
from workflow_src.measure.oom import attempt, free, out_of_memory
from workflow_src.measure.timing import time_within
from workflow_src.studies.flash.implementations import Passes
from workflow_src.studies.refusals import refusal
from workflow_src.studies.study import Row

DO_BENCH, OURS = "triton.testing.do_bench", "this project's timing"
"""What took the time. do_bench empties the L2 cache before each call, and times it by events."""

LEAST_CALLS = 10
"""Calls of a phase at least: before it, for its peak, and by do_bench once, five times to estimate,
to warm up and as a sample."""


def too_long(
    rough_ms: Mapping[str, tuple[int, float]], phase: str, context: int, limit_s: float
) -> str:
    """Why a phase isn't measured at a context; "" if it takes less than the limit.

    `rough_ms` has the last context at which each phase was measured, and a call's time there, which
    grows by the square of the context.
    """
    at, ms = rough_ms.get(phase, (context, 0.0))
    expected_s = LEAST_CALLS * ms * (context / at) ** 2 / 1e3
    return f"would take {expected_s:.0f} s, and the limit is {limit_s:g} s" * (expected_s > limit_s)


def guarded(run: Callable[[], Row], device: str) -> Row:
    """The row of `run`; else one of status oom, skipped (refused) or failed, with the reason.

    The device's memory is freed of what is no longer used.
    """
    found: list[Row] = []

    def whole() -> Row:
        try:
            why = refusal(lambda: found.append(run()))
        except Exception as error:
            if out_of_memory(error):
                raise
            reason = str(error) if isinstance(error, StageError) else in_words(error)
            return {"status": "failed", "reason": reason}
        return {"status": "skipped", "reason": why} if why else found[0]

    row = attempt(whole, partial(free, device))
    free(device)
    return row


def timed(passes: Passes, phase: str) -> Row:
    """`samples_ns` of a phase and `timed_by`, its peak memory on a GPU, and what autograd keeps.

    The last of an eager forward pass.
    """
    call, device = passes.call(phase), passes.series.device
    call()
    row: Row = {}
    if phase != "backward":
        row["peak_mib"] = peak_mib(call, device, passes.before_bytes)
    if phase == "forward" and passes.series.eager:
        row["kept_mib"] = kept_mib(passes.forward)
    return row | samples(call, device, passes.series.point["budget_ms"])


def samples(call: Callable[[], object], device: str, budget_ms: float) -> Row:
    """`samples_ns` of a call within a budget, and `timed_by`."""
    if device == "cuda":
        try:
            from triton.testing import do_bench
        except ImportError:
            pass
        else:
            every = do_bench(call, warmup=budget_ms / 4, rep=budget_ms, return_mode="all")
            return {"samples_ns": [round(ms * NS_PER_MS) for ms in every], "timed_by": DO_BENCH}
    return time_within(call, device, budget_ms) | {"timed_by": OURS}
