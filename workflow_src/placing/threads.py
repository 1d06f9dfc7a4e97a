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
Helpers work for a thread that has ranges and isn't one; of several such, thread_callers.py tells
which.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from workflow_src.captures.capture import COPY, SET, Capture
from workflow_src.captures.domains import is_library
from workflow_src.common.intervals import Indices
from workflow_src.placing.thread_callers import callers_of, units_of
from workflow_src.placing.thread_rows import NONE, Thread, ThreadRows
from workflow_src.placing.thread_turns import FEW, take_turns

AUTOGRADS_NAME = re.compile(r"\bpt_autograd_")
AUTOGRADS_RANGE = re.compile(r"autograd::engine::evaluate_function: |\w+Backward\d*, seq = ")
"""The beginning of a range of torch.autograd.profiler.emit_nvtx that only autograd pushes."""

WHY = AUTOGRADS, TURNS, ASSUMED = "lent", "turns", "assumed"
"""Why a thread is a helper, as codes of notes: it is autograd's, it takes turns, or nothing says
that it isn't one."""


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


def helped(capture: Capture, ranges: pd.DataFrame) -> Helped:
    """Find the helpers of a capture, and whom they help in those `ranges` that count."""
    rows = ThreadRows(capture, ranges)
    found = Helped(
        ranges["thread"].to_numpy(copy=True), capture.work["thread"].to_numpy(copy=True), {}, {}, 0
    )
    processes = {process for process, _ in rows.of_ranges}
    shared = sum(_add(found, rows, process) for process in sorted(processes))
    return Helped(found.of_range, found.of_work, found.why, found.main, shared)


def _add(found: Helped, rows: ThreadRows, process: int) -> int:
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


def _has_own_ranges(rows: ThreadRows, thread: Thread) -> bool:
    """Whether not all ranges of a thread are a library's."""
    domains = pd.unique(rows.ranges["domain"].to_numpy()[rows.of_ranges[thread]])
    return not all(is_library(domain) for domain in domains)


def _autograds(rows: ThreadRows, threads: Sequence[Thread]) -> list[Thread]:
    """The threads that are autograd's by their names or, if none is, by flows and ranges."""
    names = {thread: rows.names.get(thread, []) for thread in threads}
    named = [thread for thread in threads if any(map(AUTOGRADS_NAME.search, names[thread]))]
    later = [thread for thread in threads if thread[0] != thread[1]]
    return named or [
        thread for thread in later if thread in rows.flows or _pushes_autograds(rows, thread)
    ]


def _pushes_autograds(rows: ThreadRows, thread: Thread) -> bool:
    """Whether most outermost ranges of a thread are ones that only autograd pushes."""
    own, starts = rows.of_ranges.get(thread, NONE), rows.outermost(thread).start
    begun = own[np.isin(rows.times(thread)[0], starts)]
    names = rows.ranges["name"].to_numpy()[begun]
    return 2 * sum(AUTOGRADS_RANGE.match(name) is not None for name in names) > len(starts)


def _takes_turns(rows: ThreadRows, thread: Thread, callers: Sequence[Thread]) -> bool:
    others = [rows.caller(other) for other in callers if other != thread]
    return take_turns([rows.calls(thread), rows.outermost(thread)], others)


def _main(rows: ThreadRows, callers: Sequence[Thread]) -> Thread:
    """The main thread: the process's first, which has its number on Linux, unless that launches
    less than a tenth of the busiest one's device time, copies and sets aside. Without it, the
    busiest one, or of several such the one with most ranges."""
    if len(callers) == 1:
        return callers[0]
    work = rows.capture.work
    length = work["duration_ns"].where(~work["kind"].isin((COPY, SET)), 0).to_numpy()
    busy = {each: int(length[rows.launches.get(each, NONE)].sum()) for each in callers}
    busiest = max(callers, key=lambda each: (busy[each], len(rows.of_ranges[each])))
    for thread in callers:
        if thread[0] == thread[1] and busy[thread] >= FEW * busy[busiest]:
            return thread
    return busiest


def _help(found: Helped, rows: ThreadRows, thread: Thread, callers: Sequence[Thread]) -> int:
    """Set whom a helper works for, and return how many units of work fit several."""
    units = units_of(rows, thread)
    which, alike = callers_of(rows, thread, callers, units)
    of_unit = np.array([number for _, number in callers])[which]
    found.of_range[rows.of_ranges.get(thread, NONE)] = of_unit[units.of_ranges]
    found.of_work[rows.launches.get(thread, NONE)] = of_unit[units.of_launches]
    return alike
