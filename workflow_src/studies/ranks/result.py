"""What communication costs each way of training, and how near predictions came."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from workflow_src.common.datasheets import LINKS_GB_PER_S
from workflow_src.common.thresholds import WORKING_FULLY
from workflow_src.render.value import Cell, Joined, Ranged, Value, computed, ratio
from workflow_src.studies.lines import Line, grouped, lines, out_of, shown, unmeasured
from workflow_src.studies.ranks.points import ALL_REDUCE, MB, WAYS

NAMES = {
    "alone": "no communication",
    "naive": "an all-reduce per parameter, after backward",
    "flat": "one all-reduce, after backward",
    "overlapped": "an all-reduce per parameter, during backward",
    "bucketed": "DistributedDataParallel",
    "sharded_optimizer": "overlapped, optimizer in shards",
    "fsdp": "FSDP2",
}
COLLECTIVES = {
    "allreduce": "all-reduce",
    "allgather": "all-gather",
    "reducescatter": "reduce-scatter",
    "broadcast": "broadcast",
}

MEBI_PER_GIBI = 1024
NEAR = 0.03
"""A predicted time or peak is right within this share."""

GRADIENTS_EQUAL, PARAMETERS_EQUAL = 1e-4, 1e-2
"""What rounding may do to gradients in float32, and to a step of AdamW, which depends on the sign
of gradients that are nearly 0."""


@dataclass(frozen=True)
class Way:
    """A way of training one case, with what its step takes over that without communication.

    working: the device's share of the step without communication, known on a GPU.
    """

    line: Line
    ms: Value | None
    over: Value | None
    working: Value | None

    @property
    def name(self) -> str:
        """The way in words."""
        return NAMES.get(self.line.text("way"), self.line.text("way"))

    @property
    def case(self) -> str:
        """Size and precision."""
        return f"{self.line.text('size')} {self.line.text('precision')}"

    @property
    def communicates(self) -> bool:
        """Whether ranks exchange anything."""
        return self.line.text("way") != "alone"

    @property
    def waits(self) -> bool:
        """Whether the device waits for launches, in which communication may hide."""
        return self.working is not None and self.working.number < WORKING_FULLY

    @property
    def wrong(self) -> bool:
        """Whether its step differs from one process's by more than rounding."""
        limits = {"gradient_error": GRADIENTS_EQUAL, "parameter_error": PARAMETERS_EQUAL}
        return any(self.line.amount(name) > limit for name, limit in limits.items())


@dataclass(frozen=True)
class Details:
    """The long tables: times and peaks beside predictions, collectives, errors, all-reduces."""

    times: pd.DataFrame
    peaks: pd.DataFrame
    collectives: pd.DataFrame
    errors: pd.DataFrame
    reduced: pd.DataFrame


@dataclass(frozen=True)
class Ranks:
    """What the study found.

    error: the largest difference of a step's gradients from one process's. working: the device's
    share of the step without communication, by case. foretold, fitted: how many predicted steps,
    of cases that don't wait for launches, and how many peaks are right within NEAR.
    """

    ways: tuple[Way, ...]
    error: Value | None
    working: Cell
    foretold: Cell
    fitted: Cell
    steps: pd.DataFrame
    details: Details
    missing: pd.DataFrame


def result(table: pd.DataFrame, ceilings: pd.DataFrame) -> Ranks:
    """What the study's table says; it isn't held against the run's ceilings."""
    every = lines(table, "ranks")
    of = {name: _of(every, name) for name in (ALL_REDUCE, "training", "collective")}
    ways = ways_of(of["training"])
    errors = [
        error
        for way in ways
        if way.line.ok and (error := way.line.value("gradient_error", "error"))
    ]
    times = [off for way in ways if not way.waits and (off := _off(way.line, *_names("step_ms")))]
    peaks = [off for way in ways for name in PEAKS if (off := _off(way.line, *_names(name)))]
    return Ranks(
        ways=tuple(ways),
        error=max(errors, key=lambda error: error.number, default=None),
        working=_working(ways),
        foretold=out_of(_near(times), times),
        fitted=out_of(_near(peaks), peaks),
        steps=_steps(ways),
        details=Details(
            shown([_predicted(way) for way in ways if way.line.ok and way.communicates]),
            shown([_peaks(way) for way in ways if way.line.ok]),
            shown([_collective(line) for line in of["collective"] if line.ok]),
            shown([_errors(mine) for mine in grouped(_checked(ways), "way")]),
            shown([_reduced(line) for line in of[ALL_REDUCE] if line.ok]),
        ),
        missing=unmeasured([*of[ALL_REDUCE], *of["training"]], _name),
    )


def _of(every: Sequence[Line], measurement: str) -> list[Line]:
    return [line for line in every if line.text("measurement") == measurement]


def ways_of(trained: Sequence[Line]) -> list[Way]:
    """The ways of each case of some lines, one case after another."""
    return [each for case in grouped(trained, "size", "precision") for each in _ways(case)]


def _ways(case: Sequence[Line]) -> list[Way]:
    """The ways of one case in the order of WAYS, with how much longer than alone they take."""
    times = {line.text("way"): line.value("median_ms", "ms") if line.ok else None for line in case}
    alone = times.get("alone")
    working = next((_share(line, alone) for line in case if line.text("way") == "alone"), None)
    found = [
        Way(line, ms, ratio(ms, alone, "near_one", "step / step without communication"), working)
        for line in case
        if (ms := times[line.text("way")]) or not line.ok
    ]
    order = {name: place for place, name in enumerate(WAYS)}
    return sorted(found, key=lambda way: order.get(way.line.text("way"), len(order)))


def _share(line: Line, alone: Value | None) -> Value | None:
    """The share of a GPU's step in which its device computes."""
    computes = line.value("compute_ms", "ms") if line.text("gpu") else None
    return ratio(computes, alone, "share", "computes / step")


def _working(ways: Sequence[Way]) -> Cell:
    """ "98 % in 2.7B fp32, 59 % in 2.7B bf16"."""
    found = {way.case: way.working for way in ways if way.working}
    parts = [Joined((share, f"in {case}"), by=" ") for case, share in found.items()]
    return Joined(tuple(parts), by=", ") if parts else None


def _steps(ways: Sequence[Way]) -> pd.DataFrame:
    """A row per way; of each case the step, what nothing hides of communication, and the peak."""
    rows: dict[str, dict[str, Cell]] = {}
    for way in ways:
        row = rows.setdefault(way.name, {"gradients are averaged by": way.name})
        exposed, whole = (way.line.value(f"{n}_ms", "ms") for n in ("exposed", "communication"))
        row[f"{way.case}, ms"] = _time(way)
        hidden = exposed and whole and whole.number > 0
        row[f"{way.case}: nothing hides, ms"] = (
            Joined((exposed, whole), by=" of ") if hidden else None
        )
        row[f"{way.case}: peak, GiB"] = _gib(_peak(way.line))
    return shown(list(rows.values()))


def _time(way: Way) -> Cell:
    if way.ms is None:
        return way.line.state
    return Ranged(way.ms, way.line.value("p20_ms", "ms"), way.line.value("p80_ms", "ms"))


def _peak(line: Line) -> Value | None:
    """The larger of the peaks before and in the optimizer's part."""
    found = [line.value(name, "MiB") for name in PEAKS[1:]]
    return max((each for each in found if each), key=lambda each: each.number, default=None)


def _gib(mib: Value | None) -> Value | None:
    return mib and computed(mib.number / MEBI_PER_GIBI, "GiB", mib.formula, mib)


def _reduced(line: Line) -> dict[str, Cell]:
    """An all-reduce: its time, and its bus bandwidth as a share of the link's."""
    size, rate = line.value("bytes", "bytes"), line.value("bus_gb_per_s", "GB/s")
    link = LINKS_GB_PER_S.get(line.text("gpu"))
    share = computed(rate.number / link, "share", "bus / link", rate) if rate and link else None
    return {
        "all-reduce of, MB": size and computed(size.number / MB, "", "bytes", size),
        "ms": line.ranged("median_ms", "p20_ms", "p80_ms", "ms"),
        "algorithm bandwidth, GB/s": line.value("algorithm_gb_per_s", "GB/s"),
        "bus bandwidth, GB/s": rate,
        "of a link's": share,
    }


TIMES = ("communication_ms", "exposed_ms", "step_ms")
PEAKS = ("initialized_mib", "before_optimizer_mib", "optimizer_mib")


def _names(name: str) -> tuple[str, str]:
    """The columns of what was measured and of its prediction."""
    return ("median_ms" if name == "step_ms" else name), f"predicted_{name}"


def _off(line: Line, measured: str, predicted: str) -> Value | None:
    """Predicted over measured, less 1; None where either is missing."""
    if not line.ok:
        return None
    found = ratio(line.value(predicted, ""), line.value(measured, ""), "change")
    return found and computed(found.number - 1, "change", "predicted / measured - 1", found)


def _near(offs: Sequence[Value]) -> list[Value]:
    return [off for off in offs if abs(off.number) <= NEAR]


def _predicted(way: Way) -> dict[str, Cell]:
    """Each time of a way as "predicted -> measured"."""
    heads = ("communication, ms", "nothing hides, ms", "step, ms")
    cells: dict[str, Cell] = {"case": way.case, "way": way.name}
    for head, name in zip(heads, TIMES, strict=True):
        both = [way.line.value(column, "ms") for column in reversed(_names(name))]
        cells[head] = Joined(tuple(both)) if any(both) else None
    cells["waits for the other, ms"] = way.line.value("wait_ms", "ms")
    cells["computes, ms"] = way.line.value("compute_ms", "ms")
    cells["recorded step, ms"] = way.line.value("recorded_ms", "ms")
    return cells | {"off": _off(way.line, *_names("step_ms"))}


def _peaks(way: Way) -> dict[str, Cell]:
    heads = ("initialized, GiB", "before the optimizer, GiB", "in it, GiB")
    cells: dict[str, Cell] = {"case": way.case, "way": way.name}
    for head, name in zip(heads, PEAKS, strict=True):
        both = [_gib(way.line.value(column, "MiB")) for column in reversed(_names(name))]
        cells[head] = Joined(tuple(both)) if any(both) else None
    return cells | {"held after initialization, GiB": _gib(way.line.value("held_mib", "MiB"))}


def _collective(line: Line) -> dict[str, Cell]:
    return {
        "case": f"{line.text('size')} {line.text('precision')}",
        "way": NAMES.get(line.text("way"), line.text("way")),
        "collective": COLLECTIVES.get(line.text("collective"), line.text("collective")),
        "calls a step": line.value("calls", ""),
        "late": line.value("late_calls", ""),
        "ms a step": line.value("communication_ms", "ms"),
        "nothing hides, ms": line.value("exposed_ms", "ms"),
    }


def _checked(ways: Sequence[Way]) -> list[Line]:
    return [way.line for way in ways if way.line.ok and way.communicates]


def _errors(mine: Sequence[Line]) -> dict[str, Cell]:
    """The largest errors of a way, which every case checks with the same small model."""
    heads = {"gradients": "gradient_error", "parameters after a step": "parameter_error"}
    found = {
        head: [value for line in mine if (value := line.value(name, "error"))]
        for head, name in heads.items()
    }
    most = {
        head: max(values, key=lambda value: value.number, default=None)
        for head, values in found.items()
    }
    return {"way": NAMES.get(mine[0].text("way"), mine[0].text("way")), **most}


def _name(line: Line) -> str:
    if line.text("measurement") == ALL_REDUCE:
        return "all-reduce alone"
    return f"{line.text('size')} {line.text('precision')}, {NAMES.get(line.text('way'), '')}"
