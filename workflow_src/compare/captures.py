"""What differs between the tables of two captures of other programs: B against A."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from workflow_src.common.errors import StageError
from workflow_src.common.read_table import read_table
from workflow_src.common.units import NS_PER_MS
from workflow_src.compare.captures_steps import StepsCompared, compare_steps
from workflow_src.compare.change import PLAIN_BEYOND, Change, Kind, apart
from workflow_src.compare.work import beside, by_change, kernels_beside
from workflow_src.paper.value import Cell, Value
from workflow_src.placing.kernel_names import distinct_names, short_names

READ = (
    "paths", "kernels", "steps", "summary", "notes",
    "diagnoses", "findings", "smaller", "gaps", "waits", "step_times",
)  # fmt: skip
ADVICE = "make its tables: snakemake --cores 1 report.md --config 'captures=[FILE]'"

FEWEST_STEPS = 3
"""In each capture, for a verdict: two may both be out of the ordinary."""

NAMED_APART = ("copy", "set")
"""Kinds of work whose short names differ between profilers: each kind is one row then."""


@dataclass(frozen=True)
class Captured:
    """The tables of a capture, by the name of its folder."""

    name: str
    tables: Mapping[str, pd.DataFrame]

    def steps(self, path: str) -> pd.DataFrame:
        """The steps of a range path, of all processes."""
        found = self.tables["steps"]
        rows: pd.DataFrame = found[found["path"] == path]
        return rows

    @property
    def profiler(self) -> str:
        """Who recorded it."""
        return str(self.tables["summary"]["profiler"].iloc[-1])


@dataclass(frozen=True)
class CapturesCompared:
    """Two captures compared; times (ms) are of a step of a process, if both have steps.

    step: the range path that both have as steps, or None; device: the change of their device time;
    steps: what else differs between their steps.
    paths: a row per range path: times, ms and own_ms of each (a_times, b_times, ...), ratio, and
    own_change_ms, which add up. kernels: a row per name: calls and ms of each, kind (how it
    changed, or None), change_ms. The name is the whole one, or the short one if profilers differ.
    """

    a: str
    b: str
    step: str | None
    device: Change | None
    steps: StepsCompared
    profilers: tuple[str, str]
    paths: pd.DataFrame
    kernels: pd.DataFrame

    @property
    def profilers_differ(self) -> bool:
        """Whether kernels are matched by short name."""
        return self.profilers[0] != self.profilers[1]

    @property
    def changes(self) -> tuple[Change, ...]:
        """The changes of a step that decide: of device work, and from step to step."""
        return tuple(each for each in (self.device, self.steps.time) if each and self.step)

    @property
    def times_table(self) -> pd.DataFrame:
        """The two times of a step that are judged, each with its verdict."""
        lines = [
            [each.kind, *(Value(ms, "ms", ()) for ms in (each.a_ms, each.b_ms)),
             Value(each.ratio, "near_one", ()), each.verdict]
            for each in self.changes
        ]  # fmt: skip
        heads = ["time of a step, median", "A, ms", "B, ms", "B / A", "verdict"]
        return pd.DataFrame(lines, columns=heads, dtype="object")

    @property
    def parts_table(self) -> pd.DataFrame:
        """How the steps divide."""
        return _changes_table(self.steps.parts, {"part": "a step"})

    @property
    def findings_table(self) -> pd.DataFrame:
        """What each finding costs."""
        return _changes_table(self.steps.findings, {"name": "finding", "path": "where", "kind": ""})

    @property
    def host_table(self) -> pd.DataFrame:
        """What the host does longer or less long."""
        return _changes_table(self.steps.host, {"what": "the host", "path": "where"})

    @property
    def paths_table(self) -> pd.DataFrame:
        """Paths in the order of what their own work changed by."""
        columns = ("a_ms", "b_ms", "ratio", "own_change_ms")
        lines = [[row["path"], *_cells(row, columns)] for _, row in self.paths.iterrows()]
        heads = ["range path", "A, ms", "B, ms", "B / A", "change of its own, ms"]
        return pd.DataFrame(lines, columns=heads, dtype="object")

    @property
    def kernels_table(self) -> pd.DataFrame:
        """Kernels that changed, in the order of their change."""
        columns = ("a_calls", "b_calls", "a_ms", "b_ms", "change_ms")
        changed = self.kernels[self.kernels["kind"].notna()]
        lines = [
            [row["short_name"], row["kind"], *_cells(row, columns)] for _, row in changed.iterrows()
        ]
        heads = ["kernel", "", "calls, A", "calls, B", "A, ms", "B, ms", "change, ms"]
        return pd.DataFrame(lines, columns=heads, dtype="object")


def _changes_table(rows: pd.DataFrame, texts: Mapping[str, str]) -> pd.DataFrame:
    """Rows of texts, by column and its heading, with the ms of A and B and their change."""
    columns = ("a_ms", "b_ms", "change_ms")
    lines = [[*row[list(texts)], *_cells(row, columns)] for _, row in rows.iterrows()]
    heads = [*texts.values(), "A, ms", "B, ms", "change, ms"]
    return pd.DataFrame(lines, columns=heads, dtype="object")


def _cells(row: "pd.Series[float]", columns: tuple[str, ...]) -> list[Cell]:
    """Numbers of a row as cells; None for those that aren't there."""
    return [None if pd.isna(row[name]) else Value(row[name], _unit(name), ()) for name in columns]


def _unit(column: str) -> str:
    if column.endswith("calls"):
        return "calls"
    return "near_one" if column == "ratio" else "ms"


def read_capture(folder: Path) -> Captured:
    """The tables of a capture. Raises StageError if they aren't there, or it can't be read."""
    tables = {
        name: read_table(folder / f"{name}.csv", f"capture/{name}", "a capture's table", ADVICE)
        for name in READ
    }
    notes = tables["notes"]
    for why in notes.loc[notes["note"] == "unreadable", "about"]:
        raise StageError(f"{folder} has no tables of its capture, which could not be read: {why}")
    return Captured(folder.name, tables)


def compare_captures(a: Captured, b: Captured) -> CapturesCompared:
    """All that differs between two captures."""
    step = _shared_step(a, b)
    both = (a, b)
    steps = [len(each.steps(step)) if step else 1 for each in both]
    device = _device(*(each.steps(step) for each in both)) if step else None
    paths = beside(*(_paths(each, n) for each, n in zip(both, steps, strict=True)))
    profilers = (a.profiler, b.profiler)
    # They write C++ names differently: (anonymous namespace) and <unnamed>, lambda()#3 and
    # (instance 3).
    differ = a.profiler != b.profiler
    named = [_kernels(each, n, differ) for each, n in zip(both, steps, strict=True)]
    kernels = kernels_beside(named[0], named[1], "family")
    kernels.insert(1, "short_name", kernels["name"] if differ else distinct_names(kernels["name"]))
    between = compare_steps(a.tables, b.tables, FEWEST_STEPS)
    return CapturesCompared(
        a.name, b.name, step, device, between, profilers,
        _path_changes(paths), by_change(kernels),
    )  # fmt: skip


def _shared_step(a: Captured, b: Captured) -> str | None:
    """The one range path of which both have enough steps that hold device work."""
    found = [
        {
            str(path)
            for path, rows in each.tables["steps"].groupby("path")
            if len(rows) >= FEWEST_STEPS and (rows["busy_ns"] > 0).all()
        }
        for each in (a, b)
    ]
    shared = found[0] & found[1]
    return shared.pop() if len(shared) == 1 else None


def _device(a: pd.DataFrame, b: pd.DataFrame) -> Change:
    """The change of the device time of a step, judged as that of this project's own steps."""
    ms = [rows["busy_ns"] / NS_PER_MS for rows in (a, b)]
    ours, theirs = ((each.min(), each.median(), each.max()) for each in ms)
    return apart(Kind.DEVICE, ours, theirs, PLAIN_BEYOND)


def _paths(of: Captured, steps: int) -> pd.DataFrame:
    """Times and ms a step of each path, over all processes."""
    by_path = of.tables["paths"].groupby("path")[["instances", "busy_ms", "own_ms"]]
    sums = by_path.sum(min_count=1) / steps
    return sums.rename(columns={"instances": "times", "busy_ms": "ms"})


def _kernels(of: Captured, steps: int, by_short_name: bool) -> pd.DataFrame:
    """Calls and ms a step of each kernel, copy or set, over all paths and processes, by name."""
    found = of.tables["kernels"]
    if by_short_name:
        short = short_names(found["name"])
        found = found.assign(name=short.where(~found["kind"].isin(NAMED_APART), found["kind"]))
    sums = found.groupby("name")[["activities", "busy_ns"]].sum() / steps
    family = found.groupby("name")[["family"]].first()
    return family.assign(calls=sums["activities"], ms=sums["busy_ns"] / NS_PER_MS)


def _path_changes(paths: pd.DataFrame) -> pd.DataFrame:
    ratio = (paths["b_ms"] / paths["a_ms"]).where(paths["a_ms"] > 0)
    return by_change(paths.assign(ratio=ratio), "own_ms", "own_change_ms")
