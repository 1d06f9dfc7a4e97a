"""Measures the study flash: each implementation's errors, times and memory over the context."""

from collections.abc import Callable, Iterator
from functools import cache, partial

import torch
from torch._functorch import config as autograd_config

from workflow_src.measure.oom import skipped
from workflow_src.measure.progress import said
from workflow_src.studies.flash.implementations import PHASES, Passes, Series, memory_mib
from workflow_src.studies.flash.points import POINT
from workflow_src.studies.flash.timing import guarded, timed, too_long
from workflow_src.studies.run_point import main
from workflow_src.studies.study import Point, Row


def measure(point: Point) -> list[Row]:
    """A row of sweep "check" per implementation, precision and head size, and of sweep "time" per
    context and phase of each that is right and not refused."""
    torch.manual_seed(0)
    # Else a compiled backward pass could not run again and again on one graph.
    autograd_config.donated_buffer = False
    return [
        row
        for precision in point["precisions"]
        for implementation in point["implementations"]
        for shape in point["shapes"]
        for row in _rows(Series(implementation, precision, shape["head_size"], point), shape)
    ]


def _rows(series: Series, shape: Row) -> Iterator[Row]:
    about: Row = {"implementation": series.implementation, "precision": series.precision}
    about |= {"batch": series.point["batch"], "heads": 1, "head_size": series.head_size}
    check = said(f"{series.name}: check", guarded(series.check, series.device))
    yield {"sweep": "check"} | about | check
    if check["status"] != "ok":
        return
    rough_ms: dict[str, tuple[int, float]] = {}
    for context in shape["contexts"]:
        here = about | {"context": context, "memory_mib": memory_mib(series.device)}
        for phase, row in _phases(series, context, rough_ms):
            row = said(f"{series.name}, context {context}, {phase}", row)
            yield {"sweep": "time"} | here | {"phase": phase} | row


def _phases(
    series: Series, context: int, rough_ms: dict[str, tuple[int, float]]
) -> Iterator[tuple[str, Row]]:
    """Each phase at one context with its row; `rough_ms` is as `too_long` takes it, and updated."""
    make = cache(partial(Passes, series, context))
    status, before = "ok", ""
    for phase in PHASES:
        why = series.lacks(phase) or too_long(rough_ms, phase, context, series.point["limit_s"])
        if status == "oom":
            yield phase, skipped(before)
            continue
        if why:
            yield phase, {"status": "skipped", "reason": why}
            continue
        row = guarded(partial(_timed, make, phase), series.device)
        if row["status"] == "ok":
            rough_ms[phase] = context, min(row["samples_ns"]) / 1e6
        status, before = row["status"], phase
        yield phase, row


def _timed(make: Callable[[], Passes], phase: str) -> Row:
    return timed(make(), phase)


if __name__ == "__main__":
    main(measure, POINT)
