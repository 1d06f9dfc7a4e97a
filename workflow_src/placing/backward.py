"""Backward by module: the range of forward that made what each activity of backward computes.

By sequence numbers (captures/autograd.py). A node's maker is the last begun operator of forward
with its number, on the thread of its forward. What is launched around a node is the node's; what
accumulates gradients has no number, and is that of the node before. An operator that makes nodes in
backward, as for gradients of gradients, stands for the maker of the node it lies in, or, if forward
runs again there in ranges of its own (activation checkpointing), for the range in which it first
ran. What is launched as forward runs again is not of backward.

By ranges of profile_ranges.py: `backward/gradients/h` is of `forward/h`.
"""

import re

import numpy as np
import pandas as pd

from workflow_src.captures.autograd import ACCUMULATION, EVALUATION, FORWARD, NODE
from workflow_src.captures.capture import UNKNOWN
from workflow_src.captures.rows import Mask, spans
from workflow_src.common.intervals import Indices
from workflow_src.common.nesting import NOWHERE, Nesting, tree
from workflow_src.placing.paths import Names, Paths
from workflow_src.placing.placing import Placed, nested
from workflow_src.placing.threads import THREAD, rows_by

NOT_TOLD = -2
"""The path of backward's work of which no range of forward is known."""

GRADIENTS = re.compile(r"((?:.*/)?)backward/gradients((?:/.*)?)")
"""Paths of the ranges that profile_ranges.py opens in backward."""

Trees = dict[tuple[int, ...], Nesting]


def forward_paths(operators: pd.DataFrame, placed: Placed, paths: Paths) -> Indices:
    """The number of the path that made each activity of backward, or NOT_TOLD; of others NOWHERE.

    A path that backward itself lies in, such as a step's around a loss, tells nothing.
    """
    path = np.append(paths.of_range, NOWHERE)[placed.work["range"].to_numpy()]
    found: Indices = np.append(_by_ranges(paths), NOWHERE)[path]
    if (operators["kind"] == NODE).any():
        order = np.lexsort((-operators["end_ns"].to_numpy(), operators["start_ns"].to_numpy()))
        own = _by_numbers(operators.iloc[order].reset_index(drop=True), placed, paths)
        found = np.where(own == NOWHERE, found, own)
    told = np.flatnonzero(found >= 0)
    outer = path[told]
    while (outer != NOWHERE).any():
        found[told[outer == found[told]]] = NOT_TOLD
        outer = np.append(paths.above, NOWHERE)[outer]
    return found


def _by_ranges(paths: Paths) -> Indices:
    """Of each path of gradients that of forward, or NOT_TOLD, as around them; else NOWHERE."""
    found, number = np.full(len(paths.text), NOWHERE), dict[tuple[int, str], int]()
    for row, text in enumerate(paths.text):
        if "backward/gradients" in text and (match := GRADIENTS.fullmatch(text)):
            number, process = number or _numbers(paths), paths.process[row]
            found[row] = number.get((process, f"{match[1]}forward{match[2]}"), NOT_TOLD)
            found[number[process, f"{match[1]}backward"]] = NOT_TOLD
    return found


def _numbers(paths: Paths) -> dict[tuple[int, str], int]:
    return {key: n for n, key in enumerate(zip(paths.process, paths.text, strict=True))}


def _by_numbers(rows: pd.DataFrame, placed: Placed, paths: Paths) -> Indices:
    """Of each activity in a node the path of the node's maker; rows: operators by time."""
    work, ranges = placed.work, placed.ranges
    (start, end), kind = spans(rows), rows["kind"].astype(object).to_numpy()
    forward = kind == FORWARD
    own = np.flatnonzero(~forward)
    threads = rows_by(rows[THREAD].iloc[own]).items()
    trees = {thread: tree(start, end, own[some]) for thread, some in threads}
    holder, at = _held(trees, rows, start), _ranges_at(rows, placed)
    module = _modules(rows, ranges, at)
    begun = np.append(ranges["start_ns"].to_numpy(), NOWHERE)[module]
    inner = forward & (holder != NOWHERE)
    again = inner & (module != NOWHERE) & (begun >= start[holder])
    stands_for = np.where(forward, np.arange(len(rows)), _makers(rows, kind, trees))
    stands_for = np.append(np.where(inner & ~again, holder, stands_for), NOWHERE)
    # What each stands for in the end; a circle, of a damaged file, ends.
    for _ in range(len(stands_for).bit_length()):
        stands_for = stands_for[stands_for]
    here = np.append(paths.of_range, NOWHERE)[at]
    path = np.append(np.where(forward & (here != NOWHERE), here, NOT_TOLD), NOT_TOLD)
    around = holder[again]
    path[:-1][again] = _first_run(paths, here[again], here[around], path[stands_for[around]])
    node = _held(trees, work, work["launch_ns"].to_numpy())
    node[(work["launch_ns"] == UNKNOWN).to_numpy()] = NOWHERE
    node[_with_inner(ranges, module[again])[work["range"].to_numpy()]] = NOWHERE
    return np.asarray(np.where(node == NOWHERE, NOWHERE, path[stands_for[node]]), dtype=np.int64)


def _held(trees: Trees, rows: pd.DataFrame, moments: Indices) -> Indices:
    found = np.full(len(rows), NOWHERE)
    for key, mine in rows_by(rows[THREAD]).items():
        if key in trees:
            found[mine] = trees[key].at(moments[mine])
    return found


def _ranges_at(rows: pd.DataFrame, placed: Placed) -> Indices:
    of_all = [table[[*THREAD, "tree"]].drop_duplicates() for table in (placed.ranges, placed.work)]
    lent = pd.concat(of_all).query("tree != thread").drop_duplicates(THREAD)
    trees = rows[THREAD].merge(lent, "left", THREAD)
    trees["tree"] = trees["tree"].fillna(rows["thread"]).astype("int64")
    return nested(placed.ranges, trees.assign(launch_ns=rows["start_ns"]))[1]


def _modules(rows: pd.DataFrame, ranges: pd.DataFrame, at: Indices) -> Indices:
    """The innermost range at each operator that isn't such an operator itself, as emit_nvtx's."""
    alike = at != NOWHERE
    for name in ("start_ns", "end_ns"):
        alike &= rows[name].to_numpy() == np.append(ranges[name], NOWHERE)[at]
    is_operator = np.zeros(len(ranges) + 1, dtype=bool)
    is_operator[at[alike]] = True
    while (inner := is_operator[at]).any():
        at = np.where(inner, ranges["parent"].to_numpy()[at], at)
    return at


def _makers(rows: pd.DataFrame, kind: Names, trees: Trees) -> Indices:
    """The maker of each node, and of what autograd does around one, or NOWHERE."""
    found = np.full(len(rows), NOWHERE)
    pairs = _made(rows)
    found[pairs["row"]] = pairs["row_of"]
    for each in trees.values():
        own, above = each.rows, each.parent
        node = (kind[own] == NODE) & (above != NOWHERE) & (kind[above] == EVALUATION)
        found[above[node]] = found[own[node]]
        order = np.argsort(above, kind="stable")
        own, above, adds = own[order], above[order], kind[own[order]] == ACCUMULATION
        before = np.maximum.accumulate(np.where(adds, NOWHERE, np.arange(len(own))))
        adds &= (before != NOWHERE) & (above[before] == above)
        found[own[adds]] = found[own[before[adds]]]
    return found


def _made(rows: pd.DataFrame) -> pd.DataFrame:
    """The `row` of each node whose maker is known, and the maker's, `row_of`.

    Forward's thread is that which has most of the numbers of its nodes. Where none is said, a
    number that several threads have tells nothing.
    """
    numbered = rows.assign(row=rows.index)[rows["number"] != UNKNOWN]
    key, nodes = [*THREAD, "number", "row"], numbered[numbered["kind"] == NODE]
    makers = numbered.loc[numbered["kind"] == FORWARD, key].drop_duplicates(key[:-1], keep="last")
    both = nodes.merge(makers, on=["process", "number"], suffixes=("", "_of"))
    both = both[both["row_of"] < both["row"]]
    of, said = ["process", "forward_thread"], both["forward_thread"] != UNKNOWN
    counts = both[said].groupby([*of, "thread_of"]).size().sort_values(kind="stable").reset_index()
    most = counts.drop_duplicates(of, keep="last").drop(columns=0)
    alone = both[~said].drop_duplicates("row", keep=False)
    return pd.concat([both[said].merge(most, on=[*of, "thread_of"]), alone])


def _first_run(paths: Paths, again: Indices, around: Indices, made: Indices) -> Indices:
    """The paths of forward's first run, where it runs again in the paths `again`, or these.

    around, made: the path of the node that runs it again, and of its maker.
    """
    number = _numbers(paths)
    asked = pd.DataFrame({"again": again, "around": around, "made": made})
    code, different = asked.groupby([*asked], sort=False).ngroup(), asked.drop_duplicates()
    found = []
    for own, outer, maker in different.to_numpy().tolist():
        base = paths.text[outer] if outer != NOWHERE else ""
        text = paths.text[maker] + paths.text[own].removeprefix(base) if maker >= 0 else ""
        found.append(number.get((paths.process[own], text), own))
    return np.array(found, dtype=np.int64)[code]


def _with_inner(ranges: pd.DataFrame, some: Indices) -> Mask:
    found = np.zeros(len(ranges) + 1, dtype=bool)
    found[some] = True
    above = np.append(ranges["parent"].to_numpy(), NOWHERE)
    while (more := found[above] & ~found).any():
        found |= more
    return found
