"""Measures attention: how right each implementation is, its times and memory over the context."""

from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import product
from math import inf

import torch
from torch._functorch import config as autograd_config

from workflow_src.common.errors import StageError, UnavailableError
from workflow_src.common.units import NS_PER_MS
from workflow_src.measure.activities import activities_of
from workflow_src.measure.brought import in_words
from workflow_src.measure.memory import peak_mib
from workflow_src.measure.rows import out_of_memory
from workflow_src.measure.timing import Call, repeated, time_call
from workflow_src.studies.attention.implementations import PHASES, Passes, Series
from workflow_src.studies.refusals import refusing
from workflow_src.studies.study import Point, Row
from workflow_src.studies.tasks import Task, main

LEAST_CALLS = 10
"""Calls of a phase at least: before it, for its peak, and by do_bench once, five times to estimate,
to warm up and as a sample."""

Took = dict[str, tuple[int, float]]
"""The last context at which each phase was measured, and a call's time (ms) there."""


def tasks(point: Point) -> Iterator[Task]:
    """A check of each implementation, precision and head size; of those that are right, each phase
    at each context."""
    torch.manual_seed(0)
    # Else a compiled backward pass could not run again and again on one graph.
    autograd_config.donated_buffer = False
    axes = point["precisions"], point["implementations"], point["shapes"]
    for precision, name, shape in product(*axes):
        yield from _series(Series(name, precision, shape["head_size"], point), shape)


def _series(series: Series, shape: Row) -> Iterator[Task]:
    about: Row = {"implementation": series.implementation, "precision": series.precision}
    about |= {"batch": series.point["batch"], "heads": 1, "head_size": series.head_size}
    yield Task({"sweep": "check"} | about, partial(guarded, series.check))
    took: Took = {}
    for context in shape["contexts"] if series.errors else ():
        here = {"sweep": "time"} | about | {"context": context}
        passes = cache(partial(Passes, series, context))
        is_profiled = context in shape.get("profiled", ())
        for phase in PHASES:
            why = series.lacks(phase) or too_long(took, phase, context, series.point)
            row: Row = {"status": "skipped", "reason": why}
            run = row.copy if why else partial(measured, passes, phase, is_profiled)
            task = Task(here | {"phase": phase}, partial(guarded, run), ladder=f"{context}")
            yield task
            if "samples_ns" in task.row:
                took[phase] = context, min(task.row["samples_ns"]) / NS_PER_MS


def too_long(took: Took, phase: str, context: int, point: Point) -> str:
    """Why a phase isn't measured at a context, or "" within the point's `limit_s`. Time grows by
    the square of the context."""
    limit_s: float = point.get("limit_s", inf)
    at, ms = took.get(phase, (context, 0.0))
    expected_s = LEAST_CALLS * ms * (context / at) ** 2 / 1e3
    if expected_s <= limit_s:
        return ""
    return f"would take {expected_s:.0f} s, and the limit is {limit_s:g} s"


def guarded(run: Callable[[], Row]) -> Row:
    """The row of `run`, or one of status failed; raises out of memory and UnavailableError."""
    try:
        with refusing():
            return run()
    except Exception as error:
        if isinstance(error, UnavailableError) or out_of_memory(error):
            raise
        reason = str(error) if isinstance(error, StageError) else in_words(error)
        return {"status": "failed", "reason": reason}


def measured(make: Callable[[], Passes], phase: str, is_profiled: bool) -> Row:
    """`samples_ns` of a phase, and its peak memory on a GPU. Where many forward passes are timed in
    turn, also what is in use after one."""
    passes = make()
    series, call = passes.series, passes.call(phase)
    call()
    row: Row = {}
    if phase != "backward":
        row["peak_mib"] = peak_mib(call, series.device, passes.before_bytes)
    if phase == "forward" and "steps" in series.point:
        row["before_backward_mib"] = passes.in_use_mib()
    row |= samples(call, series.point)
    return row | ({"activities": activities_of(call, series.device)} if is_profiled else {})


def samples(call: Call, point: Point) -> Row:
    """`samples_ns` of a call, as many as the point says. Within a budget on a GPU by triton's
    do_bench, which empties the L2 cache before each call."""
    device, budget_ms = point["device"], point.get("budget_ms")
    if budget_ms and device == "cuda":
        # Imported here, because only the CUDA builds of PyTorch include Triton.
        from triton.testing import do_bench

        every = do_bench(call, warmup=budget_ms / 4, rep=budget_ms, return_mode="all")
        return {"samples_ns": [round(ms * NS_PER_MS) for ms in every]}
    if budget_ms:
        _, _, steps = repeated(call, device, budget_ms, 0.0)
        return {"samples_ns": time_call(call, device, 1, steps)}
    return {"samples_ns": time_call(call, device, point["warmup_steps"], point["steps"])}


if __name__ == "__main__":
    main(tasks)
