"""An nsys export as tables whose names and columns may differ from version to version."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from workflow_src.captures.capture import LATEST_NS, UNKNOWN, Note, printable
from workflow_src.captures.files import GIVE
from workflow_src.captures.store import Among, Store, Wanted
from workflow_src.common.errors import TraceError
from workflow_src.common.intervals import Indices

Columns = dict[str, Indices]

WORK_TABLES = {
    name: f"CUPTI_ACTIVITY_KIND_{name}" for name in ("KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE")
}
RUNTIME, RANGES, STRINGS = "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS", "StringIds"
LATER = "export it with nsys 2023.4 or later"
OVERHEADS = "PROFILER_OVERHEAD"
COPY_KINDS, MEMORY_KINDS = "ENUM_CUDA_MEMCPY_OPER", "ENUM_CUDA_MEM_KIND"
ONE_BY_ONE = 10_000
"""Strings that are looked up; of more, all that the export has are read."""

NOT_EXPORTED = "NOT_EXPORTED"
"""The only table of a database in place of an export that failed: it says why."""

NEEDED = {
    **dict.fromkeys(WORK_TABLES.values(), ("start", "end", "globalPid", "correlationId")),
    RUNTIME: ("start", "end", "globalTid", "correlationId"),
    RANGES: ("start", "end", "eventType", "globalTid"),
    OVERHEADS: ("start", "end"),
}
"""Columns without which a table can't be used; a table of another name has to have them."""

ALSO_CALLED = {"demangledName": ("shortName", "mangledName")}
"""Other names of a column or table, by the one that readers use: where that isn't there, the first
of these that is. What a version renames is added here, beside the names of older versions."""

NOT_WORK = re.compile(r"SYNCHRONIZATION|CUDA_EVENT|OVERHEAD|RUNTIME|DRIVER|MARKER")
"""Tables of activities that take no time of a device."""


class NotExportedError(TraceError):
    """Why a report of nsys, which it names, could not be exported."""


@dataclass(frozen=True)
class Exported:
    """An export: its tables, and which of them is read for each expected one that isn't there."""

    store: Store
    stand_ins: dict[str, str]

    @property
    def tables(self) -> Mapping[str, tuple[str, ...]]:
        """The columns of each table, by their own names."""
        return self.store.columns

    def has(self, table: str) -> bool:
        """Whether an expected table is there, under its own or another name."""
        return _called(self.tables, table) is not None or table in self.stand_ins

    def name(self, table: str) -> str:
        """The name under which an expected table is there."""
        return _called(self.tables, table) or self.stand_ins[table]

    def column(self, table: str, name: str) -> str:
        """What a column is called there. Raises TraceError if it isn't there."""
        here = self.tables[self.name(table)]
        found = _called(here, name)
        if found is None:
            columns = ", ".join(here)[:150]
            raise TraceError(
                f"its table {self.name(table)} has no column {name}, it has {columns}; {LATER}"
            )
        return found

    def has_columns(self, table: str, *names: str) -> bool:
        """Whether a table is there, with these columns."""
        return self.has(table) and _have(self.tables[self.name(table)], names)

    def timed(self, table: str, names: tuple[str, ...], among: Among | None = None) -> Columns:
        """Columns, `start` and `end` among them, of rows that have both, in order and plausible."""
        rows = self.integers(table, names, among)
        start, end = rows["start"], rows["end"]
        good = (end >= start) & (start > -LATEST_NS) & (end < LATEST_NS)
        return rows if good.all() else {name: column[good] for name, column in rows.items()}

    def integers(
        self,
        table: str,
        names: tuple[str, ...],
        among: Among | None = None,
        no_end: int = -LATEST_NS,
    ) -> Columns:
        """Columns of a table, or of some of its rows, as they lie in it.

        What is missing or no integer is UNKNOWN, or of times -LATEST_NS; a missing end is `no_end`.
        """
        here = [
            name for name in names if name in NEEDED.get(table, ()) or self.has_columns(table, name)
        ]
        other = {"start": (-LATEST_NS, -LATEST_NS), "end": (no_end, -LATEST_NS)}
        wanted = [
            Wanted(self.column(table, name), *other.get(name, (UNKNOWN, UNKNOWN))) for name in here
        ]
        found = self.store.integers(self.name(table), wanted, self._here(table, among))
        columns = dict(zip(here, found, strict=True))
        rows = len(found[0])
        return {n: columns[n] if n in columns else np.full(rows, UNKNOWN) for n in names}

    def values(self, table: str, name: str, among: Among | None = None) -> list[object]:
        """A column of text of the rows that `integers` has; None where it is missing."""
        column = self.column(table, name)
        return self.store.values(self.name(table), column, self._here(table, among))

    def _here(self, table: str, among: Among | None) -> Among | None:
        return replace(among, column=self.column(table, among.column)) if among else None

    def duration_ns(self, table: str) -> int:
        """The total of the rows that `timed` has, computed apart from it."""
        start, end = (self.column(table, name) for name in ("start", "end"))
        return self.store.duration_ns(self.name(table), start, end)

    def rows(self, table: str) -> int:
        """How many rows an expected table has."""
        return self.store.rows(self.name(table))

    def texts(self, numbers: Indices) -> dict[int, str]:
        """The strings of these numbers, as far as the export has them."""
        own = pd.unique(numbers)
        own = own[own != UNKNOWN]
        if not self.has(STRINGS) or not len(own):
            return {}
        key, value = (self.column(STRINGS, each) for each in ("id", "value"))
        among = Among(key, tuple(own.tolist())) if len(own) <= ONE_BY_ONE else None
        (known,) = self.store.integers(self.name(STRINGS), [Wanted(key, UNKNOWN, UNKNOWN)], among)
        texts = self.store.values(self.name(STRINGS), value, among)
        pairs = zip(known.tolist(), texts, strict=True)
        return {number: printable(text) for number, text in pairs if number != UNKNOWN}


def exported(store: Store) -> Exported:
    """The tables of an nsys export. Raises TraceError if what is stored is of another kind."""
    if NOT_EXPORTED in store.columns:
        raise NotExportedError(str(store.values(NOT_EXPORTED, "why")[0]))
    found = Exported(store, _stand_ins(store.columns))
    if not any(found.has(name) for name in NEEDED) and "META_DATA_EXPORT" not in store.columns:
        here = ", ".join(store.columns)[:150] or "none"
        raise TraceError(f"it isn't an export of nsys: its tables are {here}; {GIVE}")
    return found


def names_of(name: str) -> tuple[str, ...]:
    """All names of a column or table, by the one that readers use, which comes first."""
    return (name, *ALSO_CALLED.get(name, ()))


def _expected() -> set[str]:
    """All names of the tables that readers use."""
    return {name for table in NEEDED for name in names_of(table)}


def _called(there: Iterable[str], name: str) -> str | None:
    """By which of its names, in whatever case, a column or table is there; None by none."""
    found = {each.casefold(): each for each in reversed(list(there))}
    names = (each.casefold() for each in names_of(name))
    return next((found[each] for each in names if each in found), None)


def _have(columns: Iterable[str], names: Iterable[str]) -> bool:
    return all(_called(columns, name) is not None for name in names)


def _stand_ins(tables: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """For expected tables that aren't there: the one unknown table like it, if there is one."""
    found = {}
    for wanted, columns in NEEDED.items():
        word = wanted.removeprefix("CUPTI_ACTIVITY_KIND_").removesuffix("_EVENTS")
        alike = [
            name
            for name, here in tables.items()
            if word in name.upper() and name not in _expected() and _have(here, columns)
        ]
        if _called(tables, wanted) is None and len(alike) == 1:
            found[wanted] = alike[0]
    return found


def table_notes(found: Exported) -> tuple[Note, ...]:
    """Tables read for others, and tables of activities that this reader doesn't know."""
    notes = [
        Note("other table", 1, f"{name} for {wanted}") for wanted, name in found.stand_ins.items()
    ]
    known = {*_expected(), *found.stand_ins.values()}
    for name, columns in found.tables.items():
        is_work = _have(columns, ("start", "end", "correlationId", "streamId"))
        if is_work and name not in known and not NOT_WORK.search(name):
            notes.append(Note("unread tables", found.store.rows(name), name))
    return tuple(note for note in notes if note.count)
