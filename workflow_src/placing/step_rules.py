"""Which ranges of a capture are steps.

They are found by the first of these rules that finds any, unless a name is asked for:

1. The outermost ranges of one name on a process's main thread, if they repeat, hardly overlap, and
   nearly all work of that thread's ranges is theirs.
2. ProfilerStep#N, which torch.profiler pushes for each step of its own. They count as ranges then.
3. As 1, for ranges whose names differ by numbers alone: "iteration 3" (see `shapes`).
4. Those of a main thread that are named as steps and numbered, wherever they are and whatever works
   besides: "Warm-up Step 3". Of several such names, that with most work.
5. What lies between a thread's updates by torch's optimizer (see `between_updates`).
6. As 1, 3 and 4, however few there are: one that is named as a step, or two.
7. From one turn of a loop's parts to the next (see turns.py).

Whatever finds them, steps last, and on their thread they come one after another.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pandas as pd

from workflow_src.captures.call_kinds import matching
from workflow_src.captures.domains import is_library
from workflow_src.captures.rows import Mask, Values, spans
from workflow_src.common.intervals import Union
from workflow_src.common.nesting import NOWHERE
from workflow_src.placing.paths import shapes
from workflow_src.placing.placing import Placed
from workflow_src.placing.threads import THREAD

REPEATED, SURE = 2, 3
"""Ranges of one name, from which on they may be steps, and are: two may be a warm-up and a run. Of
those that are named as steps, one less."""

NEARLY_ALL = 0.9
"""Of the device time in a main thread's ranges, so that neither forward nor backward is a step if
both are outermost, but a range is beside which another one fetches data. And of steps' lengths, the
part that doesn't overlap: jobs that run at the same time are no steps."""

PROFILERS = r"\AProfilerStep(#\d*|#\*)?\Z"
"""What torch.profiler names its steps, also where numbers were left out."""

CALLED = r"(?i)((?<![a-z])(step|iteration|iter|batch)[^a-z]*|\Aexecute_(context_)?\*)\Z"
"""The shape of a range that is named as a step, and maybe numbered; also as vLLM's are."""

NUMBERED = r"\*\Z"

BY_MODULE = "step by module"
"""The range of profile_ranges.py's step that is no step, as its hooks in backward take time."""

UPDATE = "Optimizer.step#"
"""How torch names its range of an update, before the class of the optimizer."""

BETWEEN_UPDATES = "(from update to update)"
"""The name of a step, and its domain, so that it counts as a range."""

TURNS = "(turns)"
"""The domain of steps that are turns of a loop's parts."""

ALL, WHOLE = "all", "(all that was recorded)"
"""What is asked for to have one step, and its name and domain."""


class Rule(StrEnum):
    """How steps were found, in words of the report."""

    NAMED = "the ranges that capture_step names"
    REPEATED = "the outermost range that repeats"
    PROFILERS = "torch.profiler's ProfilerStep"
    NUMBERED = "outermost ranges that differ by a number"
    CALLED = "ranges named as steps, with a number"
    UPDATES = "from one optimizer's update to the next"
    TURNS = "from one turn of ranges to the next"
    WHOLE = "all that was recorded, as one"
    NONE = "not found"


@dataclass(frozen=True)
class StepRanges:
    """Which of the ranges placed are steps, and by which rule.

    alike: whether their names differ by numbers, so that paths take their shape instead; sure:
    whether they aren't so few that what torch says of its own steps would count for more.
    """

    rule: Rule
    is_step: Mask
    alike: bool
    sure: bool = False


def choose_steps(placed: Placed, named: str, numbered: bool) -> StepRanges:
    """The ranges that are steps: those named or, without a name, those of the first rule.

    placed: with busy_ns of ranges; numbered: whether what differs by numbers alone may be a step.
    ANY in a name that no range has stands for a number.
    """
    ranges, names = placed.ranges, placed.ranges["name"]
    main = ranges[ranges["process"].map(placed.main_threads) == ranges["thread"]]
    outermost = main[(main["parent"] == NOWHERE) & (main["name"] != BY_MODULE)]

    def found_by(least: int) -> Iterator[tuple[Rule, bool, pd.DataFrame]]:
        if named == ALL:
            yield Rule.WHOLE, False, ranges[ranges["domain"] == WHOLE]
        if named:
            yield Rule.NAMED, False, ranges[names == named]
            yield Rule.NAMED, True, ranges[shapes(names) == named]
            return
        # These are made only where no other rule finds any.
        yield Rule.UPDATES, False, ranges[names == BETWEEN_UPDATES]
        yield Rule.TURNS, False, ranges[ranges["domain"] == TURNS]
        yield Rule.REPEATED, False, _repeated(outermost, least)
        yield Rule.PROFILERS, True, ranges[is_profilers(names)]
        if numbered:
            alike = [rows.assign(name=shapes(rows["name"])) for rows in (outermost, main)]
            yield Rule.NUMBERED, True, _repeated(alike[0], least)
            yield Rule.CALLED, True, _called(alike[1], least)

    for least in (SURE, REPEATED):
        for rule, alike, found in found_by(least):
            found = found[one_after_another(found)]
            if len(found):
                return StepRanges(rule, ranges.index.isin(found.index), alike, least == SURE)
    return StepRanges(Rule.NONE, np.zeros(len(ranges), dtype=bool), alike=False)


def one_after_another(ranges: pd.DataFrame) -> Mask:
    """Which ranges can be steps: they last, and on their thread all that began before have ended.

    So of ranges inside of each other the outermost one is left.
    """
    by = [*THREAD, "start_ns", "end_ns"]
    rows = ranges[by].astype("int64").reset_index(drop=True)
    rows = rows.sort_values(by, ascending=[True, True, True, False])
    threads = [rows[name] for name in THREAD]
    ended = rows["end_ns"].groupby(threads).cummax()
    before = ended.groupby(threads).shift(fill_value=np.iinfo(np.int64).min)
    found = (rows["end_ns"] > rows["start_ns"]) & (rows["start_ns"] >= before)
    return found.sort_index().to_numpy()


def is_profilers(names: "pd.Series[str] | Values") -> Mask:
    """Which ranges torch.profiler pushed for its steps."""
    return matching(names, PROFILERS)


def _repeated(outermost: pd.DataFrame, least: int) -> pd.DataFrame:
    """Those outermost ranges of main threads that repeat by name, and hold nearly all work.

    In processes without any such, those of the same names.
    """
    alike = outermost.groupby(["process", "name"])["busy_ns"]
    total, every = alike.transform("sum"), outermost.groupby("process")["busy_ns"].transform("sum")
    enough = alike.transform("size") >= least - matching(outermost["name"], CALLED)
    found = outermost[enough & (total > 0) & (total >= NEARLY_ALL * every)]

    def hardly_overlap(ranges: pd.DataFrame) -> bool:
        start, end = spans(ranges)
        return Union.of(start, end).total() >= NEARLY_ALL * int((end - start).sum())

    found = found.groupby("process").filter(hardly_overlap)
    # A window that opens within a step of one process leaves work beside its steps.
    elsewhere = outermost["name"].isin(found["name"]) & (total > 0)
    return pd.concat([found, outermost[elsewhere & ~outermost["process"].isin(found["process"])]])


def _called(main: pd.DataFrame, least: int) -> pd.DataFrame:
    """Ranges of main threads that are named as steps and numbered, of the name with most work."""
    found = main[matching(main["name"], CALLED) & matching(main["name"], NUMBERED)]
    busy = found.groupby("name")["busy_ns"].agg(["sum", "size"])
    busy = busy[(busy["size"] >= least) & (busy["sum"] > 0)]
    return found[found["name"] == busy["sum"].idxmax()] if len(busy) else found[:0]


def torchs_steps(ranges: pd.DataFrame, found: StepRanges, step: str) -> pd.DataFrame | None:
    """Ranges with torch's own steps or what lies between updates, if that is likelier than `found`.

    step: the name that is asked for, or "". One of torch.profiler's steps alone may be all that it
    recorded, of a program that calls its step() to begin with: it comes last, and is no step if the
    program's ranges of one name are called so.
    """
    torchs_first = found.rule in (Rule.NUMBERED, Rule.CALLED, Rule.NONE)
    if not re.match(PROFILERS, step) if step else found.sure and not torchs_first:
        return None
    names, library = ranges["name"], ranges["domain"].map(is_library).astype(bool)
    profilers = is_profilers(names) & library
    # They count by a domain of their own, unlike its other ranges.
    own, count = ranges["domain"].mask(profilers, "ProfilerStep"), profilers.sum()
    nothing = found.rule == Rule.NONE
    if step or found.sure or count > 1:
        return ranges.assign(domain=own) if count > (0 if step else 1) else None
    updates = between_updates(ranges, REPEATED if nothing and not count else SURE)
    if len(updates):
        return pd.concat([ranges, updates], ignore_index=True)
    called = names[matching(names, CALLED) & ~library].duplicated().any()
    return ranges.assign(domain=own) if count and nothing and not called else None


def between_updates(ranges: pd.DataFrame, fewest: int) -> pd.DataFrame:
    """Ranges from the end of each update to the end of the next, of each process and thread.

    fewest: updates by one optimizer, from which on there are steps between them. Of several
    optimizers, that which updates least often, as one of a model and one of its critic; of updates
    inside of each other, as of an optimizer made of others, the outermost ones.
    """
    updates = ranges[ranges["name"].str.startswith(UPDATE)].sort_values("start_ns")
    parts = [updates[:0]]
    # Under emit_nvtx, a name ends with the number of its operator.
    updates = updates.assign(name=updates["name"].str.replace(r",.*", "", regex=True))
    for _, own in updates[one_after_another(updates)].groupby(THREAD):
        counts = own["name"].value_counts()
        counts = counts[counts >= fewest]
        if len(counts):
            own = own[own["name"] == counts.idxmin()]
            named = own.assign(name=BETWEEN_UPDATES, domain=BETWEEN_UPDATES)
            # Without a value for the first, times become floats, which are 128 ns off since 1970.
            starts = named["end_ns"].shift(fill_value=0)
            parts.append(named.assign(start_ns=starts).iloc[1:])
    return pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]
