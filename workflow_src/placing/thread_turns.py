"""When a thread waits while another one works: calls and ranges of two threads that take turns.

Who calls backward waits for it. While the other thread makes a call or has a range open, the
waiting one makes no call, and begins and ends no range, but has one open.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workflow_src.common.intervals import Indices, Union

Mask = npt.NDArray[np.bool_]

THROUGHOUT = 0.99
"""Share of a thread's calls, and of its outermost ranges, from which on another one waits during
them all. The rest is left for nodes of backward on the host, which the waiting thread runs."""

COMPARABLE = 0.5
"""Share of the best fit from which on that of another caller is about as good."""

FEW = 0.1
"""Share of what the busiest thread does below which another one isn't taken for a trainer."""


@dataclass(frozen=True)
class Spans:
    """Times (ns) in which a thread does something, in order of their starts."""

    start: Indices
    end: Indices

    @classmethod
    def of(cls, start: Indices, end: Indices) -> "Spans":
        """Spans in any order."""
        order = np.argsort(start, kind="stable")
        return cls(start[order], end[order])

    def __len__(self) -> int:
        """How many they are."""
        return len(self.start)


@dataclass(frozen=True)
class Caller:
    """A thread that may wait for others.

    begins, ends: of its calls, each in order; bounds: where its ranges begin or end, in order;
    open: when one of its ranges is.
    """

    begins: Indices
    ends: Indices
    bounds: Indices
    open: Union

    def waits(self, during: Spans) -> Mask:
        """Whether the thread waits in a range during each of some spans."""
        start, end = during.start, during.end
        calls = np.searchsorted(self.begins, end) - np.searchsorted(self.ends, start, "right")
        bounds = np.searchsorted(self.bounds, end) - np.searchsorted(self.bounds, start, "right")
        return np.asarray((calls <= 0) & (bounds <= 0) & self.open.holds(start))

    def silence(self, moments: Indices) -> Indices:
        """The number of the silence that each moment is in: of calls and bounds before it."""
        before = np.searchsorted(self.ends, moments, "right")
        return np.asarray(before + np.searchsorted(self.bounds, moments, "right"), dtype=np.int64)


def take_turns(work: Sequence[Spans], callers: Sequence[Caller]) -> bool:
    """Whether one of `callers`, which make calls themselves, waits whenever a thread works.

    work: the thread's calls, and its outermost ranges.
    """
    some = [spans for spans in work if len(spans)]
    calling = [caller for caller in callers if len(caller.begins)]
    return bool(some and calling) and all(
        np.logical_or.reduce([caller.waits(spans) for caller in calling]).mean() >= THROUGHOUT
        for spans in some
    )


def fitting(work: Spans, callers: Sequence[Caller]) -> tuple[Indices, Mask]:
    """Which of `callers` a thread works for in each span, and where others fit about as well.

    Those that wait throughout have called, and of several the one that did most in its turn before.
    If none does, callers share the thread, and it is the one in whose silence most work was done.
    """
    waits = np.stack([caller.waits(work) for caller in callers])
    calls = np.array([len(caller.begins) for caller in callers])
    throughout = (waits.mean(axis=1) >= THROUGHOUT) & (calls > 0)
    throughout &= calls >= FEW * calls[throughout].max(initial=0)
    chosen = waits & throughout[:, np.newaxis] if throughout.any() else waits
    score = np.zeros(waits.shape, dtype=np.int64)
    for row, caller in enumerate(callers):
        silences = caller.silence(work.start[chosen[row]])
        number, inverse, counts = np.unique(silences, return_inverse=True, return_counts=True)
        before = np.diff(number, prepend=0)
        score[row, chosen[row]] = (before if throughout.any() else counts)[inverse]
    best = score.max(axis=0, initial=0)
    alike = (score >= COMPARABLE * best).sum(axis=0) > 1
    return np.argmax(score, axis=0), np.asarray(alike & (best > 0))
