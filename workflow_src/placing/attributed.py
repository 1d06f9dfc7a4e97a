"""A capture whose device work is placed in its ranges, with what each activity is."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from workflow_src.captures import capture as codes
from workflow_src.captures.capture import (
    GRAPH,
    KERNEL,
    OVERHEAD,
    Capture,
    Note,
    as_small,
    counted,
    early,
    frame,
)
from workflow_src.captures.domains import choose
from workflow_src.common.intervals import Indices
from workflow_src.common.nesting import NOWHERE
from workflow_src.common.thresholds import LOST_AT_MOST
from workflow_src.placing.backward import forward_paths
from workflow_src.placing.families import families
from workflow_src.placing.kernel_names import distinct_names
from workflow_src.placing.kernel_words import changes_type
from workflow_src.placing.ledger import blocking
from workflow_src.placing.paths import Paths, paths_of, shapes
from workflow_src.placing.placing import OF_ROWS, Placed, place
from workflow_src.placing.ranks import waits
from workflow_src.placing.step_rules import MADE, Rule, StepRanges, choose_steps


@dataclass(frozen=True)
class Attributed:
    """A capture whose work is placed.

    work: with `path` (a number, or NOWHERE), `family`, `named` (a row of `names`), `wait_ns` (if
    waits_known) and `made_in` (see forward_paths). names: a row per distinct kind and name of work,
    with family and short name.
    """

    capture: Capture
    placed: Placed
    steps: StepRanges
    waits_known: bool
    paths: Paths
    work: pd.DataFrame
    names: pd.DataFrame
    notes: tuple[Note, ...]

    @cached_property
    def held(self) -> pd.DataFrame:
        """The calls that make the host wait for the device, and the profiler's overheads."""
        calls = self.capture.calls
        return pd.concat([blocking(calls), calls[calls["kind"] == OVERHEAD]])


def attributed(
    capture: Capture,
    domains: tuple[str, ...] | None,
    fold: str | None = None,
    step: str = "",
) -> Attributed:
    """Place a capture's work in the ranges of these domains; None: all but libraries' own.

    fold, step: as capture_fold and capture_step (docs/captures.md); what differs by numbers alone
    is folded unless fold is "". Raises TraceError for a domain that the capture doesn't have.
    """
    ranges = capture.ranges
    if fold:
        names = ranges["name"].str.replace(fold, "", regex=True)
        # A name that it is all of stays.
        ranges = ranges.assign(name=names.where(names != "", ranges["name"]))
    counting, notes = choose(ranges, domains)
    placed = place(capture, counting)
    every = ranges if domains is None else ranges[:0]
    rule, found = choose_steps(placed, every, step, numbered=fold != "")
    is_step = placed.ranges.index.isin(found.index)
    if rule in MADE:
        if rule == Rule.PROFILERS:
            counting, notes = choose(ranges.drop(found.index), domains)
        made = frame("ranges", found.assign(domain=str(rule)))
        placed = place(capture, pd.concat([counting, made], ignore_index=True))
        is_step = (placed.ranges["domain"] == rule).to_numpy()
    called = placed.ranges["name"].to_numpy(dtype=object, copy=True)
    if rule == Rule.PROFILERS or len(set(called[is_step])) > 1:
        called[is_step] = shapes(called[is_step])
    paths = paths_of(placed.ranges.assign(name=called), fold_numbers=fold != "")
    named, of_names = work_names(capture.work)
    path = np.append(paths.of_range, NOWHERE)[placed.work["range"].to_numpy()]
    family = pd.Categorical(of_names["family"])[named]
    path, named = as_small(path, OF_ROWS), as_small(named, OF_ROWS)
    work = placed.work.assign(path=path, family=family, named=named)
    wait_ns, waits_known, unmatched = waits(work)
    work["wait_ns"] = as_small(wait_ns)
    work["made_in"] = as_small(forward_paths(capture.operators, placed, paths), OF_ROWS)
    counts = counted({"early": early(capture.work), "unmatched": unmatched})
    notes = capture.notes + counts + _lost(capture) + notes + placed.notes + paths.notes
    known = {codes.UNREADABLE, codes.IMPOSSIBLE, codes.NO_KERNELS}
    if not len(work) and not {note.code for note in notes} & known:
        notes += (Note("no work", 1),)
    if step and rule == Rule.NONE:
        notes += (Note("no step", 1, step),)
    steps = StepRanges(rule, is_step)
    return Attributed(capture, placed, steps, waits_known, paths, work, of_names, notes)


def _lost(capture: Capture) -> tuple[Note, ...]:
    """The note of launches without kernels, if more are than those whose kernels were left out."""
    left_out = {("bad work", ""), ("bad events", ""), (codes.IMPOSSIBLE, "device activities")}
    told = sum(note.count for note in capture.notes if (note.code, note.about) in left_out)
    made, lost = capture.recording, capture.recording.unanswered - told
    if lost <= LOST_AT_MOST * made.launches:
        return ()
    code = codes.NO_KERNELS if capture.kernels_lost else codes.LOST_KERNELS
    return (Note(code, lost, f"{lost} of {made.launches} launches"),)


def work_names(work: pd.DataFrame) -> tuple[Indices, pd.DataFrame]:
    """The kind and name of each activity by number, and a row for each: family, which may be GRAPH
    or "cast", and short_name."""
    groups = work.groupby(["kind", "name"], sort=False)
    names = groups.size().index.to_frame(index=False).astype({"name": object})
    kind, name = names["kind"], names["name"].astype(str)
    family = families(name).where(kind != GRAPH, GRAPH)
    casts = (kind == KERNEL) & (family == "copy") & name.map(changes_type).astype(bool)
    family = family.mask(casts, "cast").astype(object)
    found = names.assign(family=family, short_name=distinct_names(name))
    return np.asarray(groups.ngroup(), dtype=np.int64), found
