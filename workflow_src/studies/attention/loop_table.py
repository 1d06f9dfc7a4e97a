"""Many passes in turn, as the course asks: their time, and the memory that they need."""

from collections.abc import Sequence

import pandas as pd

from workflow_src.paper.value import Cell, Joined, Value, computed
from workflow_src.studies.lines import Line, grouped, shown


def loops(every: Sequence[Line]) -> pd.DataFrame:
    """A row per head size and context: passes in turn, and memory as predicted and measured."""
    return shown([_row(mine) for mine in grouped(every, "head_size", "context")])


def _row(mine: Sequence[Line]) -> dict[str, Cell]:
    phases = {line.text("phase"): line for line in mine}
    forward, backward = phases["forward"], phases["backward"]
    predicted = forward.value("predicted_before_backward_mib", "MiB")
    return {
        "head size": forward.whole("head_size"),
        "context": forward.whole("context"),
        "passes": forward.value("samples", "count"),
        "forward, ms": _whole(forward) or forward.state,
        "backward, ms": _whole(backward) or backward.state,
        "before backward, MiB": Joined((predicted, forward.value("before_backward_mib", "MiB"))),
        "peak of both, MiB": backward.value("predicted_peak_mib", "MiB"),
    }


def _whole(line: Line) -> Value | None:
    """What all passes of a loop take."""
    mean, passes = line.measured("mean_ms"), line.value("samples", "count")
    return (
        mean
        and passes
        and computed(mean.number * passes.number, "ms", "mean x passes", mean, passes)
    )
