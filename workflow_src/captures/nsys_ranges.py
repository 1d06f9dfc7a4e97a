"""The ranges of an nsys export: pushed and popped, or started and ended, in any domain."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from workflow_src.captures.capture import LATEST_NS, UNKNOWN, printable
from workflow_src.captures.domains import DEFAULT
from workflow_src.captures.exported import RANGES, Columns, Exported
from workflow_src.captures.plausible import Window, outside
from workflow_src.captures.rows import in_order, repeated
from workflow_src.captures.store import Among
from workflow_src.common.errors import TraceError
from workflow_src.common.intervals import Indices

PUSH_POP, START_END, DOMAIN = 59, 60, 75
IMPORTED_PUSH_POP, IMPORTED_START_END = 70, 71
"""Types of events, since nsys 2023.4; imported ones come from a text file."""

COLUMNS = ("start", "end", "eventType", "globalTid", "endGlobalTid", "textId", "domainId")
NEVER = LATEST_NS
_TIMED = Among("eventType", (PUSH_POP, START_END, IMPORTED_PUSH_POP, IMPORTED_START_END))
_CREATED = Among("eventType", (DOMAIN,))


@dataclass(frozen=True)
class Ranges:
    """Ranges: start, end (ns; NEVER if a range was not closed) and the thread that began each.

    They are in order of time, each once. bad, crossing, lost_names, twice: how many were left out,
    end on another thread, have no name, and stand in the file again.
    """

    start: Indices
    end: Indices
    thread: Indices
    name: npt.NDArray[np.object_]
    domain: npt.NDArray[np.object_]
    bad: int
    crossing: int
    lost_names: int
    twice: int = 0
    impossible: int = 0

    def by_time(self) -> "Ranges":
        """The same in order of time, each once: of those of one start the longest first."""
        keys = (self.start, -self.end, self.thread, self.name, self.domain)
        order = in_order(keys[0], keys[1:])
        again = repeated(order, keys)
        return replace(self._only(order[~np.isin(order, again)]), twice=len(again))

    def within(self, window: Window) -> "Ranges":
        """The same, but for what lies outside of a window."""
        lost = outside(self.start, np.where(self.end == NEVER, self.start, self.end), window)
        return replace(self._only(np.flatnonzero(~lost)), impossible=int(lost.sum()))

    def _only(self, rows: Indices) -> "Ranges":
        columns = ("start", "end", "thread", "name", "domain")
        return replace(self, **{name: getattr(self, name)[rows] for name in columns})

    def closed(self, at: int) -> "Ranges":
        """The same, those that were not closed ending at `at` (ns)."""
        ends = np.where(self.end == NEVER, np.maximum(self.start, at), self.end)
        return replace(self, end=ends)


def read_ranges(found: Exported) -> Ranges:
    """All ranges of an export, none if it has no table of them."""
    if not found.has(RANGES):
        if near := [name for name in found.tables if name.upper().startswith("NVTX_EVENT")]:
            raise TraceError(f"its table {near[0]} isn't one of ranges that this reader knows")
        none, nameless = np.array([], dtype=np.int64), np.array([], dtype=object)
        return Ranges(none, none, none, nameless, nameless, 0, 0, 0)
    rows = _rows(found, _TIMED)
    good = _good(rows)
    texts, lost = _texts(found, rows, _TIMED)
    kept: Columns = {name: column[good] for name, column in rows.items()}
    crossing = (kept["endGlobalTid"] != UNKNOWN) & (kept["endGlobalTid"] != kept["globalTid"])
    ranges = Ranges(
        kept["start"],
        kept["end"],
        kept["globalTid"],
        texts[good],
        _domains(found, kept),
        int((~good).sum()),
        int(crossing.sum()),
        int(lost[good].sum()),
    )
    return ranges.by_time()


def _rows(found: Exported, types: Among) -> Columns:
    """The events of some types; one that hasn't ended does so at NEVER."""
    return found.integers(RANGES, COLUMNS, types, no_end=NEVER)


def _good(rows: Columns) -> npt.NDArray[np.bool_]:
    """Which ranges have a beginning, a thread, and an end that isn't before the beginning."""
    start, end = rows["start"], rows["end"]
    known = (start > -NEVER) & (end <= NEVER) & (rows["globalTid"] != UNKNOWN)
    return np.asarray(known & (start <= end))


def _texts(
    found: Exported, rows: Columns, types: Among
) -> tuple[npt.NDArray[np.object_], npt.NDArray[np.bool_]]:
    """The name of each of these events, and whether the file lacks it.

    An event has a text of its own, or the number of a registered string.
    """
    has_own = found.has_columns(RANGES, "text")
    own = found.values(RANGES, "text", types) if has_own else [None] * len(rows["start"])
    strings, numbers = found.texts(rows["textId"]), rows["textId"].tolist()
    names = [
        printable(text) if text is not None else strings.get(number, _by_number(number))
        for text, number in zip(own, numbers, strict=True)
    ]
    lost = [
        text is None and number not in strings for text, number in zip(own, numbers, strict=True)
    ]
    return np.array(names, dtype=object), np.array(lost, dtype=bool)


def _by_number(number: int) -> str:
    return "(no name)" if number == UNKNOWN else f"(string {number})"


def _domains(found: Exported, ranges: Columns) -> npt.NDArray[np.object_]:
    """Each range's domain by name: its number counts within its process only."""
    created = _rows(found, _CREATED)
    texts, lost = _texts(found, created, _CREATED)
    known = zip(_domain_keys(created), texts, lost, strict=True)
    names = {key: text for key, text, is_lost in known if not is_lost}
    each = [
        DEFAULT if key[1] in (0, UNKNOWN) else names.get(key, f"domain {key[1]}")
        for key in _domain_keys(ranges)
    ]
    return np.array(each, dtype=object)


def _domain_keys(rows: Columns) -> list[tuple[int, int]]:
    """The process and the domain's number of each event."""
    return list(zip((rows["globalTid"] >> 24).tolist(), rows["domainId"].tolist(), strict=True))
