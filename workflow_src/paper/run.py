"""A run's tables, and how cells of its cases become tables of a page."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_src.common.case import VARIED
from workflow_src.common.errors import StageError, remake
from workflow_src.common.precisions import PRECISIONS
from workflow_src.common.read_table import read_table
from workflow_src.common.reading import reading
from workflow_src.common.table_schema import columns
from workflow_src.paper.number import NAN, Numbers, lift, over

AXES = ("size", *VARIED)
"""What tells cases apart."""


def table_name(path: Path) -> str:
    """The name of a table by its file: "timings", "studies/mlp"."""
    folder = path.parent.name
    return f"{folder}/{path.stem}" if folder in ("studies", "capture") else path.stem


class Run:
    """The tables of the CSVs that a stage is given, so that nothing else can make it stale.

    case: the columns of the case whose own the tables are, which lack them.
    """

    def __init__(self, files: Iterable[Path], case: Mapping[str, object] | None = None) -> None:
        self.case = case
        there = [path for path in files if path.is_file()]
        self.files = {table_name(path): path for path in there if path.suffix == ".csv"}
        self.texts = {path.stem: path for path in there if path.suffix == ".json"}
        self._read: dict[str, pd.DataFrame] = {}
        self._lifted: dict[str, pd.DataFrame] = {}
        self._of_phase: dict[tuple[str, str], pd.DataFrame] = {}

    @classmethod
    def of(cls, folder: Path) -> "Run":
        """Of all tables in a folder."""
        return cls(sorted(folder.rglob("*.csv")))

    @classmethod
    def of_capture(cls, folder: Path) -> "Run":
        """Of one capture's tables, named "capture/steps"."""
        run = cls([])
        run.files |= {f"capture/{path.stem}": path for path in sorted(folder.glob("*.csv"))}
        return run

    def __getitem__(self, name: str) -> pd.DataFrame:
        """A table with all columns of its schema: amounts as floats, texts ("" where empty), flags.

        Without a file it has no rows. Its index is its name and the lines of its CSV. Raises
        StageError if the file is damaged.
        """
        if name not in self._read:
            path = self.files.get(name, Path())
            there = name in self.files
            frame = read_table(path, name, case=self.case) if there else pd.DataFrame()
            with reading(path, "a table whose cells are valid", remake(path), StageError):
                self._read[name] = typed(frame, name)
        return self._read[name]

    def has(self, name: str, column: str) -> bool:
        """Whether a table's file has a column."""
        return name in self.files and column in pd.read_csv(self.files[name], nrows=0)

    def numbers(self, name: str) -> pd.DataFrame:
        """A table of thousands of rows at most, with its amounts as Numbers.

        Sum and group those of longer ones by `over`, which takes floats.
        """
        if name not in self._lifted:
            self._lifted[name] = lifted(self[name])
        return self._lifted[name]

    @cached_property
    def cases(self) -> pd.DataFrame:
        """A row per case: its AXES as texts, "" of a context that it hasn't, and `label`."""
        tables = [self[name][["case", *AXES]] for name in ("timings", "captures")]
        every = keyed(pd.concat(tables), "case")
        for name in [name for name in AXES if every[name].dtype == float]:
            every[name] = every[name].map("{:.0f}".format).replace("nan", "").astype(object)
        every["context"] = every["context"].replace("0", "")
        at = (" at " + every["context"]).where(every["context"] != "", "")
        label = every["size"] + at + " in " + every["precision"]
        told = label.where(~label.duplicated(keep=False), every.index.to_series())
        return every.assign(label=told.astype(object))

    @cached_property
    def chapters(self) -> dict[str, Mapping[str, Any]]:
        """What other chapters said, by name; see written.Written.said."""
        made = {}
        for name, path in self.texts.items():
            with reading(path, "a chapter's JSON", remake(path), StageError):
                made[name] = json.loads(path.read_text(encoding="utf-8"))
        return made

    @cached_property
    def precisions(self) -> list[str]:
        """See `precisions_of`."""
        return precisions_of(self.cases)

    def of_phase(self, name: str, phase: str) -> pd.DataFrame:
        """A table's rows of a phase."""
        if (name, phase) not in self._of_phase:
            rows = self[name]
            mine = (rows["phase"] == phase) & rows["case"].isin(self.cases.index)
            self._of_phase[name, phase] = rows[mine]
        return self._of_phase[name, phase]


def typed(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """A table as its schema types it; see Run. Raises ValueError for an invalid cell."""
    about = columns(name)
    made = {}
    for column in dict.fromkeys([*about, *map(str, frame)]):
        kind = about[column].type if column in about else ""
        cells = frame[column] if column in frame else pd.Series(NAN, frame.index, dtype=object)
        try:
            made[column] = _typed(cells, kind)
            if column in about and column in frame and about[column].is_number:
                _require_amounts(made[column], about[column].check)
        except ValueError as error:
            raise ValueError(f"column {column}: {error}") from None
    index = pd.MultiIndex.from_product([[name], frame.index], names=["table", "line"])
    return pd.DataFrame(made, frame.index).set_axis(index)


def _typed(cells: pd.Series, kind: str) -> pd.Series:
    if kind in ("number", "whole"):
        return pd.to_numeric(cells).astype(float)
    if kind == "flag":
        return cells.astype(str).isin(["True", "1", "1.0"])
    if kind in ("text", "id") or cells.dtype == object or not pd.api.types.is_numeric_dtype(cells):
        return cells.astype(object).where(cells.notna(), "").astype(str).astype(object)
    return cells.astype(float)


def lifted(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of a table with their amounts as Numbers."""
    made = {str(c): lift(rows[c]) if rows[c].dtype == float else rows[c] for c in rows}
    return pd.DataFrame(made, rows.index)


def _require_amounts(cells: pd.Series, check: str) -> None:
    if check and not cells.dropna().between(0, float("inf"), inclusive="left").all():
        raise ValueError("it holds a negative or infinite number")
    if check == "filled" and cells.isna().any():
        raise ValueError("it is empty in some row")


def first(rows: pd.DataFrame) -> pd.Series:
    """The first row, or one in which all is missing."""
    return rows.iloc[0] if len(rows) else pd.Series(NAN, rows.columns, dtype=object)


def keyed(rows: pd.DataFrame, by: str | list[str]) -> pd.DataFrame:
    """The first row of each key, indexed by it."""
    return rows.drop_duplicates(by).set_index(by)


def wide(
    found: Numbers, index: pd.Index | None = None, columns: Sequence[str] | None = None
) -> pd.DataFrame:
    """Numbers by two keys as a table, the second across, of these alone, if any are given."""
    made = found.unstack(sort=False) if len(found) else pd.DataFrame(dtype=object)
    made = made if index is None else made.reindex(index=index)
    return made if columns is None else made.reindex(columns=[*columns]).astype(object)


def precisions_of(cases: pd.DataFrame) -> list[str]:
    """The precisions of some cases, from plain to better."""
    return sorted(cases["precision"].unique(), key=PRECISIONS.index)


Quantities = Mapping[str, Numbers | tuple[Numbers, str]]
"""Cells by case, and how they become one ("spread")."""


def medians(cases: pd.DataFrame, rows: Quantities) -> pd.DataFrame:
    """A row per quantity that is known, a column per precision."""
    order, made = precisions_of(cases), {}
    for label, given in rows.items():
        cells, how = given if isinstance(given, tuple) else (given, "spread")
        frame = pd.DataFrame({"precision": cases["precision"], "cell": cells.astype(object)})
        found = over(frame, "precision", "cell", how)
        if len(found):
            made[label] = found.reindex(order)
    return across(made, order)


def across(rows: Mapping[str, pd.Series], columns: list[str]) -> pd.DataFrame:
    """Rows by label, of cells by column."""
    frame = pd.DataFrame(rows, columns, dtype=object).T
    return frame.rename_axis("").reset_index()


def facets(cases: pd.DataFrame) -> pd.Series:
    """By case its precision, and what else varies besides size and context, as text."""
    others = [name for name in AXES if name not in ("size", "context", "precision")]
    name = cases["precision"].astype(object)
    for axis in [each for each in others if cases[each].nunique() > 1]:
        name = name + f", {axis} " + cases[axis].astype(str)
    return name


def matrices(cases: pd.DataFrame, cells: pd.Series) -> dict[str, pd.DataFrame]:
    """By facet a table of its cells, if any was measured: sizes down, contexts across."""
    found = {}
    for title, mine in cases.assign(cell=cells).groupby(facets(cases), sort=False):
        if not mine["cell"].map(lambda cell: isinstance(cell, str)).all():
            table = mine.pivot(index="size", columns="context", values="cell")
            across = sorted(table.columns, key=lambda each: float(each or 0))
            table = table.loc[mine["size"].unique(), across].rename_axis(columns=None)
            found[str(title)] = table.reset_index()
    return found


def ordered(rows: pd.DataFrame, column: str, order: Iterable[object]) -> pd.DataFrame:
    """Rows in the order that a column's cells have in another; those in none last."""
    places = {cell: place for place, cell in enumerate(dict.fromkeys(order))}
    return rows.sort_values(column, key=lambda cells: cells.map(places), kind="stable")


def down_to(path: str) -> list[str]:
    """The paths in which one lies, outermost first, and itself; a name may have an escaped "/"."""
    return [path[: each.start()] for each in re.finditer(r"(?<!\\)/|$", path)]


def tree_order(nodes: Sequence[tuple[str, str]], amounts: Iterable[float]) -> list[int]:
    """The places of nodes (tree, path) in an order in which each stands above what lies in it, and
    what has most comes first."""
    most = {tree: place for place, (tree, _) in enumerate(nodes[::-1])}
    known = dict(zip(nodes, amounts, strict=True))
    keys = [
        (-most[tree], [(-known.get((tree, each), 0.0), each) for each in down_to(path)])
        for tree, path in nodes
    ]
    return sorted(range(len(nodes)), key=keys.__getitem__)
