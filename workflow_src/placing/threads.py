"""Which threads of a process work for another one: the rule of where backward belongs.

Autograd runs backward on threads of its own, one per device. What such a thread launches, and the
ranges that it pushes (gradient hooks, FSDP's own, emit_nvtx, forward run again by checkpointing),
belong below what is open on the thread that called backward, as if that one had done it all. A
loader's or a saver's thread works beside the others: its ranges are a tree of their own. So a
thread is a helper if the capture says that it is autograd's: by its name, pt_autograd_0, or else by
ranges that only autograd pushes. Where it says so of no thread, turns decide: who calls backward
waits for it, and makes no call meanwhile, whereas ranges of a thread that works beside another one
soon hold some of its calls. A thread without ranges that nothing ties to another one is taken for a
helper, too, and the report says so.

Helpers work for a thread that has ranges and isn't one. Of several such, it is decided for each
unit of a helper's work: an outermost range with all that is in it, or a launch outside. Autograd
runs each operator of backward on the stream of the forward operator that it differentiates, so
streams that one caller alone launches on tell first; else it is the caller whose silence the unit
fits.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.captures.capture import COPY, OVERHEAD, SET, Capture
from workflow_src.captures.domains import is_library
from workflow_src.common.intervals import Indices, Union
from workflow_src.common.nesting import NOWHERE

AUTOGRADS_NAME = re.compile(r"\bpt_autograd_")
AUTOGRADS_RANGE = re.compile(r"autograd::engine::evaluate_function: |\w+Backward\d*, seq = ")
"""The beginning of a range of torch.autograd.profiler.emit_nvtx that only autograd pushes."""

WHY = AUTOGRADS, TURNS, ASSUMED = "lent", "turns", "assumed"
"""Why a thread is a helper, as codes of notes: it is autograd's, it takes turns, or nothing says
that it isn't one."""

THROUGHOUT = 0.99
"""Share of a thread's calls, and of its outermost ranges, from which on another one waits during
them all. The rest is left for nodes of backward on the host, which the waiting thread runs."""

COMPARABLE = 0.5
"""Share of the best fit from which on that of another caller is about as good."""

FEW = 0.1
"""Share of what the busiest thread does below which another one isn't taken for a trainer."""

THREAD = ["process", "thread"]
NONE = np.array([], dtype=np.int64)

Mask = npt.NDArray[np.bool_]
Spans = tuple[Indices, Indices]
"""Starts and ends (ns), in order of starts."""


def rows_by(numbers: pd.DataFrame) -> dict[tuple[int, ...], Indices]:
    """The row numbers of each combination of values."""
    groups = numbers.reset_index(drop=True).groupby(numbers.columns.tolist()).indices
    return {
        tuple(np.asarray(key).tolist()): np.asarray(rows, dtype=np.int64)
        for key, rows in groups.items()
    }


@dataclass(frozen=True, eq=False)
class Thread:
    """A thread of a process: the rows of its ranges that count and of its launches, its names."""

    capture: Capture
    ranges: pd.DataFrame
    process: int
    number: int
    pushed: Indices
    launched: Indices
    names: Sequence[str]

    @property
    def is_first(self) -> bool:
        """Whether it is its process's first thread, which has its number on Linux."""
        return self.process == self.number

    @cached_property
    def times(self) -> Spans:
        """When its ranges begin and end, in the order of their rows."""
        start, end = (self.ranges[name].to_numpy()[self.pushed] for name in ("start_ns", "end_ns"))
        return start, end

    @cached_property
    def whole(self) -> Union:
        """When any range is open; those that touch are one."""
        return Union.of(*self.times)

    @cached_property
    def calls(self) -> Spans:
        """Its API calls."""
        calls = self.capture.calls
        own = (calls["thread"] == self.number) & (calls["process"] == self.process)
        own &= calls["kind"] != OVERHEAD
        start, end = (calls[name].to_numpy()[own.to_numpy()] for name in ("start_ns", "end_ns"))
        order = np.argsort(start, kind="stable")
        return start[order], end[order]

    @cached_property
    def busy(self) -> int:
        """The device time that it launched (ns), copies and sets aside."""
        work = self.capture.work[["kind", "duration_ns"]].iloc[self.launched]
        return int(work.loc[~work["kind"].isin((COPY, SET)), "duration_ns"].sum())

    @cached_property
    def _over(self) -> Spans:
        """When its calls end, and when its ranges begin or end, each in order."""
        return np.sort(self.calls[1]), np.sort(np.append(*self.times))

    def waits(self, during: Spans) -> Mask:
        """Whether it waits throughout: with a range open, none that begins or ends, and no call."""
        (start, end), (ends, bounds) = during, self._over
        calls = np.searchsorted(self.calls[0], end) - np.searchsorted(ends, start, "right")
        changes = np.searchsorted(bounds, end) - np.searchsorted(bounds, start, "right")
        return np.asarray((calls <= 0) & (changes <= 0) & self.whole.holds(start))

    def silence(self, moments: Indices) -> Indices:
        """The number of the silence that each moment is in: of what begins and ends before it."""
        found = sum(np.searchsorted(each, moments, "right") for each in self._over)
        return np.asarray(found, dtype=np.int64)

    def is_autograds(self) -> bool:
        """Whether most of its outermost ranges are only autograd's."""
        starts = self.whole.starts
        begun = self.pushed[np.isin(self.times[0], starts)]
        names = self.ranges["name"].to_numpy()[begun]
        spoken = sum(AUTOGRADS_RANGE.match(name) is not None for name in names)
        return not self.is_first and 2 * spoken > len(starts)

    def takes_turns(self, callers: "Sequence[Thread]") -> bool:
        """Whether another one, which makes calls itself, waits whenever this one works."""
        others = [each for each in callers if each is not self and len(each.calls[0])]
        work = [each for each in (self.calls, (self.whole.starts, self.whole.ends)) if len(each[0])]
        return bool(others and work) and all(
            np.logical_or.reduce([other.waits(spans) for other in others]).mean() >= THROUGHOUT
            for spans in work
        )


@dataclass(frozen=True)
class Helped:
    """The thread in whose tree each range and each launch is.

    of_range, of_work: for each row of the ranges, and of the capture's work.
    why: AUTOGRADS, TURNS or ASSUMED, of each helper, with the rows of what it launched; main: the
    main thread of each process. shared: how many units of helpers fit several callers.
    """

    of_range: Indices
    of_work: Indices
    why: list[tuple[str, Indices]]
    main: dict[int, int]
    shared: int


def helped(capture: Capture, ranges: pd.DataFrame) -> Helped:
    """Find the helpers of a capture, and whom they help in those `ranges` that count."""
    of_range, of_work = (rows["thread"].to_numpy(copy=True) for rows in (ranges, capture.work))
    found = Helped(of_range, of_work, [], {}, 0)
    shared = 0
    for process, group in groupby(_threads(capture, ranges), key=lambda each: each.process):
        threads = [*group]
        if not any(len(each.pushed) for each in threads):
            continue
        why, callers = _helpers(threads)
        found.main[process] = callers[0].number
        for helper in threads:
            if helper not in callers:
                turns = helper not in why and helper.takes_turns(callers)
                code = why.get(helper, TURNS if turns else ASSUMED)
                found.why.append((code, helper.launched))
                shared += _help(found, helper, callers)
    return replace(found, shared=shared)


def _threads(capture: Capture, ranges: pd.DataFrame) -> list[Thread]:
    """Every thread that has ranges or launches something, in order of process and number."""
    names = capture.threads.names
    known = np.flatnonzero(capture.work["missing"] == "")
    pushed, launched = rows_by(ranges[THREAD]), rows_by(capture.work[THREAD].iloc[known])
    called = rows_by(names[THREAD])
    return [
        Thread(
            capture, ranges, key[0], key[1], pushed.get(key, NONE), known[launched.get(key, NONE)],
            names["name"].iloc[called.get(key, NONE)].tolist(),
        )
        for key in sorted({*pushed, *launched})
    ]  # fmt: skip


def _helpers(threads: Sequence[Thread]) -> tuple[dict[Thread, str], list[Thread]]:
    """Why some of a process's threads are helpers for sure, and the callers, the main one first.

    The main thread is the process's first, unless that launches less than a tenth of the busiest
    one's device time; without it, the busiest one, or of several such the one with most ranges.
    """
    having = [each for each in threads if len(each.pushed)]
    speaking = [
        each
        for each in having
        if not all(map(is_library, each.ranges["domain"].iloc[each.pushed].unique()))
    ] or having
    named = [each for each in threads if any(map(AUTOGRADS_NAME.search, each.names))]
    autograds = named or [each for each in threads if each.is_autograds()]
    why = dict.fromkeys(autograds, AUTOGRADS) or dict.fromkeys(
        [each for each in speaking if not each.is_first and each.takes_turns(speaking)], TURNS
    )
    callers = [each for each in speaking if each not in why] or speaking
    main = callers[0]
    if len(callers) > 1:
        main = max(callers, key=lambda each: (each.busy, len(each.pushed)))
        enough = [each for each in callers if each.is_first and each.busy >= FEW * main.busy]
        main = enough[0] if enough else main
    return why, [main, *(each for each in callers if each is not main)]


def _help(found: Helped, helper: Thread, callers: Sequence[Thread]) -> int:
    """Set whom a helper works for, and return how many units of its work fit several about as well.

    Where evidence of one kind is missing, a unit's caller is NOWHERE.
    """
    units, of_range, of_launch = _units(helper)
    alike, which = 0, np.zeros(len(units[0]), dtype=np.int64)
    if len(callers) > 1:
        which = _by_streams(helper, callers, of_launch, len(which))
        if (untold := which == NOWHERE).any():
            fits, several = _by_silences(units, callers)
            which, alike = np.where(untold, fits, which), int((several & untold).sum())
    tree = np.array([each.number for each in callers])[which]
    found.of_range[helper.pushed], found.of_work[helper.launched] = tree[of_range], tree[of_launch]
    return alike


def _units(helper: Thread) -> tuple[Spans, Indices, Indices]:
    """The units of a thread's work, first its outermost ranges, and which one each of its ranges
    and each of its launches is of."""
    whole, work = helper.whole, helper.capture.work
    begin, end = (work[name].to_numpy()[helper.launched] for name in ("launch_ns", "launch_end_ns"))
    # A range of no length begins where a unit does, though it isn't open there.
    of_range, of_launch = (
        np.searchsorted(whole.starts, moments, side="right") - 1
        for moments in (helper.times[0], begin)
    )
    outside = ~whole.holds(begin)
    of_launch[outside] = len(whole.starts) + np.arange(int(outside.sum()))
    units = np.append(whole.starts, begin[outside]), np.append(whole.ends, end[outside])
    return units, of_range, of_launch


def _by_streams(
    helper: Thread, callers: Sequence[Thread], of_launch: Indices, units: int
) -> Indices:
    """The caller that alone launches on the streams on which most launches of each unit are."""
    stream = helper.capture.work.groupby(["device", "stream"]).ngroup().to_numpy()
    own = stream[helper.launched]
    shares = np.stack([np.isin(own, stream[caller.launched]) for caller in callers])
    alone = shares.sum(axis=0) == 1
    votes = np.zeros((units, len(callers)), dtype=np.int64)
    np.add.at(votes, (of_launch[alone], shares.argmax(axis=0)[alone]), 1)
    return np.where(votes.any(axis=1), votes.argmax(axis=1), NOWHERE)


def _by_silences(units: Spans, callers: Sequence[Thread]) -> tuple[Indices, Mask]:
    """Which caller waits in each unit, and where others fit about as well.

    Those that wait throughout have called, and of several the one that did most in its turn before.
    If none does, callers share the thread, and it is the one in whose silence most work was done.
    """
    waits = np.stack([caller.waits(units) for caller in callers])
    calls = np.array([len(caller.calls[0]) for caller in callers])
    throughout = (waits.mean(axis=1) >= THROUGHOUT) & (calls > 0)
    throughout &= calls >= FEW * calls[throughout].max(initial=0)
    chosen = waits & throughout[:, np.newaxis] if throughout.any() else waits
    score = np.zeros(waits.shape, dtype=np.int64)
    for row, caller in enumerate(callers):
        silences = caller.silence(units[0][chosen[row]])
        number, inverse, counts = np.unique(silences, return_inverse=True, return_counts=True)
        before = np.diff(number, prepend=0)
        score[row, chosen[row]] = (before if throughout.any() else counts)[inverse]
    best = score.max(axis=0, initial=0)
    alike = (score >= COMPARABLE * best).sum(axis=0) > 1
    return np.argmax(score, axis=0), np.asarray(alike & (best > 0))
