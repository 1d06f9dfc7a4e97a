"""A capture whose device work is placed in its ranges, with what each activity is."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from workflow_src.captures import capture as codes
from workflow_src.captures.capture import GRAPH, KERNEL, Capture, Note, as_small, early, noted
from workflow_src.captures.domains import choose, is_library
from workflow_src.common.intervals import Indices
from workflow_src.common.nesting import NOWHERE
from workflow_src.common.thresholds import LOST_AT_MOST
from workflow_src.placing.families import families
from workflow_src.placing.kernel_names import distinct_names
from workflow_src.placing.kernel_words import changes_type
from workflow_src.placing.ledger import holding
from workflow_src.placing.paths import Paths, paths_of, shapes
from workflow_src.placing.placing import Placed, place
from workflow_src.placing.ranks import waits
from workflow_src.placing.steps import (
    PROFILERS,
    REPEATED,
    SURE,
    Rule,
    Source,
    StepRanges,
    choose_steps,
    is_profilers,
    named_as_steps,
)
from workflow_src.placing.updates import between_updates

TOO_MANY = 2000
"""Range paths, from which on what to leave out of names is suggested."""

OTHERS_BEFORE = (Rule.NUMBERED, Rule.CALLED, Rule.NONE)
"""How steps may have been found where torch.profiler's own come before."""

PROFILER_STEPS = "ProfilerStep"
"""The domain of torch.profiler's steps where they count, unlike its other ranges."""

CAST = "cast"
"""The family of kernels that copy to another type, as far as their names tell."""


@dataclass(frozen=True)
class Ranged:
    """A capture's work placed in the ranges that count, and which of these are steps."""

    placed: Placed
    steps: StepRanges
    notes: tuple[Note, ...]


@dataclass(frozen=True)
class Attributed:
    """A capture whose work is placed.

    ranged: its ranges and steps; waits_known: whether wait_ns can be told.
    work: with `path` (a number, or NOWHERE), `family`, `named` (a row of `names`) and `wait_ns`;
    names: a row per distinct kind and name of work, with their family and short name.
    """

    capture: Capture
    ranged: Ranged
    waits_known: bool
    paths: Paths
    work: pd.DataFrame
    names: pd.DataFrame
    notes: tuple[Note, ...]

    @property
    def placed(self) -> Placed:
        """Its ranges, with busy_ns and span_ns, and work."""
        return self.ranged.placed

    @property
    def kernels_lost(self) -> bool:
        """Whether calls launched kernels and there are none, so that device time is unknown."""
        made, kinds = self.capture.recording, self.capture.work["kind"]
        lost = made.unanswered > LOST_AT_MOST * made.launches
        return lost and not kinds.isin((KERNEL, GRAPH)).any()


def attributed(
    capture: Capture,
    domains: tuple[str, ...] | None,
    rules: pd.DataFrame | None = None,
    fold: str | None = None,
    step: str = "",
) -> Attributed:
    """Place a capture's work in the ranges of these domains; None: all but libraries' own.

    fold: what this regular expression matches is left out of ranges' names, which joins paths. Then
    ranges that differ by numbers alone are folded where they are many or steps, unless it is "".
    step: the name of the ranges that are steps, if they have one.

    Raises TraceError for a domain that the capture doesn't have.
    """
    ranged = _ranged(capture, domains, fold, step)
    ranges, steps = ranged.placed.ranges, ranged.steps
    if steps.alike:
        names = ranges["name"].to_numpy(dtype=object, copy=True)
        names[steps.is_step] = shapes(names[steps.is_step])
        ranges = ranges.assign(name=names)
    paths = paths_of(ranges, fold_numbers=fold != "")
    named, names_table = work_names(capture.work, rules)
    path = np.append(paths.of_range, NOWHERE)[ranged.placed.work["range"].to_numpy()]
    family = pd.Categorical(names_table["family"])[named]
    work = ranged.placed.work.assign(path=as_small(path), family=family, named=as_small(named))
    waiting = waits(work)
    work["wait_ns"] = as_small(waiting.ns)
    counts = noted(early=early(capture.work), unmatched=waiting.unmatched)
    found = Attributed(capture, ranged, waiting.known, paths, work, names_table, capture.notes)
    notes = capture.notes + counts + _lost(found) + ranged.notes + paths.notes
    known = {codes.UNREADABLE, codes.IMPOSSIBLE, codes.NO_KERNELS}
    if not len(work) and not {note.code for note in notes} & known:
        notes += (Note("no work", 1),)
    if len(paths.text) > TOO_MANY:
        notes += (Note("many paths", len(paths.text)),)
    if step and steps.rule == Rule.NONE:
        notes += (Note("no step", 1, step),)
    return replace(found, notes=notes)


def _lost(found: Attributed) -> tuple[Note, ...]:
    """The note of launches without kernels, if more are than those whose kernels were left out."""
    left_out = {("bad work", ""), ("bad events", ""), (codes.IMPOSSIBLE, "device activities")}
    told = sum(note.count for note in found.notes if (note.code, note.about) in left_out)
    made = found.capture.recording
    lost = made.unanswered - told
    if lost <= LOST_AT_MOST * made.launches:
        return ()
    code = codes.NO_KERNELS if found.kernels_lost else codes.LOST_KERNELS
    return (Note(code, lost, f"{lost} of {made.launches} launches"),)


def _ranged(
    capture: Capture, domains: tuple[str, ...] | None, fold: str | None, step: str
) -> Ranged:
    """Place a capture's work; if no program's ranges are surely steps, in torch's own, too."""

    def in_those(ranges: pd.DataFrame) -> Ranged:
        chosen = choose(ranges, domains)
        placed = place(capture, chosen.ranges)
        steps = choose_steps(placed, step, numbered=fold != "")
        return Ranged(placed, steps, chosen.notes + placed.notes)

    ranges = capture.ranges
    if fold:
        names = ranges["name"].str.replace(fold, "", regex=True)
        # A name that it is all of stays.
        ranges = ranges.assign(name=names.where(names != "", ranges["name"]))
    found = in_those(ranges)
    surely = found.steps.sure and found.steps.rule not in OTHERS_BEFORE
    if domains is not None or (not PROFILERS.match(step) if step else surely):
        return found
    own = _torchs_steps(ranges, found.steps, bool(step))
    return found if own is None else in_those(own)


def _torchs_steps(ranges: pd.DataFrame, found: StepRanges, named: bool) -> pd.DataFrame | None:
    """Ranges with torch's own steps or what lies between updates, if that is likelier than `found`.

    named: whether torch.profiler's are asked for. One of them alone may be all that it recorded, of
    a program that calls its step() to begin with: it comes last, and is no step if the program's
    ranges of one name are called so.
    """
    names, library = ranges["name"], ranges["domain"].map(is_library).astype(bool)
    profilers = is_profilers(names) & library
    own, count = ranges["domain"].mask(profilers, PROFILER_STEPS), profilers.sum()
    nothing = found.rule == Rule.NONE
    if named or found.sure or count > 1:
        return ranges.assign(domain=own) if count > (0 if named else 1) else None
    updates = between_updates(ranges, REPEATED if nothing and not count else SURE)
    if len(updates):
        return pd.concat([ranges, updates], ignore_index=True)
    called = names[named_as_steps(names) & ~library].duplicated().any()
    return ranges.assign(domain=own) if count and nothing and not called else None


def source_of(found: Attributed) -> Source:
    """What the steps of a capture are found in."""
    held, is_step = holding(found.capture.calls), found.ranged.steps.is_step
    return Source(found.placed.ranges, found.capture.ranges, found.paths, found.work, held, is_step)


def work_names(work: pd.DataFrame, rules: pd.DataFrame | None) -> tuple[Indices, pd.DataFrame]:
    """The kind and name of each activity by number, and a row for each: family, short_name.

    Families are those of `rules`, and GRAPH and CAST.
    """
    groups = work.groupby(["kind", "name"], sort=False)
    names = groups.size().index.to_frame(index=False)
    kind, name = names["kind"], names["name"].astype(str)
    family = families(name, rules).where(kind != GRAPH, GRAPH)
    casts = (kind == KERNEL) & (family == "copy") & name.map(changes_type).astype(bool)
    found = names.assign(
        family=family.mask(casts, CAST).astype(object), short_name=distinct_names(name)
    )
    return np.asarray(groups.ngroup(), dtype=np.int64), found
