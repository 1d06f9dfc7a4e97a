"""The joined tables of a run: read and checked once, then looked up by case and phase."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from workflow_src.common.case import COUNTS
from workflow_src.common.case import CaseKey as CaseKey
from workflow_src.common.errors import StageError, one_of, remake
from workflow_src.common.precisions import PRECISIONS
from workflow_src.common.read_table import lines_numbered, read_study, with_texts
from workflow_src.common.read_table import read_table as read_as_it_is
from workflow_src.common.reading import reading
from workflow_src.common.table_schema import columns

Made = TypeVar("Made")

OF_THE_MACHINE = frozenset({"ceilings"})
"""The tables whose rows belong to no case."""

STATUSES = ("ok", "oom", "skipped", "not_measured", "missing", "failed", "not_known")
"""What the column status may say."""

REPLAY_STATUSES = ("ok", "oom", "skipped", "not_capturable", "failed")
"""What the column replay_status may say; it is empty where nothing was replayed."""

ALLOWED = {
    "status": STATUSES,
    "precision": PRECISIONS,
    "replay_status": (*REPLAY_STATUSES, ""),
}
"""The columns that may hold only certain texts."""


class TableError(StageError):
    """A table can't be read; the message says what to do."""


@dataclass(frozen=True)
class Tables:
    """Tables by name, each indexed by line number; one that a run lacks is empty."""

    frames: Mapping[str, pd.DataFrame]
    _groups: dict[tuple[str, tuple[str, ...]], dict[object, pd.DataFrame]] = field(
        default_factory=dict, repr=False, compare=False
    )

    _derived: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def read(
        cls,
        folder: Path,
        names: Iterable[str],
        optional: Iterable[str] = (),
        case: CaseKey | None = None,
    ) -> "Tables":
        """The tables in a folder; those `optional` are empty where there is no file.

        `case`: of which case they are, if they are one case's own, which lack its columns.
        Raises TableError for a missing or damaged one.
        """
        frames = {name: read_table(folder / f"{name}.csv", name, case) for name in names}
        for name in optional:
            path = folder / f"{name}.csv"
            frames[name] = read_table(path, name, case) if path.is_file() else empty_table(name)
        return cls(frames)


    def __getitem__(self, name: str) -> pd.DataFrame:
        """The table `name`; empty if the run has none."""
        return self.frames[name] if name in self.frames else empty_table(name)

    def of(self, name: str, case: str, phase: str | None = None) -> pd.DataFrame:
        """The rows of one case in a table, restricted to a phase if given."""
        by = ("case",) if phase is None else ("case", "phase")
        table = self[name]
        groups = self._groups.get((name, by))
        if groups is None:
            groups = {key: mine for key, mine in table.groupby(list(by), sort=False)}
            self._groups[name, by] = groups
        return groups.get((case,) if phase is None else (case, phase), table.iloc[:0])

    def cached(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What is derived from these tables under a key, made once."""
        if key not in self._derived:
            self._derived[key] = make()
        found: Made = self._derived[key]
        return found

    @cached_property
    def cases(self) -> tuple[CaseKey, ...]:
        """The cases of timings.csv and captures.csv, in order of first appearance."""
        names = [field.name for field in fields(CaseKey)]
        every = [self[name][names] for name in ("timings", "captures") if len(self[name])]
        if not every:
            return ()
        rows = pd.concat(every).drop_duplicates("case").itertuples(index=False)
        return tuple(CaseKey(*row) for row in rows)

    def only(self, case: str) -> "Tables":
        """The tables with the rows of one case, and of no case."""
        return Tables(
            {
                name: table if name in OF_THE_MACHINE else table[table["case"] == case]
                for name, table in self.frames.items()
            }
        )


def read_table(path: Path, name: str, case: CaseKey | None = None) -> pd.DataFrame:
    """The table `name` in a file, indexed by line number.

    A case's own tables, which lack the case's columns, get them from `case`. Empty cells become ""
    in text columns and NaN in others; in `environments`, all columns but the case's are text.
    Raises TableError if the file doesn't exist, if it has rows but lacks a required column, or if
    a column of numbers holds anything but valid ones.
    """
    of_case = asdict(case) if case and name not in OF_THE_MACHINE else None
    table = read_as_it_is(path, name, error=TableError, case=of_case)
    with reading(path, "a readable table", remake(path), TableError):
        return _checked(with_texts(table, name), name)


def empty_table(name: str) -> pd.DataFrame:
    """The table `name` without rows."""
    return pd.DataFrame(
        columns=[each.column for each in columns(name).values() if each.is_required]
    )


def _checked(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """A table with its numbers as such. Raises ValueError for one, or a text, that can't be."""
    described = columns(name)
    table = table.reindex(columns=list(dict.fromkeys([*table.columns, *empty_table(name)])))
    for column, each in described.items():
        if column in table and each.check and not each.is_text:
            table[column] = _amounts(table[column], each.check == "filled")
    for column, allowed in ALLOWED.items():
        unknown = {str(value) for value in table.get(column, ())} - set(allowed)
        if unknown:
            raise ValueError(one_of(column, sorted(unknown)[0], allowed))
    counts = [column for column in COUNTS if column in table and len(table)]
    # A copy lies in one piece per type, from which rows are cut several times as fast.
    return lines_numbered(table.astype(dict.fromkeys(counts, "int64"))).copy()


def _amounts(column: pd.Series, filled: bool) -> pd.Series:
    """A column as numbers. Raises ValueError for a negative or infinite one, or a missing one of a
    `filled` column."""
    numbers = pd.to_numeric(column)
    if filled and column.isna().any():
        raise ValueError(f"{column.name} is empty in some row")
    if ((numbers < 0) | (numbers == float("inf"))).any():
        raise ValueError(f"{column.name} holds a negative or infinite number")
    return numbers
