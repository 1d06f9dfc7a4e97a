"""Peaks of memory beside their predictions."""

from collections.abc import Iterable, Sequence

from workflow_src.paper.value import Cell, Value
from workflow_src.studies.lines import Line, absolute, change, out_of


def off(every: Iterable[Line]) -> tuple[Value, ...]:
    """By how much predicted peaks are off, without sign."""
    both = ((line.value("predicted_peak_mib", "MiB"), line.measured("peak_mib", "MiB"))
            for line in every)  # fmt: skip
    return tuple(absolute(found) for pair in both if (found := change(*pair)))


def fits(every: Iterable[Line]) -> Cell:
    """How many predictions of what fits are right, of all where it ran, or ran out of memory."""
    known = [line for line in every if line.text("fits_predicted")]
    known = [line for line in known if line.ok or line.text("status") == "oom"]
    right = [line for line in known if line.ok == (line.text("fits_predicted") == "yes")]
    return out_of(_predictions(right), _predictions(known))


def _predictions(every: Sequence[Line]) -> list[Value]:
    return [peak for line in every if (peak := line.value("predicted_peak_mib", "MiB"))]
