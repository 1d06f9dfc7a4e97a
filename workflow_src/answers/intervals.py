"""Times of phases with their intervals: of several processes, or of one and the run's spread."""

from collections.abc import Iterable
from dataclasses import dataclass

from workflow_src.answers.tables import Tables
from workflow_src.answers.times import PhaseTimes, phase_times
from workflow_src.common.case import PHASES
from workflow_src.paper.value import Value, cell_of, computed, median, ratio


@dataclass(frozen=True)
class Interval:
    """A value with the least and the most that it may be."""

    middle: Value
    low: Value
    high: Value


@dataclass(frozen=True)
class Spread:
    """How far single processes are from the median, as shares of the time beyond device time.

    Device time repeats within about 1 % from process to process; what the host adds to it doesn't.
    """

    below: Value
    above: Value


def spread_of(times: Iterable[PhaseTimes]) -> Spread | None:
    """The medians of what phases of several processes show; None without any."""
    several = [each for each in times if each.fastest and each.slowest and _beyond(each)]
    below = median(_off(each, each.plain, each.fastest) for each in several)
    above = median(_off(each, each.slowest, each.plain) for each in several)
    return Spread(below, above) if below and above else None


def spread_of_run(tables: Tables) -> Spread | None:
    """The same of all phases of a run, made once."""

    phases = ((case, phase) for case in tables.cases for phase in PHASES)
    return tables.cached("spread", lambda: spread_of(phase_times(tables, *each) for each in phases))


def _beyond(times: PhaseTimes) -> float:
    """What a phase takes beyond device time, in ms; on a CPU, whose operators slow down, all."""
    plain = times.plain.number if times.plain else 0.0
    busy = times.busy.number if times.busy and not times.case.on_cpu else 0.0
    return max(plain - busy, 0.0)


def _off(times: PhaseTimes, more: Value | None, less: Value | None) -> Value | None:
    if more is None or less is None:
        return None
    share = max(more.number - less.number, 0.0) / _beyond(times)
    return computed(share, "share", "off the median / beyond device time", more, less)


def plain_time(tables: Tables, times: PhaseTimes, spread: Spread | None) -> Interval | None:
    """The plain time from the fastest process's median to the slowest's.

    Of one process, what the run's `spread` says; without that, its 20th to its 80th percentile.
    """
    plain = times.plain
    if plain is None:
        return None
    if times.fastest and times.slowest:
        return Interval(plain, times.fastest, times.slowest)
    if spread is None:
        return _percentiles(tables, times, plain, ("p20_ms", "p80_ms"))
    beyond, formula = _beyond(times), "median and the run's spread between processes"
    low = computed(plain.number - spread.below.number * beyond, "ms", formula, plain, spread.below)
    high = computed(plain.number + spread.above.number * beyond, "ms", formula, plain, spread.above)
    return Interval(plain, low, high) if low and high else None


def at_speed_of(
    time: Interval, times: PhaseTimes, own: Value | None, other: Value | None
) -> Interval:
    """A plain time whose interval reaches to what it would be on a host of the `other` speed.

    own, other: what an eager operation took on the host beside it and beside the other case (us).
    Hosts, and hours of one host, differ by up to 1.6 times in what they add to device time.
    """
    faster = ratio(other, own, "times", "eager operation / eager operation")
    if faster is None:
        return time
    off = (faster.number - 1) * _beyond(times)
    there = computed(time.middle.number + off, "ms", "at the other's speed", time.middle, faster)
    every = [each for each in (time.low, time.high, there) if each]
    low, high = (most(every, key=lambda each: each.number) for most in (min, max))
    return Interval(time.middle, low, high)


def replayed_time(tables: Tables, times: PhaseTimes) -> Interval | None:
    """The replay's time, from the 20th to the 80th percentile of replays of all processes."""
    columns = ("replayed_p20_ms", "replayed_p80_ms")
    return _percentiles(tables, times, times.replayed, columns) if times.replayed else None


def _percentiles(
    tables: Tables, times: PhaseTimes, middle: Value, columns: tuple[str, str]
) -> Interval:
    """A time between two columns of timings.csv, where they have a number."""
    rows = tables.of("timings", times.case.case, times.phase)
    low, high = (cell_of(rows, "timings", column) or middle for column in columns)
    return Interval(middle, low, high)
