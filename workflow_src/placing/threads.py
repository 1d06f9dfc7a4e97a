"""Which threads of a process work for another one: the rule of where backward belongs.

Autograd runs backward on threads of its own, one per device. What such a thread launches, and the
ranges that it pushes (gradient hooks, FSDP's own, emit_nvtx, forward run again by checkpointing),
belong below what is open on the thread that called backward, whichever that is, as if that one had
done it all. A loader's or a saver's thread works beside the others: its ranges are a tree of their
own. So a thread is a helper if the capture says that it is autograd's: by its name, pt_autograd_0,
or else by torch.profiler's flows, which lead from each operator of forward to the one of backward
that differentiates it, and so from thread to thread, or by ranges that only autograd pushes. Where
it says so of no thread, turns decide: who calls backward waits for it, and makes no call meanwhile,
whereas ranges of a thread that works beside another one soon hold some of its calls. A thread
without ranges that nothing ties to another one is taken for a helper, too, and the report says so.
Helpers work for a thread that has ranges and isn't one. Where there are several, such as two
trainers that share a device, each launch belongs to the thread whose forward it differentiates or,
without flows, to the one whose silence it fits.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import pandas as pd

from workflow_src.captures.capture import OVERHEAD, Capture
from workflow_src.captures.domains import is_library
from workflow_src.common.intervals import Indices, Union
from workflow_src.placing.turns import Caller, Mask, Spans, fitting, take_turns

AUTOGRADS_NAME = re.compile(r"\bpt_autograd_")
AUTOGRADS_RANGE = re.compile(r"autograd::engine::evaluate_function: |\w+Backward\d*, seq = ")
"""The beginning of a range of torch.autograd.profiler.emit_nvtx that only autograd pushes."""

WHY = AUTOGRADS, TURNS, ASSUMED = "lent", "turns", "assumed"
"""Why a thread is a helper, as codes of notes: it is autograd's, it takes turns, or nothing says
that it isn't one."""

THREAD = ["process", "thread"]
NONE = np.array([], dtype=np.int64)

Thread = tuple[int, ...]
"""A process and a thread of it."""


@dataclass(frozen=True)
class Helped:
    """The thread in whose tree each range and each launch is.

    of_range, of_work: for each row of the ranges, and of the capture's work.
    why: AUTOGRADS, TURNS or ASSUMED, of each helper; main: the main thread of each process.
    shared: how many ranges and launches of helpers fit several callers about as well.
    """

    of_range: Indices
    of_work: Indices
    why: dict[Thread, str]
    main: dict[int, int]
    shared: int


def rows_by(numbers: pd.DataFrame) -> dict[tuple[int, ...], Indices]:
    """The row numbers of each combination of values."""
    groups = numbers.reset_index(drop=True).groupby(numbers.columns.tolist()).indices
    return {
        tuple(np.asarray(key).tolist()): np.asarray(rows, dtype=np.int64)
        for key, rows in groups.items()
    }


@dataclass(frozen=True)
class _Rows:
    """A capture and those of its ranges that count, by thread; launches: where one is known."""

    capture: Capture
    ranges: pd.DataFrame

    @cached_property
    def of_ranges(self) -> dict[Thread, Indices]:
        return rows_by(self.ranges[THREAD])

    @cached_property
    def launches(self) -> dict[Thread, Indices]:
        known = np.flatnonzero(self.capture.work["missing"] == "")
        launching = rows_by(self.capture.work[THREAD].iloc[known])
        return {thread: known[rows] for thread, rows in launching.items()}

    @cached_property
    def names(self) -> dict[Thread, list[str]]:
        """What each thread is called: a profiler may give several names."""
        names = self.capture.threads["name"].to_numpy()
        return {
            key: names[rows].tolist() for key, rows in rows_by(self.capture.threads[THREAD]).items()
        }

    @cached_property
    def flows(self) -> dict[Thread, pd.DataFrame]:
        """The flows to each thread from others, in order."""
        flows = self.capture.flows
        flows = flows[flows["thread"] != flows["forward_thread"]].sort_values("start_ns")
        return {thread: flows.iloc[rows] for thread, rows in rows_by(flows[THREAD]).items()}

    def times(self, thread: Thread) -> tuple[Indices, Indices]:
        """When the ranges of a thread begin and end."""
        rows = self.of_ranges.get(thread, NONE)
        return (
            self.ranges["start_ns"].to_numpy()[rows], self.ranges["end_ns"].to_numpy()[rows],
        )  # fmt: skip

    def outermost(self, thread: Thread) -> Spans:
        """The outermost ranges of a thread; those that touch are one."""
        whole = Union.of(*self.times(thread))
        return Spans(whole.starts, whole.ends)

    def calls(self, thread: Thread) -> Spans:
        """The API calls of a thread."""
        calls = self.capture.calls
        on_thread = (calls["thread"] == thread[1]) & (calls["process"] == thread[0])
        own = (on_thread & (calls["kind"] != OVERHEAD)).to_numpy()
        return Spans.of(calls["start_ns"].to_numpy()[own], calls["end_ns"].to_numpy()[own])

    @cached_property
    def caller(self) -> Callable[[Thread], Caller]:
        """What a thread does, as one that others may work for."""
        return cache(self._caller)

    def _caller(self, thread: Thread) -> Caller:
        calls, (start, end) = self.calls(thread), self.times(thread)
        bounds = np.sort(np.append(start, end))
        return Caller(calls.start, np.sort(calls.end), bounds, Union.of(start, end))


def helped(capture: Capture, ranges: pd.DataFrame) -> Helped:
    """Find the helpers of a capture, and whom they help in those `ranges` that count."""
    rows = _Rows(capture, ranges)
    found = Helped(
        ranges["thread"].to_numpy(copy=True), capture.work["thread"].to_numpy(copy=True), {}, {}, 0
    )
    processes = {process for process, _ in rows.of_ranges}
    shared = sum(_add(found, rows, process) for process in sorted(processes))
    return Helped(found.of_range, found.of_work, found.why, found.main, shared)


def _add(found: Helped, rows: _Rows, process: int) -> int:
    """Add what a process's helpers do, and return how much of it fits several callers."""
    threads = sorted(key for key in {*rows.of_ranges, *rows.launches} if key[0] == process)
    having = [thread for thread in threads if thread in rows.of_ranges]
    speaking = [thread for thread in having if _has_own_ranges(rows, thread)] or having
    why = dict.fromkeys(_autograds(rows, threads), AUTOGRADS)
    if not why:
        later = [thread for thread in speaking if thread[0] != thread[1]]
        why = {thread: TURNS for thread in later if _takes_turns(rows, thread, speaking)}
    callers = [thread for thread in speaking if thread not in why] or speaking
    main = _main(rows, callers)
    found.main[process] = main[1]
    shared, callers = 0, [main, *(thread for thread in callers if thread != main)]
    for thread in threads:
        if thread not in callers:
            turns = thread not in why and _takes_turns(rows, thread, callers)
            found.why[thread] = why.get(thread, TURNS if turns else ASSUMED)
            shared += _help(found, rows, thread, callers)
    return shared


def _has_own_ranges(rows: _Rows, thread: Thread) -> bool:
    """Whether not all ranges of a thread are a library's."""
    domains = pd.unique(rows.ranges["domain"].to_numpy()[rows.of_ranges[thread]])
    return not all(is_library(domain) for domain in domains)


def _autograds(rows: _Rows, threads: Sequence[Thread]) -> list[Thread]:
    """The threads that are autograd's by their names or, if none is, by flows and ranges."""
    names = {thread: rows.names.get(thread, []) for thread in threads}
    named = [thread for thread in threads if any(map(AUTOGRADS_NAME.search, names[thread]))]
    return named or [
        thread for thread in threads if thread in rows.flows or _pushes_autograds(rows, thread)
    ]


def _pushes_autograds(rows: _Rows, thread: Thread) -> bool:
    """Whether most outermost ranges of a thread are ones that only autograd pushes."""
    own, starts = rows.of_ranges.get(thread, NONE), rows.outermost(thread).start
    begun = own[np.isin(rows.times(thread)[0], starts)]
    names = rows.ranges["name"].to_numpy()[begun]
    return 2 * sum(AUTOGRADS_RANGE.match(name) is not None for name in names) > len(starts)


def _takes_turns(rows: _Rows, thread: Thread, callers: Sequence[Thread]) -> bool:
    others = [rows.caller(other) for other in callers if other != thread]
    return take_turns([rows.calls(thread), rows.outermost(thread)], others)


def _main(rows: _Rows, callers: Sequence[Thread]) -> Thread:
    """The main thread: the one that launched most device time or, where several did as much, the
    process's first, which has its number on Linux, or else the one with most ranges."""
    length = rows.capture.work["duration_ns"].to_numpy()

    def order(thread: Thread) -> tuple[int, bool, int]:
        launched = int(length[rows.launches.get(thread, NONE)].sum())
        return launched, thread[0] == thread[1], len(rows.of_ranges[thread])

    return max(callers, key=order)


def _help(found: Helped, rows: _Rows, thread: Thread, callers: Sequence[Thread]) -> int:
    """Set whom a helper works for: in each of its outermost ranges, and at launches outside."""
    whole, launched = rows.outermost(thread), rows.launches.get(thread, NONE)
    work = rows.capture.work
    begin, end = (work[name].to_numpy()[launched] for name in ("launch_ns", "launch_end_ns"))
    inside, outside = _within(whole, begin)
    units = Spans(np.append(whole.start, begin[outside]), np.append(whole.end, end[outside]))
    numbers = np.array([number for _, number in callers])
    which, alike = _callers(rows, thread, callers, units)
    of_unit, count = numbers[which], len(whole)
    own = rows.of_ranges.get(thread, NONE)
    found.of_range[own] = of_unit[_within(whole, rows.times(thread)[0])[0]]
    found.of_work[launched[~outside]] = of_unit[inside[~outside]]
    found.of_work[launched[outside]] = of_unit[count:]
    return int(alike.sum())


def _within(whole: Spans, moments: Indices) -> tuple[Indices, Mask]:
    """The span that each moment is in, and whether it is in none. A range of no length is in the
    one that it makes itself, which ends where it begins."""
    at = np.searchsorted(whole.start, moments, side="right") - 1
    padded = np.append(whole.end, np.iinfo(np.int64).min)
    return at, (at < 0) | (moments >= padded[at])


def _callers(
    rows: _Rows, thread: Thread, callers: Sequence[Thread], units: Spans
) -> tuple[Indices, Mask]:
    """Which of `callers` a helper works for in each unit, and where others fit about as well."""
    surely = np.zeros(len(units), dtype=bool)
    if len(callers) == 1:
        return np.zeros(len(units), dtype=np.int64), surely
    place = {number: index for index, (_, number) in enumerate(callers)}
    if thread in rows.flows:
        flows = rows.flows[thread]
        flows = flows[flows["forward_thread"].isin(list(place))]
        if len(flows):
            # A range of autograd's holds the operator that the flow leads to.
            last = np.searchsorted(flows["start_ns"].to_numpy(), units.end) - 1
            forward = flows["forward_thread"].map(place).to_numpy()
            return forward[np.maximum(last, 0)], surely
    return fitting(units, [rows.caller(caller) for caller in callers])
