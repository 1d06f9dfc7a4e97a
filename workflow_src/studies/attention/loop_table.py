"""Many passes in turn, as the course asks: their time, and the memory that they need."""

from collections.abc import Sequence

import pandas as pd

from workflow_src.paper.value import Cell, Value, computed
from workflow_src.studies.lines import Line, grouped, joined, shown


def loops(every: Sequence[Line]) -> pd.DataFrame:
    """A row per head size and context: passes in turn, and memory as predicted and measured."""
    return shown([_row(mine) for mine in grouped(every, "head_size", "context")])


def _row(mine: Sequence[Line]) -> dict[str, Cell]:
    phases = {line.text("phase"): line for line in mine}
    forward, backward = phases.get("forward"), phases.get("backward")
    predicted, measured = (
        forward and forward.value(f"{name}before_backward_mib", "MiB")
        for name in ("predicted_", "")
    )
    return {
        "head size": mine[0].whole("head_size"),
        "context": mine[0].whole("context"),
        "passes": forward and forward.value("samples", "count"),
        "forward, ms": forward and (_whole(forward) or forward.state),
        "backward, ms": backward and (_whole(backward) or backward.state),
        "before backward, MiB": joined((predicted, measured)),
        "peak of both, MiB": backward and backward.value("predicted_peak_mib", "MiB"),
    }


def _whole(line: Line) -> Value | None:
    """What all passes of a loop take."""
    mean, passes = line.measured("mean_ms"), line.value("samples", "count")
    return (
        mean
        and passes
        and computed(mean.number * passes.number, "ms", "mean x passes", mean, passes)
    )
