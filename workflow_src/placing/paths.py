"""The paths of ranges: their names from the outermost to the innermost, within a process.

In a path, "/" separates names. A "/" in a name is written as a backslash and "/", a backslash as
two, so that different ranges never have the same path.

Ranges whose names differ by numbers alone have one shape. A number is one in digits that doesn't
begin a word ("Conv2d" has none), a hexadecimal one, a UUID, or a list of numbers in brackets.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
import numpy.typing as npt
import pandas as pd

from workflow_src.captures.autograd import AROUND
from workflow_src.captures.capture import Note
from workflow_src.captures.rows import Values, of_each
from workflow_src.common.intervals import Indices
from workflow_src.common.nesting import NOWHERE

OF_WORK = ("path", "duration_ns", "wait_ns", "made_in")

ANY = "*"
"""Stands for a number in a shape."""

MANY = 32
"""A reader needs each of a few layers, but none of the calls that emit_nvtx numbers."""

_NUMBER = re.compile(
    r"[\[(][\s\d,()\[\]]*[\])]"
    r"|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
    r"|0x[0-9a-fA-F]+"
    r"|(?<![0-9A-Za-z])(?=[a-f]*\d)[0-9a-f]{8,}(?![0-9A-Za-z])"
    r"|\d+(?:\.\d+)*(?![A-Za-z\d])"
)
_ENGINE = re.compile(r"\A(execute_(?:context_)?)\d.*", re.DOTALL)
"""How vLLM and SGLang name the steps of their engine, before counts of requests and tokens."""
_CALL = re.compile(rf"\A{AROUND}|, (?:seq|op_id|sizes|input_op_ids) = .*", re.DOTALL)
"""In emit_nvtx's names: what all of the engine's have, and which call it is."""

Names = npt.NDArray[np.object_]


def shape(name: str) -> str:
    """A name with ANY for each number."""
    return _NUMBER.sub(ANY, _ENGINE.sub(rf"\1{ANY}", name))


def shapes(names: "pd.Series[str] | Values") -> Names:
    """The shape of each name."""
    return of_each(names, shape)


@dataclass(frozen=True)
class Paths:
    """All paths: text, process, the number of the path above (or NOWHERE), and depth from 1.

    of_range: the number of each range's path.
    """

    text: Names
    process: Indices
    above: Indices
    depth: Indices
    of_range: Indices
    notes: tuple[Note, ...] = ()


def paths_of(ranges: pd.DataFrame, fold_numbers: bool = False) -> Paths:
    """The paths of ranges with `parent`; the one above always has a lower number.

    fold_numbers: whether ranges that differ by numbers alone are one path if they are MANY.
    """
    name, names = pd.factorize(ranges["name"].to_numpy(dtype=object), sort=True)
    notes: tuple[Note, ...] = ()
    if fold_numbers:
        written, notes = _folded(names)
        number, names = pd.factorize(written, sort=True)
        name = number[name]
    parts = [each.replace("\\", "\\\\").replace("/", "\\/") for each in names]
    parent = ranges["parent"].to_numpy()
    code, processes = pd.factorize(ranges["process"].to_numpy(), sort=True)
    text, process, above, depth = list[str](), list[int](), list[int](), list[int]()
    of_range, level, rows = np.full(len(ranges), NOWHERE), 1, np.flatnonzero(parent == NOWHERE)
    while len(rows):
        # An outermost path lies in -1 minus the place of its process.
        holder = -1 - code[rows] if level == 1 else of_range[parent[rows]]
        inverse, pairs = pd.factorize(holder * len(names) + name[rows], sort=True)
        of_range[rows] = len(text) + inverse
        for outer, part in np.stack(np.divmod(pairs, len(names)), axis=1).tolist():
            text.append(parts[part] if outer < 0 else f"{text[outer]}/{parts[part]}")
            process.append(int(processes[-1 - outer]) if outer < 0 else process[outer])
            above.append(max(outer, NOWHERE))
            depth.append(level)
        level, is_here = level + 1, np.zeros(len(ranges) + 1, dtype=bool)
        is_here[rows] = True
        rows = np.flatnonzero(is_here[parent])
    of, up, deep = (np.array(each, dtype=np.int64) for each in (process, above, depth))
    return Paths(np.array(text, dtype=object), of, up, deep, of_range, notes)


def _folded(names: Names) -> tuple[Names, tuple[Note, ...]]:
    """Names without what tells emit_nvtx's calls apart, of MANY that differ by numbers alone their
    shape, and a note."""
    number, different = pd.factorize(of_each(names, lambda name: _CALL.sub("", name)), sort=True)
    alike = shapes(different)
    group, _ = pd.factorize(alike)
    written = np.where(np.bincount(group)[group] > MANY, alike, different)[number]
    folded = np.flatnonzero(written != names)
    examples = [f"{names[row]} as {written[row]}" for row in folded[:1]]
    return written, tuple(Note("folded names", len(folded), each) for each in examples)


def common_path(paths: Iterable[str]) -> str:
    """The innermost range that all of these paths lie in; "" if none does."""
    parts = [path.split("/") for path in dict.fromkeys(paths)]
    levels = (set(names) for names in zip(*parts, strict=False))
    return "/".join(names.pop() for names in takewhile(lambda names: len(names) == 1, levels))


def path_totals(ranges: pd.DataFrame, work: pd.DataFrame, paths: Paths) -> pd.DataFrame:
    """A row per path: the times of capture/paths (common/tables.csv), in ns."""

    def summed(at: Indices, values: Indices | int) -> Indices:
        # What is NOWHERE comes last.
        found = np.zeros(len(paths.text) + 1, dtype=np.int64)
        np.add.at(found, at, values)
        return found[:-1]

    at, of_range = work["path"].to_numpy(), paths.of_range
    length, made_in = work["duration_ns"].to_numpy(), work["made_in"].to_numpy()
    own = summed(at, length)
    table = {
        "process": paths.process,
        "path": paths.text,
        "instances": summed(of_range, 1),
        "host_ns": summed(of_range, (ranges["end_ns"] - ranges["start_ns"]).to_numpy()),
        "own_ns": own,
        "busy_ns": own.copy(),
        "wait_ns": summed(at, work["wait_ns"].to_numpy()),
        "backward_ns": summed(np.maximum(made_in, NOWHERE), length),
    }
    # With what inner paths have.
    for level in range(int(paths.depth.max(initial=0)), 1, -1):
        rows = np.flatnonzero(paths.depth == level)
        for name in ("busy_ns", "wait_ns", "backward_ns"):
            np.add.at(table[name], paths.above[rows], table[name][rows])
    return pd.DataFrame(table)
