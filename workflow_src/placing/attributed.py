"""A capture whose device work is placed in its ranges, with what each activity is."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from workflow_src.captures.capture import UNREADABLE, Capture, Note, early, noted
from workflow_src.captures.domains import choose
from workflow_src.common.nesting import NOWHERE
from workflow_src.placing.attribution import device_times
from workflow_src.placing.ledger import holding
from workflow_src.placing.paths import Paths, paths_of
from workflow_src.placing.placing import Placed, place
from workflow_src.placing.ranks import waits
from workflow_src.placing.steps import Source
from workflow_src.placing.work_names import work_names


@dataclass(frozen=True)
class Attributed:
    """A capture whose work is placed.

    ranges: those of `placed`, with busy_ns and span_ns; waits_known: whether wait_ns can be told.
    work: with `path` (a number, or NOWHERE), `family`, `named` (a row of `names`) and `wait_ns`;
    names: a row per distinct kind and name of work, with their family and short name.
    """

    capture: Capture
    placed: Placed
    ranges: pd.DataFrame
    waits_known: bool
    paths: Paths
    work: pd.DataFrame
    names: pd.DataFrame
    domains: pd.DataFrame
    notes: tuple[Note, ...]


def attributed(
    capture: Capture,
    domains: tuple[str, ...] | None,
    rules: pd.DataFrame | None = None,
    fold: str = "",
) -> Attributed:
    """Place a capture's work in the ranges of these domains; None: all but libraries' own.

    What the regular expression `fold` matches is left out of ranges' names, which joins paths.

    Raises TraceError for a domain that the capture doesn't have.
    """
    chosen = choose(folded(capture.ranges, fold), domains)
    placed = place(capture, chosen.ranges)
    paths = paths_of(placed.ranges)
    path = np.append(paths.of_range, NOWHERE)[placed.work["range"].to_numpy()]
    named, names = work_names(placed.work, rules)
    family = pd.Categorical(names["family"])[named]
    work = placed.work.assign(path=path, family=family, named=named)
    waiting = waits(work)
    work["wait_ns"] = waiting.ns
    counts = noted(early=early(capture.work), unmatched=waiting.unmatched)
    notes = capture.notes + counts + chosen.notes + placed.notes
    if not len(work) and UNREADABLE not in [note.code for note in notes]:
        notes += (Note("no work", 1),)
    ranges = device_times(placed.ranges, work)
    known = waiting.known
    return Attributed(capture, placed, ranges, known, paths, work, names, chosen.domains, notes)


def folded(ranges: pd.DataFrame, fold: str) -> pd.DataFrame:
    """Ranges without what `fold` matches in their names; a name that it is all of stays."""
    if not fold:
        return ranges
    names = ranges["name"].str.replace(fold, "", regex=True)
    return ranges.assign(name=names.where(names != "", ranges["name"]))


def source_of(found: Attributed) -> Source:
    """What the steps of a capture are found in."""
    held, mains = holding(found.capture.calls), found.placed.main_threads
    return Source(found.ranges, found.capture.ranges, found.paths, found.work, held, mains)
