"""Which threads of a process work for another one, as autograd's do for the caller of backward.

What a helper launches and pushes belongs below what is open on the thread that it works for: of the
callers, the one that waits during most of what it does. A thread without ranges is a helper, as is
one that is called pt_autograd_0 or the like. Where none is, turns decide: who calls backward waits
for it, and makes no call meanwhile, whereas ranges of a thread that works beside another one, as a
loader's, soon hold some of its calls.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np
import pandas as pd

from workflow_src.captures.call_kinds import matching
from workflow_src.captures.capture import COPY, OVERHEAD, SET, UNKNOWN, Capture
from workflow_src.captures.domains import is_library
from workflow_src.captures.rows import Mask, Spans, spans
from workflow_src.common.intervals import Indices, Union

AUTOGRADS_NAME = r"\bpt_autograd_"

THROUGHOUT = 0.99
"""Share of a thread's calls and outermost ranges from which on another one waits during them all.
The rest is left for nodes of backward on the host, which the waiting thread runs."""

FEW = 0.1
"""Share of what the busiest thread does below which another one isn't taken for a trainer."""

THREAD = ["process", "thread"]
NONE = np.array([], dtype=np.int64)


def rows_by(numbers: pd.DataFrame) -> dict[tuple[int, ...], Indices]:
    """The row numbers of each combination of values."""
    groups = numbers.reset_index(drop=True).groupby(numbers.columns.tolist()).indices
    each = ((np.asarray(key).tolist(), np.asarray(rows, np.int64)) for key, rows in groups.items())
    return {tuple(key): rows for key, rows in each}


@dataclass(frozen=True, eq=False)
class Thread:
    """A thread of a process: the rows of its `ranges` that count and of its launches."""

    capture: Capture
    ranges: pd.DataFrame
    process: int
    number: int
    launched: Indices
    is_autograds: bool

    @cached_property
    def whole(self) -> Union:
        """When any range is open; those that touch are one."""
        return Union.of(*spans(self.ranges))

    @cached_property
    def calls(self) -> Spans:
        """Its API calls."""
        calls = self.capture.calls
        own = (calls["thread"] == self.number) & (calls["process"] == self.process)
        own &= calls["kind"] != OVERHEAD
        times = calls.loc[own, ["start_ns", "end_ns"]]
        return spans(times.sort_values("start_ns", kind="stable"))

    @cached_property
    def busy(self) -> int:
        """The device time that it launched (ns), copies and sets aside."""
        work = self.capture.work[["kind", "duration_ns"]].iloc[self.launched]
        return int(work.loc[~work["kind"].isin((COPY, SET)), "duration_ns"].sum())

    def waits(self, during: Spans) -> Mask:
        """Whether it waits throughout: with a range open, none that begins or ends, and no call."""
        (start, end), bounds = during, np.sort(np.append(*spans(self.ranges)))
        ends = np.sort(self.calls[1])
        calls = np.searchsorted(self.calls[0], end) - np.searchsorted(ends, start, "right")
        changes = np.searchsorted(bounds, end) - np.searchsorted(bounds, start, "right")
        return np.asarray((calls <= 0) & (changes <= 0) & self.whole.holds(start))

    def takes_turns(self, callers: "Sequence[Thread]") -> bool:
        """Whether another one, which makes calls itself, waits whenever this one works."""
        others = [each for each in callers if each is not self and len(each.calls[0])]
        work = [each for each in (self.calls, (self.whole.starts, self.whole.ends)) if len(each[0])]
        return bool(others and work) and all(
            np.logical_or.reduce([other.waits(during) for other in others]).mean() >= THROUGHOUT
            for during in work
        )


@dataclass(frozen=True)
class Helped:
    """The thread in whose tree each range and each launch is.

    lent: the rows of work that helpers launched; main: each process's main thread.
    """

    of_range: Indices
    of_work: Indices
    lent: Indices
    main: dict[int, int]


def helped(capture: Capture, ranges: pd.DataFrame) -> Helped:
    """Find the helpers of a capture, and whom they help in those `ranges` that count."""
    of_range, of_work = ranges["thread"].to_numpy(copy=True), capture.work["thread"].to_numpy()
    lent, main = [NONE], dict[int, int]()
    for process, group in groupby(_threads(capture, ranges), key=lambda each: each.process):
        threads = [*group]
        if not any(len(each.ranges) for each in threads):
            continue
        callers = _callers(threads)
        main[process] = callers[0].number
        for helper in (each for each in threads if each not in callers):
            # The column itself, which has a row per activity, until there is a helper.
            of_work = of_work if lent[1:] else of_work.copy()
            lent.append(helper.launched)
            caller = _caller(helper, callers).number
            of_range[helper.ranges.index] = of_work[helper.launched] = caller
    return Helped(of_range, of_work, np.concatenate(lent), main)


def _threads(capture: Capture, ranges: pd.DataFrame) -> list[Thread]:
    names = capture.thread_names
    known = np.flatnonzero(capture.work["launch_ns"] != UNKNOWN)
    pushed, launched = rows_by(ranges[THREAD]), rows_by(capture.work[THREAD].iloc[known])
    autograds = rows_by(names.loc[matching(names["name"], AUTOGRADS_NAME), THREAD])
    return [
        Thread(
            capture, ranges.iloc[pushed.get(key, NONE)], key[0], key[1],
            known[launched.get(key, NONE)], key in autograds,
        )
        for key in sorted({*pushed, *launched})
    ]  # fmt: skip


def _callers(threads: Sequence[Thread]) -> list[Thread]:
    """The threads of a process that are no helpers, the main one first.

    That is the process's first, unless it launches less than FEW of the busiest one's device time;
    else the busiest one.
    """
    having = [each for each in threads if len(each.ranges)]
    speaking = [
        each for each in having if not all(map(is_library, each.ranges["domain"].unique()))
    ] or having
    # A process's first thread has its number on Linux.
    first = next((each for each in threads if each.process == each.number), None)
    helpers = [each for each in threads if each.is_autograds] or [
        each for each in speaking if each is not first and each.takes_turns(speaking)
    ]
    callers = [each for each in speaking if each not in helpers] or speaking
    main = callers[0]
    if len(callers) > 1:
        main = max(callers, key=lambda each: (each.busy, len(each.ranges)))
    if first and first is not main and first in callers and first.busy >= FEW * main.busy:
        main = first
    return [main, *(each for each in callers if each is not main)]


def _caller(helper: Thread, callers: Sequence[Thread]) -> Thread:
    """Whom a helper works for: of those that make calls, who waits during most of what it does."""
    calls = [len(each.calls[0]) for each in callers]
    able = [each for each, n in zip(callers, calls, strict=True) if n >= FEW * max(calls)]
    work, whole = helper.capture.work.iloc[helper.launched], helper.whole
    starts, ends = (work[name].to_numpy() for name in ("launch_ns", "launch_end_ns"))
    during = np.append(whole.starts, starts), np.append(whole.ends, ends)
    return max(able, key=lambda each: float(each.waits(during).mean()))
