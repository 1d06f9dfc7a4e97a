"""Whether a forward pass takes as long under the profiler as without it, whichever process says."""

from collections.abc import Mapping, Sequence

from workflow_src.answers.among import Among, among
from workflow_src.answers.intervals import plain_time, spread_of_run
from workflow_src.answers.tables import CaseKey, Tables
from workflow_src.answers.times import PhaseTimes
from workflow_src.common.thresholds import MATCH_WITHIN
from workflow_src.paper.value import Value, count

Agree = Mapping[CaseKey, bool | None]
"""Of each case whether its times agree; None where that can't be told."""

UNTOLD = {
    True: "untold, as others' processes differ (n = 1)",
    False: "untold, as its processes differ",
}
"""Why it can't be told, by whether one process alone was timed."""


def agrees(tables: Tables, times: PhaseTimes) -> bool | None:
    """Whether the profiled time is within MATCH_WITHIN of each plain time that the phase may have.

    By its pairs of processes and its single processes; one alone is held to have others that
    differ as those of the run's other phases do. None where the two can't be compared, or where
    some of these say yes and others no: then agreement is a matter of chance.
    """
    if times.overhead is None:
        return None
    ratios = [pair.number for pair in times.pairs] + _by_processes(tables, times)
    low, high = min(ratios) - 1, max(ratios) - 1
    if low > MATCH_WITHIN or high < -MATCH_WITHIN:
        return False
    return True if -MATCH_WITHIN <= low <= high <= MATCH_WITHIN else None


def _by_processes(tables: Tables, times: PhaseTimes) -> list[float]:
    """Profiled over plain, of the fastest and the slowest process."""
    spread, profiled = spread_of_run(tables), times.profiled
    several = times.processes > 1 or spread is not None
    interval = plain_time(tables, times, spread) if several else None
    ends = (interval.low, interval.high) if interval else (times.plain,)
    return [profiled.number / end.number for end in ends if end and profiled]


def agreement(cases: Sequence[PhaseTimes], agree: Agree) -> Among:
    """In how many of the cases of which it can be told the profiled time is the plain one."""
    told = [each for each in cases if agree[each.case] is not None]
    return among([each.overhead for each in told], [bool(agree[each.case]) for each in told])


def untold(cases: Sequence[PhaseTimes], agree: Agree) -> Value:
    """Of how many cases with both times it can't be told."""
    return count((each.overhead for each in cases if agree[each.case] is None), "cases")
