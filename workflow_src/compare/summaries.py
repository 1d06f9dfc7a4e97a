"""Reads summary.json of runs and captures into rows of one kind, a row per time of a step."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_src.common.capture_names import names_of
from workflow_src.common.case import PHASES
from workflow_src.common.errors import StageError
from workflow_src.common.reading import reading
from workflow_src.common.words import PHASES_IN_PROSE
from workflow_src.paper.number import NAN, Number
from workflow_src.paper.plain import SCHEMA

FILE = "summary.json"
ADVICE = (
    "give runs that have a report or captures that steptime read; of a run without one, "
    "python -m workflow_src.answers.summary --run FOLDER"
)

WHERE = ["place", "time"]
"""What a row of times is of: a case's phase or a capture's process, and which time of a step."""

OF_RUN = {
    "device time": "device_ms",
    "unprofiled time": "unprofiled_ms",
    "energy": "joules",
}
OF_CAPTURE = {"from step to step, under the profiler": "time_ms", "device time": "device_ms"}

FEWEST_PROCESSES = 5
"""With fewer, the ends of unprofiled time say too little: of two equal runs, those of 5 processes
each lie apart by chance once in 126, those of 3 once in 10."""


@dataclass(frozen=True)
class Summary:
    """A run or a capture: times of a step by WHERE, the first finding by place, and by name what
    was recorded of its versions and settings."""

    name: str
    kind: str
    times: pd.Series
    findings: pd.Series
    about: Mapping[str, str]


def read_all(paths: Sequence[Path]) -> list[Summary]:
    """The summaries of folders, or of their files, as given. Raises StageError if one is missing or
    damaged, is given twice or alone, or they are of two kinds."""
    folders = [path.parent if path.name == FILE else path for path in paths]
    names = names_of([str(folder.resolve()) for folder in folders])
    found = [_read(folder / FILE, names[str(folder.resolve())]) for folder in folders]
    if len({each.kind for each in found}) > 1:
        kinds = ", ".join(f"{each.name} is a {each.kind}" for each in found)
        raise StageError(f"{kinds}; give runs alone, or captures alone")
    if len(names) < len(folders) or len(names) < 2:
        raise StageError(f"{', '.join(map(str, folders))}: give two or more, each once")
    return found


def _read(path: Path, name: str) -> Summary:
    with reading(path, "a summary", ADVICE, StageError):
        said = json.loads(path.read_text(encoding="utf-8"))
        if said["schema"] != SCHEMA or said["kind"] not in ("run", "capture"):
            raise ValueError(f"schema {said['schema']}, {said['kind']}")
        make = _run if said["kind"] == "run" else _capture
        return make(said, name)


def _run(said: Mapping[str, Any], name: str) -> Summary:
    """Findings are those of training steps."""
    rows = [(f"{row['case']}, {PHASES_IN_PROSE[row['phase']]}", row) for row in said["cases"]]
    leading = {
        row["case"]: _finding(row)
        for row in reversed(said["findings"])
        if row["phase"] == PHASES[-1] and _value(row["rank"]) == 1
    }
    about = {what: ", ".join(seen) for part in ("environment", "settings")
             for what, seen in said[part].items()}  # fmt: skip
    for _, row in rows:
        if row["unprofiled_ms"] and _value(row["processes"]) < FEWEST_PROCESSES:
            row["unprofiled_ms"].pop("interval", None)
    return Summary(name, "run", _times(rows, OF_RUN, name), _series(leading), about)


def _capture(said: Mapping[str, Any], name: str) -> Summary:
    several = len(said["processes"]) > 1
    rows = [(f"process {r['process']}" if several else "a step", r) for r in said["processes"]]
    found = said["findings"]
    leads = _series({"a step": _finding(found[0])} if found else {})
    about = {"profiler": said["recorded_by"]}
    about |= {what: said[what] for what in ("card", "driver") if said.get(what)}
    return Summary(name, "capture", _times(rows, OF_CAPTURE, name), leads, about)


def _times(
    rows: Iterable[tuple[str, Mapping[str, Any]]], kinds: Mapping[str, str], name: str
) -> pd.Series:
    found = {
        (place, time): number(row[column], f"{name}: {column}")
        for place, row in rows
        for time, column in kinds.items()
        if row[column] is not None
    }
    index = pd.MultiIndex.from_frame(pd.DataFrame([*found], columns=WHERE))
    return pd.Series([*found.values()], index, dtype=object, name=name)


def _series(cells: Mapping[str, tuple[object, ...]]) -> pd.Series:
    return pd.Series([*cells.values()], pd.Index([*cells], dtype=object), dtype=object)


def _finding(row: Mapping[str, Any]) -> tuple[object, ...]:
    """A finding as a cell: what, where, and what it saves, if that is known."""
    where = f"{row['name']}, {row['path']}".removesuffix(", ")
    saves = number(row["saves_ms"], "saves_ms") if row["saves_ms"] else None
    return (where, ": ", saves, " ms") if saves else (where,)


def _value(said: Mapping[str, Any] | None) -> float:
    return float(said["value"]) if said else 0.0


def number(said: Mapping[str, Any], formula: str) -> Number:
    """A number as programs are told it, with its rows; see paper.plain.told."""
    whose = formula.partition(": ")[0]
    rows = frozenset(
        (f"{whose}: {table}", line)
        for table, lines in re.findall(r"([^;:\s]+)\.csv:([\d, -]+)", said["rows"])
        for part in lines.split(", ")
        for line in range(int(part.split("-")[0]), int(part.split("-")[-1]) + 1)
    )
    made = Number(said["value"], said["unit"], rows, formula)
    low, high = said.get("interval", (NAN, NAN))
    ends = (Number(end, made.unit, rows, formula) for end in (low, high))
    return made.within(*ends) if low == low else made
