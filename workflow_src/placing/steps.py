"""The steps of a capture: which ranges they are, and the ledger of each.

Steps are found by the first of these rules that finds any, unless a name is asked for:

1. The outermost ranges of one name on a process's main thread, if they repeat, hardly overlap, and
   nearly all work of that thread's ranges is theirs.
2. ProfilerStep#N, which torch.profiler pushes for each step of its own. They count as ranges then.
3. As 1, for ranges whose names differ by numbers alone: "iteration 3" (see `shapes`).
4. Those of a main thread that are named as steps and numbered, wherever they are and whatever works
   besides: "Warm-up Step 3". Of several such names, that with most work.
5. What lies between a thread's updates by torch's optimizer (see `updates`).
6. As 1, 3 and 4, however few there are: one that is named as a step, or two.

Whatever finds them, steps last, and on their thread they come one after another (`range_times`).
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.captures.capture import OPERATOR, OVERHEAD, UNKNOWN
from workflow_src.captures.rows import rows_where
from workflow_src.common.intervals import Union
from workflow_src.common.nesting import NOWHERE
from workflow_src.placing.ledger import STEP_COLUMNS as OF_STEP
from workflow_src.placing.ledger import Device, step_ledger
from workflow_src.placing.paths import Paths, Texts, shapes
from workflow_src.placing.placing import Placed
from workflow_src.placing.range_times import one_after_another
from workflow_src.placing.updates import BETWEEN_UPDATES

REPEATED, SURE = 2, 3
"""Ranges of one name, from which on they may be steps, and are: two may be a warm-up and a run. Of
those that are named as steps, one less."""

NEARLY_ALL = 0.9
"""Of the device time in a main thread's ranges, so that neither forward nor backward is a step if
both are outermost, but a range is beside which another one fetches data. And of steps' lengths, the
part that doesn't overlap: jobs that run at the same time are no steps."""

PROFILERS = re.compile(r"\AProfilerStep(#\d*|#\*)?\Z")
"""What torch.profiler names its steps, also where numbers were left out."""

CALLED = re.compile(r"(?i)(?<![a-z])(step|iteration|iter|batch)[^a-z]*\Z")
"""The shape of a range that is named as a step, and maybe numbered."""

NUMBERED = re.compile(r"\*\Z")

Flags = npt.NDArray[np.bool_]

OF_WORK = ("start_ns", "end_ns", "launch_ns", "launch_end_ns")
STEP_COLUMNS = ("process", "path", *OF_STEP[1:])


class Rule(StrEnum):
    """How steps were found, in words of the report."""

    NAMED = "the ranges that capture_step names"
    REPEATED = "the outermost range that repeats"
    PROFILERS = "torch.profiler's ProfilerStep"
    NUMBERED = "outermost ranges that differ by a number"
    CALLED = "ranges named as steps, with a number"
    UPDATES = "from one optimizer's update to the next"
    NONE = "not found"


@dataclass(frozen=True)
class StepRanges:
    """Which of the ranges placed are steps, and by which rule.

    alike: whether their names differ by numbers, so that paths take their shape instead; sure:
    whether they aren't so few that what torch says of its own steps would count for more.
    """

    rule: Rule
    is_step: Flags
    alike: bool
    sure: bool = False


def choose_steps(placed: Placed, named: str, numbered: bool) -> StepRanges:
    """The ranges that are steps: those named or, without a name, those of the first rule.

    placed: with busy_ns of ranges; numbered: whether what differs by numbers alone may be a step.
    ANY in a name that no range has stands for a number.
    """
    ranges = placed.ranges
    main = ranges[ranges["process"].map(placed.main_threads) == ranges["thread"]]
    outermost = main[main["parent"] == NOWHERE]
    # Those between updates are made only where no other rule finds any.
    rules: list[tuple[Rule, bool, Callable[[int], pd.DataFrame]]] = [
        (Rule.UPDATES, False, lambda _: ranges[ranges["name"] == BETWEEN_UPDATES]),
        (Rule.REPEATED, False, lambda least: _repeated(outermost, least)),
        (Rule.PROFILERS, True, lambda _: ranges[is_profilers(ranges["name"])]),
    ]
    if named:
        rules = [
            (Rule.NAMED, False, lambda _: ranges[ranges["name"] == named]),
            (Rule.NAMED, True, lambda _: ranges[shapes(ranges["name"]) == named]),
        ]
    elif numbered:
        rules += [
            (Rule.NUMBERED, True, lambda least: _repeated(_by_shape(outermost), least)),
            (Rule.CALLED, True, lambda least: _called(_by_shape(main), least)),
        ]
    for least in (SURE, REPEATED):
        for rule, alike, find in rules:
            found = find(least)
            found = found[one_after_another(found)]
            if len(found):
                is_step = ranges.index.isin(found.index)
                return StepRanges(rule, is_step, alike, sure=least == SURE)
    return StepRanges(Rule.NONE, np.zeros(len(ranges), dtype=bool), alike=False)


def is_profilers(names: Texts) -> Flags:
    """Which ranges torch.profiler pushed for its steps."""
    return _named_so(names, PROFILERS)


def named_as_steps(names: Texts) -> Flags:
    """Which ranges are named as steps, maybe with a number."""
    return _named_so(names, CALLED)


def _named_so(names: Texts, shape: re.Pattern[str]) -> Flags:
    """Which names have a shape."""
    code, distinct = pd.factorize(names)
    return np.array([bool(shape.search(name)) for name in distinct], dtype=bool)[code]


def _by_shape(ranges: pd.DataFrame) -> pd.DataFrame:
    return ranges.assign(name=shapes(ranges["name"]))


def _repeated(outermost: pd.DataFrame, least: int) -> pd.DataFrame:
    """Those outermost ranges of main threads that repeat by name, and hold nearly all work."""
    alike = outermost.groupby(["process", "name"])["busy_ns"]
    total, every = alike.transform("sum"), outermost.groupby("process")["busy_ns"].transform("sum")
    enough = alike.transform("size") >= least - named_as_steps(outermost["name"])
    found = outermost[enough & (total > 0) & (total >= NEARLY_ALL * every)]
    return found.groupby("process").filter(_hardly_overlap)


def _hardly_overlap(ranges: pd.DataFrame) -> bool:
    start, end = (ranges[name].to_numpy() for name in ("start_ns", "end_ns"))
    return Union.of(start, end).total() >= NEARLY_ALL * int((end - start).sum())


def _called(main: pd.DataFrame, least: int) -> pd.DataFrame:
    """Ranges of main threads that are named as steps and numbered, of the name with most work."""
    found = main[named_as_steps(main["name"]) & _named_so(main["name"], NUMBERED)]
    busy = found.groupby("name")["busy_ns"].agg(["sum", "size"])
    busy = busy[(busy["size"] >= least) & (busy["sum"] > 0)]
    return found[found["name"] == busy["sum"].idxmax()] if len(busy) else found[:0]


@dataclass(frozen=True)
class Source:
    """What steps are found in.

    ranges: with busy_ns; of_all_domains: also those that don't count; work, with the thread in
    whose `tree` it is, as in Capture; held: of its calls those that held the host up; is_step:
    which ranges are steps.
    """

    ranges: pd.DataFrame
    of_all_domains: pd.DataFrame
    paths: Paths
    work: pd.DataFrame
    held: pd.DataFrame
    is_step: Flags


@dataclass(frozen=True)
class ThreadSteps:
    """The steps of one thread, and what the devices and the host of its process did.

    has_calls: whether the capture holds calls that launched some of the process's work.
    """

    steps: pd.DataFrame
    device: Device
    has_calls: bool


def thread_steps(source: Source) -> list[ThreadSteps]:
    """The steps of each thread that has any."""
    chosen = step_ranges(source)
    return [of_thread(source, rows) for _, rows in chosen.groupby(["process", "thread"])]


def steps(threads: Sequence[ThreadSteps]) -> pd.DataFrame:
    """A row per step, with STEP_COLUMNS: whole nanoseconds, wall = device_active + idle.

    A device is active while any activity of the process runs, whenever it was launched. Causes are
    missing where the capture holds no call that launched something.
    """
    parts = [pd.DataFrame(columns=list(STEP_COLUMNS), dtype="Int64")]
    for each in threads:
        found = step_ledger(each.steps, each.device, each.has_calls)
        found = found.rename(columns={"phase": "path"})
        parts.append(found.assign(process=each.steps["process"].iloc[0])[list(STEP_COLUMNS)])
    return pd.concat(parts).sort_values(["process", "path", "step"], ignore_index=True)


def step_ranges(source: Source) -> pd.DataFrame:
    """The ranges that are steps, in order of start, with `path`, `phase` (the same) and `step`.

    number: the path's.
    """
    number = source.paths.of_range[source.is_step]
    path = source.paths.text[number]
    chosen = source.ranges[source.is_step].assign(path=path, phase=path, number=number)
    chosen = chosen.sort_values("start_ns")
    return chosen.assign(step=chosen.groupby(["process", "path"]).cumcount())


def of_thread(source: Source, chosen: pd.DataFrame) -> ThreadSteps:
    """Steps of one thread, and what held it up: its own calls, and those of threads that launch
    what lies in its tree."""
    process, thread = (int(chosen[name].iloc[0]) for name in ("process", "thread"))
    work, mine = source.work, (source.work["process"] == process).to_numpy()
    known = mine & (work["launch_ns"] != UNKNOWN) & (work["kind"] != OPERATOR)
    launching = mine & (work["tree"] == thread).to_numpy()
    held, threads = source.held, [thread, *work.loc[launching, "thread"].unique()]
    waits = held["thread"].isin(threads) & (held["process"] == process)
    overheads = (held["kind"] == OVERHEAD) & held["process"].isin([process, UNKNOWN])
    # It was elsewhere in ranges of any domain, such as the one that torch has for fetching data.
    ranges = source.of_all_domains
    own = (ranges["process"] == process) & (ranges["thread"] == thread)
    start, end = (ranges.loc[own, name].to_numpy() for name in ("start_ns", "end_ns"))
    launches = np.sort(work.loc[launching, "launch_ns"].to_numpy())
    empty = np.searchsorted(launches, start) == np.searchsorted(launches, end)
    device = Device.of(
        rows_where(work[list(OF_WORK)], mine), held[waits | overheads],
        Union.of(start[empty], end[empty]),
    )  # fmt: skip
    return ThreadSteps(chosen, device, bool(known.any()))
