"""Reads a trace of torch.profiler of any program.

Where nothing was launched, operators take the place of a device's activities; not in a trace whose
kernels were lost or that is cut off before any: kernels come last.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workflow_src.captures import autograd
from workflow_src.captures.call_kinds import launches_work
from workflow_src.captures.capture import (
    COPY,
    OPERATOR,
    REUSED_NUMBERS,
    SET,
    UNKNOWN,
    UNKNOWN_TEXT,
    Capture,
    Note,
    Recording,
    coded,
    counted,
    frame,
)
from workflow_src.captures.domains import torch_domain
from workflow_src.captures.event_parts import ALWAYS, Trace, parts_of
from workflow_src.captures.files import AGAIN, blocks
from workflow_src.captures.launches import Numbered, all_calls, launched
from workflow_src.captures.merged import NAMED, told_apart
from workflow_src.captures.rows import Mask, Parts, checked, of_each, spans
from workflow_src.common.errors import TraceError
from workflow_src.common.nesting import NOWHERE, tree
from workflow_src.common.operators import DISPATCHED

COPIED = re.compile(r"\AMemcpy (?P<direction>\w+) \((?P<source>\w+) -> (?P<target>\w+)\)")
"""A copy's name, as of CUPTI: Memcpy HtoD (Pageable -> Device)."""

FILLED = re.compile(r"\AMemset \((?P<target>\w+)\)")

HOST = ("ranges", "calls", "overheads")
DOUBLED = ("ranges", "calls", "work")
"""Parts in which tools write events twice. Operators may be alike: times are whole microseconds."""


def read(path: Path) -> Capture:
    """The capture in a trace. Raises TraceError if it isn't one."""
    found, done = parts_of(blocks(path), (*HOST, "work")), "work"
    every = found.parts()
    launching = launches_work(every["calls"]["name"]).any()
    worked = len(every["work"]) + found.lost["bad work"]
    # What isn't read may be the work of another vendor's device.
    if not (worked or launching or found.unread or found.lost["cut off"]):
        done, found = "operators", parts_of(blocks(path), (*HOST, "operators"))
        every = found.parts()
    if not any(len(every[part]) + found.lost[f"bad {part}"] for part in (*HOST, done)):
        if found.lost["cut off"]:
            raise TraceError(f"it ends in the middle, before any event that takes time; {AGAIN}")
        raise TraceError(
            f"it holds no event of torch.profiler that takes time, and {found.unread.total()} of "
            "kinds that aren't read here, as TensorFlow's and JAX's profilers write; record CPU "
            "and CUDA activities, on an NVIDIA GPU by nsys profile -t cuda,nvtx, or copy it again"
        )
    return _capture(found, every, done)


def _capture(found: Trace, every: Parts, done: str) -> Capture:
    """The capture in these parts; done: that of work."""
    events, left_out = checked({part: every[part] for part in (*HOST, done)}, DOUBLED)
    parts, named = told_apart(events | {part: every[part] for part in ALWAYS}, found.texts)
    ranges, calls, overheads, work = (parts[part] for part in (*HOST, done))
    made = Numbered.of(calls)
    by, copies, lost = Recording("torch"), frame("copies", {}), found.lost
    if done == "work":
        work, is_shared = _with_processes(work, calls, ranges)
        copies, (launches, reused, counts) = _copies(work), launched(work, made)
        rows: dict[Any, Any] = dict(work.items()) | launches
        by = Recording("torch", **counts)
        lost[REUSED_NUMBERS] = reused + int(is_shared.sum())
    else:
        rows = _operators(work)
    lost["bad work"] = lost[f"bad {done}"]
    unread = [Note("unread events", n, name or "no category") for name, n in found.unread.items()]
    tables = {
        "ranges": ranges.assign(domain=of_each(ranges["name"], torch_domain)),
        "work": rows,
        "calls": all_calls(made, work, copies, overheads),
        "copies": copies,
        "thread_names": parts["threads"],
        "operators": autograd.traced(parts["autograd"]),
    }
    return Capture.of(tables, (*counted(lost), *left_out, *unread, *named), by)


def _copies(work: pd.DataFrame) -> pd.DataFrame:
    row = np.flatnonzero(work["kind"].isin((COPY, SET)))
    code, names = pd.factorize(work["name"].to_numpy()[row])
    ends, filled = (pd.Series(names, dtype=object).str.extract(each) for each in (COPIED, FILLED))
    ends = ends.assign(
        direction=ends["direction"].where(filled["target"].isna(), SET),
        source=ends["source"].str.lower(),
        target=ends["target"].fillna(filled["target"]).str.lower(),
    ).fillna(UNKNOWN_TEXT)
    columns: dict[str, Any] = {"work": row, "bytes": work["bytes"].to_numpy()[row]}
    return pd.DataFrame(columns | {n: coded(code, each.tolist()) for n, each in ends.items()})


def _with_processes(
    work: pd.DataFrame, calls: pd.DataFrame, ranges: pd.DataFrame
) -> tuple[pd.DataFrame, Mask]:
    """A device's activities with the process of their launch, and where several may be that.

    An activity's event names its device, not its process, unless ranks were merged.
    """
    of_all = pd.concat([calls["process"], ranges["process"]]).unique()
    process = np.full(len(work), of_all[0] if len(of_all) else UNKNOWN)
    shared = np.zeros(len(work), dtype=bool)
    if len(of_all) != 1:
        pairs = calls.loc[calls["correlation"] != UNKNOWN, ["correlation", "process"]]
        counts = pairs.drop_duplicates().groupby("correlation")["process"].agg(["size", "first"])
        size, first = counts.reindex(work["correlation"], fill_value=UNKNOWN).to_numpy().T
        process, shared = np.where(size == 1, first, UNKNOWN), size > 1
    if NAMED in work:
        process = np.where(work[NAMED] == UNKNOWN, process, work[NAMED])
    return work.assign(
        duration_ns=work["end_ns"] - work["start_ns"],
        process=process,
        device=work["device"].mask(work["device"] == UNKNOWN, work["process"]),
        stream=work["stream"].mask(work["stream"] == UNKNOWN, work["thread"]),
    ), shared


def _operators(operators: pd.DataFrame) -> dict[str, Any]:
    """Operators as activities of a CPU, as Capture.work: calls, each with the time it spent itself.

    One that is called by one of its own name, as by autocast's wrapper of `aten::addmm`, is one
    call with that.
    """
    start, end = spans(operators)
    parent = np.full(len(start), NOWHERE)
    for rows in operators.groupby(["process", "thread"]).indices.values():
        parent[rows] = tree(start, end, np.asarray(rows)).parent
    held, own = parent != NOWHERE, end - start
    np.subtract.at(own, parent[held], (end - start)[held])
    code = operators["name"].cat.codes.to_numpy()
    alike = (code == code[parent]) & held & operators["name"].str.contains(DISPATCHED, regex=False)
    outermost = np.where(alike, parent, np.arange(len(parent)))
    while (outermost != outermost[outermost]).any():
        outermost = outermost[outermost]
    whole = np.zeros_like(own)
    np.add.at(whole, outermost, own)
    first = outermost == np.arange(len(start))
    calls = operators[first]
    columns = {"duration_ns": np.maximum(whole[first], 0), "kind": [OPERATOR] * len(calls)}
    columns |= dict.fromkeys(("device", "stream"), np.full(len(calls), UNKNOWN))
    columns |= dict.fromkeys(("launch_ns", "launch_end_ns"), calls["start_ns"])
    return dict(calls.items()) | columns
