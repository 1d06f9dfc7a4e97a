"""The long tables of the study ranks."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from workflow_src.common.datasheets import LINKS_GB_PER_S
from workflow_src.paper.value import Cell, Joined, Value, computed
from workflow_src.studies.lines import Line, conditions, gib, grouped, joined, most, shown, spread
from workflow_src.studies.ranks.points import MB
from workflow_src.studies.ranks.way import NAMES, PEAKS, Way, both_columns, case_name, off

COLLECTIVES = {
    "allreduce": "all-reduce",
    "allgather": "all-gather",
    "reducescatter": "reduce-scatter",
    "broadcast": "broadcast",
}

TIMES = ("communication_ms", "exposed_ms", "step_ms")
"""The times that are predicted, by the names of their columns."""


SHAPE = {"context": "context", "batch": "batch", "samples": "steps timed"}
"""The columns that say what a rank's step is, in words."""


@dataclass(frozen=True)
class Details:
    """The long tables: times and peaks beside predictions, collectives, errors, all-reduces.

    late: how many of FSDP2's all-gathers are, by case. traced: traced steps over timed ones, by
    case. shape: what a rank's step is.
    """

    shape: Cell
    times: pd.DataFrame
    peaks: pd.DataFrame
    collectives: pd.DataFrame
    errors: pd.DataFrame
    reduced: pd.DataFrame
    late: Cell
    traced: Cell


def details(ways: Sequence[Way], reduced: Sequence[Line], collectives: Sequence[Line]) -> Details:
    """The tables of what was measured: ways, all-reduces alone, and the collectives of ways."""
    ran = [way for way in ways if way.line.ok]
    moving = [way for way in ran if way.communicates]
    found = [line for line in collectives if line.ok]
    return Details(
        shape=conditions([way.line for way in ran], SHAPE),
        times=shown([_predicted(way) for way in moving]),
        peaks=shown([_peaks(way) for way in ran]),
        collectives=shown([_collective(line) for line in found]),
        errors=shown([_errors(mine) for mine in grouped((way.line for way in moving), "way")]),
        reduced=shown([_reduced(line) for line in reduced if line.ok]),
        late=_late(found),
        traced=_traced(ran),
    )


def _reduced(line: Line) -> dict[str, Cell]:
    """An all-reduce: its time, and its bus bandwidth as a share of the link's."""
    size, rate = line.value("bytes", "bytes"), line.value("bus_gb_per_s", "GB/s")
    link = LINKS_GB_PER_S.get(line.text("gpu"))
    share = computed(rate.number / link, "share", "bus / link", rate) if rate and link else None
    return {
        "all-reduce of, MB": size and computed(size.number / MB, "", "bytes", size),
        "ms": line.times,
        "algorithm bandwidth, GB/s": line.value("algorithm_gb_per_s", "GB/s"),
        "bus bandwidth, GB/s": rate,
        "of a link's": share,
    }


def _predicted(way: Way) -> dict[str, Cell]:
    """Each time of a way as "predicted -> measured"."""
    heads = ("communication, ms", "nothing hides, ms", "step, ms")
    cells: dict[str, Cell] = {"case": way.case, "way": way.name}
    for head, name in zip(heads, TIMES, strict=True):
        columns = reversed(both_columns(name))
        cells[head] = joined(way.line.value(column, "ms") for column in columns)
    cells["waits for the other, ms"] = way.line.value("wait_ms", "ms")
    cells["computes, ms"] = way.line.value("compute_ms", "ms")
    cells["recorded step, ms"] = way.line.value("recorded_ms", "ms")
    cells["off"] = off(way.line, "step_ms")
    return cells | {"communication not read": way.line.text("trace_reason") or None}


def _peaks(way: Way) -> dict[str, Cell]:
    heads = ("initialized, GiB", "before the optimizer, GiB", "in it, GiB")
    cells: dict[str, Cell] = {"case": way.case, "way": way.name}
    for head, name in zip(heads, PEAKS, strict=True):
        cells[head] = joined(gib(way.line, column) for column in reversed(both_columns(name)))
    return cells | {"held after initialization, GiB": gib(way.line, "held_mib")}


def _collective(line: Line) -> dict[str, Cell]:
    return {
        "case": case_name(line),
        "way": NAMES.get(line.text("way"), line.text("way")),
        "collective": COLLECTIVES.get(line.text("collective"), line.text("collective")),
        "calls a step": _calls(line, "calls"),
        "late": _calls(line, "late_calls"),
        "ms a step": line.value("communication_ms", "ms"),
        "nothing hides, ms": line.value("exposed_ms", "ms"),
    }


def _late(found: Sequence[Line]) -> Cell:
    """ "2 of 65 in 2.7B fp32, 64.5 of 65 in 2.7B bf16"."""
    parts = [
        Joined((Joined((late, calls), by=" of "), f"in {case_name(line)}"), by=" ")
        for line in found
        if (line.text("way"), line.text("collective")) == ("fsdp", "allgather")
        and (late := _calls(line, "late_calls"))
        and (calls := _calls(line, "calls"))
    ]
    return Joined(tuple(parts), by=", ") if parts else None


def _calls(line: Line, column: str) -> Value | None:
    """Calls a step, a whole number unless steps differ."""
    return line.value(column, "count" if line.amount(column).is_integer() else "")


def _traced(ran: Sequence[Way]) -> Cell:
    """ "1.0 x in 2.7B fp32, 1.3 x to 1.9 x in 2.7B bf16"."""
    cases = dict.fromkeys(way.case for way in ran if way.traced)
    parts = [
        Joined((spread(way.traced for way in ran if way.case == case), f"in {case}"), by=" ")
        for case in cases
    ]
    return Joined(tuple(parts), by=", ") if parts else None


def _errors(mine: Sequence[Line]) -> dict[str, Cell]:
    """The largest errors of a way, which every case checks with the same small model."""
    heads = {"gradients": "gradient_error", "parameters after a step": "parameter_error"}
    way: dict[str, Cell] = {"way": NAMES.get(mine[0].text("way"), mine[0].text("way"))}
    found = {head: most(line.value(n, "error") for line in mine) for head, n in heads.items()}
    return way | found
